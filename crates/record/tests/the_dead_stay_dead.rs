//! Burial: under every sequence of setting changes, what was once dead is never seen again, and nothing else is buried.

use lapsedb_record::{ItemTtl, Lens, Mark, Millis, Policy, Secs, Setting};

const SETTINGS: [Setting; 4] = [
    Setting::Off,
    Setting::On,
    Setting::OnWithDefault(Secs(5)),
    Setting::OnWithDefault(Secs(10)),
];

const ITEMS: [ItemTtl; 5] = [
    ItemTtl::Inherit,
    ItemTtl::Never,
    ItemTtl::After(Secs(3)),
    ItemTtl::After(Secs(5)),
    ItemTtl::After(Secs(10)),
];

/// When the item was written; changes come before, at and after it.
const WRITTEN: u64 = 100;
const FIRST: u64 = 97;
const LAST: u64 = 125;

/// A setting and the second from which it holds.
type History = Vec<(u64, Setting)>;

/// The seconds an item has lived at which the given setting calls it dead, told without the rule's own types.
fn ends_after(setting: Setting, item: ItemTtl) -> Option<u64> {
    match (setting, item) {
        (Setting::Off, _) | (_, ItemTtl::Never) => None,
        (_, ItemTtl::After(life)) => Some(life.0),
        (Setting::OnWithDefault(life), ItemTtl::Inherit) => Some(life.0),
        (Setting::On, ItemTtl::Inherit) => None,
    }
}

/// Walks through time second by second: who dies under the setting in force stays dead.
///
/// In a second in which the setting changes, the old one has its say first, as the change comes after the second began.
fn lives_by_walking(history: &History, item: ItemTtl, until: u64) -> Vec<bool> {
    let mut dead = false;
    let mut lives = Vec::new();
    for second in FIRST..=until {
        let mut in_force: Vec<Setting> = Vec::new();
        let before = history.iter().rev().find(|(from, _)| *from < second);
        in_force.extend(before.map(|(_, setting)| *setting));
        in_force.extend(
            history
                .iter()
                .filter(|(from, _)| *from == second)
                .map(|(_, setting)| *setting),
        );
        if second >= WRITTEN {
            for setting in in_force {
                let lived = second - WRITTEN;
                dead |= ends_after(setting, item).is_some_and(|end| lived >= end);
            }
        }
        lives.push(!dead);
    }
    lives
}

/// The policy that is in force in a second, made by the changes up to it.
fn policy_at(history: &History, second: u64, part: u64) -> Policy {
    let mut policy = Policy::new(history[0].1);
    for (at, setting) in &history[1..] {
        if *at <= second {
            policy = policy.changed(*setting, Millis(at * 1000 + part));
        }
    }
    policy
}

fn check(history: &History, part: u64) {
    for item in ITEMS {
        let expected = lives_by_walking(history, item, LAST);
        for second in WRITTEN..=LAST {
            let policy = policy_at(history, second, part);
            for now in [second * 1000 + part, second * 1000 + 999] {
                let lens = Lens::new(policy, Millis(now));
                let live = lens.is_live(&Mark::undated(item, Secs(WRITTEN)));
                let alive = expected[usize::try_from(second - FIRST).unwrap()];
                assert_eq!(live, alive, "{history:?} {item:?} at {now} ms");
                // The calendar counts by these two cuts: they must say the same as the rule.
                let counted = match item {
                    ItemTtl::Never => true,
                    ItemTtl::Inherit => policy
                        .dead_written(Millis(now))
                        .is_none_or(|cut| Secs(WRITTEN) > cut),
                    ItemTtl::After(life) => policy
                        .dead_due(Millis(now))
                        .is_none_or(|cut| Secs(WRITTEN + life.0) > cut),
                };
                assert_eq!(counted, live, "calendar: {history:?} {item:?} at {now} ms");
            }
        }
    }
}

#[test]
fn s1_to_s4_every_two_changes_at_every_pair_of_seconds() {
    for first in SETTINGS {
        for second in SETTINGS {
            for third in SETTINGS {
                for at in FIRST..=LAST {
                    for then in at..=LAST {
                        for part in [0, 999] {
                            check(&vec![(0, first), (at, second), (then, third)], part);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn s1_to_s4_every_three_changes() {
    let seconds = [98, 100, 103, 104, 105, 106, 109, 110, 111];
    for first in SETTINGS {
        for second in SETTINGS {
            for third in SETTINGS {
                for fourth in SETTINGS {
                    for (index, at) in seconds.iter().enumerate() {
                        for (next, then) in seconds.iter().enumerate().skip(index) {
                            for last in &seconds[next..] {
                                check(
                                    &vec![
                                        (0, first),
                                        (*at, second),
                                        (*then, third),
                                        (*last, fourth),
                                    ],
                                    500,
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}

/// S4: nobody may have died while TTL was off, however late it is switched on again.
#[test]
fn s4_off_at_3_on_with_5_at_10_is_gone_at_10() {
    let policy = Policy::new(Setting::OnWithDefault(Secs(5)))
        .changed(Setting::Off, Millis(103_000))
        .changed(Setting::OnWithDefault(Secs(5)), Millis(110_000));
    let at = |policy, now| {
        Lens::new(policy, Millis(now)).is_live(&Mark::undated(ItemTtl::Inherit, Secs(100)))
    };
    let off = Policy::new(Setting::OnWithDefault(Secs(5))).changed(Setting::Off, Millis(103_000));
    assert!(at(off, 109_999));
    assert!(!at(policy, 110_000));
}

/// A mark never reaches an item written after the change that made it, not even in the same second.
#[test]
fn an_item_written_after_a_change_is_never_buried_by_it() {
    for from in SETTINGS {
        for to in SETTINGS {
            let policy = Policy::new(from).changed(to, Millis(100_999));
            for item in ITEMS {
                for written in 100..115 {
                    assert!(
                        !policy.buries(item, Secs(written)),
                        "{from:?} to {to:?}, {item:?} written {written}"
                    );
                }
            }
        }
    }
}

/// A change far before any default has run out must not wrap below zero.
#[test]
fn a_change_in_the_first_seconds_buries_nothing_that_lives() {
    let policy = Policy::new(Setting::OnWithDefault(Secs(10))).changed(Setting::Off, Millis(3_000));
    assert_eq!(policy.buried_written, None);
    assert!(!policy.buries(ItemTtl::Inherit, Secs(0)));
}
