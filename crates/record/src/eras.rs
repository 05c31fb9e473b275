//! When a record died: an expiry that is told later, after further changes of the setting, still names its moment.

use crate::mark::Mark;
use crate::time::Secs;
use crate::ttl::{Expiry, Lens, Setting, expiry};

/// How many former settings are remembered. Deaths are told within seconds, so more are never needed; were they, the
/// moment named would be that of the oldest one remembered.
pub const ERAS_MAX: usize = 32;

/// A setting that was in force from a second on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Era {
    /// Its first second.
    pub since: Secs,
    /// What it said.
    pub setting: Setting,
}

/// Since when a collection's setting is in force, and those before it, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Eras {
    /// The former settings.
    pub former: Vec<Era>,
    /// The first second of the setting in force.
    pub since: Secs,
}

impl Eras {
    /// The eras after `old`, the setting in force, was changed at `at`.
    #[must_use]
    pub fn changed(&self, old: Setting, at: Secs) -> Eras {
        let mut former = self.former.clone();
        former.push(Era {
            since: self.since,
            setting: old,
        });
        if former.len() > ERAS_MAX {
            former.remove(0);
        }
        Eras { former, since: at }
    }

    /// The second in which a record died: its end under the first setting that it outlived or the change to that setting,
    /// whichever is later; or the end that a date of its own gave it, if that was earlier. None if it is alive.
    #[must_use]
    pub fn death(&self, lens: &Lens, record: &Mark) -> Option<Secs> {
        if lens.is_live(record) {
            return None;
        }
        let by_date = match lens.dates.expiry(&record.dates) {
            Expiry::At(end) if end <= lens.now => Some(end.secs()),
            Expiry::At(_) | Expiry::Never => None,
        };
        let by_ttl = self.death_by_ttl(lens, record);
        let oldest = || self.former.first().map_or(self.since, |era| era.since);
        by_ttl
            .into_iter()
            .chain(by_date)
            .min()
            .or_else(|| Some(oldest().max(record.written)))
    }

    fn death_by_ttl(&self, lens: &Lens, record: &Mark) -> Option<Secs> {
        let present = Era {
            since: self.since,
            setting: lens.policy.setting,
        };
        let eras = || self.former.iter().chain([&present]);
        let ends = eras().skip(1).map(|era| era.since);
        eras()
            .zip(ends.chain([lens.now.secs()]))
            .find_map(
                |(era, until)| match expiry(era.setting, record.ttl, record.written) {
                    Expiry::At(end) if end.secs() <= until => Some(end.secs().max(era.since)),
                    Expiry::At(_) | Expiry::Never => None,
                },
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Millis;
    use crate::ttl::{ItemTtl, Policy};

    /// All stories of three settings with items of any kind: a second-by-second walk and the eras name the same moment.
    #[test]
    fn the_moment_is_that_of_a_walk_through_time() {
        let settings = [
            Setting::Off,
            Setting::On,
            Setting::OnWithDefault(Secs(2)),
            Setting::OnWithDefault(Secs(5)),
        ];
        let items = [
            ItemTtl::Inherit,
            ItemTtl::Never,
            ItemTtl::After(Secs(1)),
            ItemTtl::After(Secs(4)),
        ];
        let mut told = 0;
        for first in settings {
            for second in settings {
                for third in settings {
                    for (change, again) in [(13, 14), (13, 13), (14, 18), (12, 17)] {
                        for item in items {
                            told += walk([first, second, third], [change, again], item);
                        }
                    }
                }
            }
        }
        assert!(told > 1000, "only {told} deaths were compared");
    }

    fn walk(settings: [Setting; 3], changes: [u64; 2], item: ItemTtl) -> u64 {
        let (mut policy, mut eras) = (Policy::new(settings[0]), Eras::default());
        let (written, mut died, mut since, mut deaths) = (Secs(10), None, Secs(0), 0);
        for now in 10..24 {
            let mut judge = |policy: &Policy, eras: &Eras, since: Secs| {
                if died.is_none()
                    && let Expiry::At(end) = expiry(policy.setting, item, written)
                    && end.secs() <= Secs(now)
                {
                    died = Some(end.secs().max(since));
                }
                let lens = Lens::new(*policy, Secs(now).millis());
                assert_eq!(
                    eras.death(&lens, &Mark::undated(item, written)),
                    died,
                    "{settings:?} {changes:?} {item:?} at {now}"
                );
                deaths += u64::from(died.is_some());
            };
            judge(&policy, &eras, since);
            for (at, setting) in changes.into_iter().zip([settings[1], settings[2]]) {
                if at == now {
                    eras = eras.changed(policy.setting, Secs(now));
                    policy = policy.changed(setting, Millis(now * 1000));
                    since = Secs(now);
                    judge(&policy, &eras, since);
                }
            }
        }
        deaths
    }

    #[test]
    fn what_no_era_remembers_died_before_the_oldest_of_them() {
        let mut eras = Eras::default();
        let mut policy = Policy::new(Setting::OnWithDefault(Secs(1)));
        for at in 100..200 {
            eras = eras.changed(policy.setting, Secs(at));
            policy = policy.changed(Setting::Off, Secs(at).millis());
        }
        assert_eq!(eras.former.len(), ERAS_MAX);
        let lens = Lens::new(policy, Secs(300).millis());
        let oldest = eras.former.first().map(|era| era.since);
        let record = Mark::undated(ItemTtl::Inherit, Secs(5));
        assert_eq!(eras.death(&lens, &record), oldest);
    }
}
