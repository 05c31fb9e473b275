//! What a change of the default would do to the living, and when they will end: both from the calendar alone.

use std::ops::ControlFlow;

use lapsedb_record::{Lens, Millis, Secs, Setting};

use crate::catalog::Collection;
use crate::dated::{DateCursor, DatedItem};
use crate::error::Result;
use crate::keys::TallyKind;
use crate::usage::{Living, Sum, Tally};
use crate::view::View;

/// What a change of the default would do to the items now alive. Each is in exactly one of the three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preview {
    /// Gone with the change.
    pub at_once: Tally,
    /// Gone later, if nothing is written until then.
    pub later: Tally,
    /// Staying until they are deleted.
    pub never: Tally,
}

/// The width of a forecast's buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Sixty seconds.
    Minute,
    /// Sixty minutes.
    Hour,
    /// Twenty-four hours, as UTC counts them.
    Day,
}

/// When the items now alive will end under the present setting, if nothing is written until then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forecast {
    /// The beginning of each bucket, and what ends in it. The first contains the present.
    pub buckets: Vec<(Millis, Tally)>,
    /// What ends after the last bucket.
    pub after: Tally,
    /// What stays until it is deleted.
    pub never: Tally,
}

impl Width {
    const fn secs(self) -> u64 {
        match self {
            Width::Minute => 60,
            Width::Hour => 3600,
            Width::Day => 86_400,
        }
    }
}

impl View {
    /// What a change of a collection's setting, made at this view's instant, would do to its living items.
    ///
    /// # Errors
    /// When the engine fails or a bucket is damaged.
    pub async fn preview(&self, collection: &Collection, setting: Setting) -> Result<Preview> {
        let lens = self.lens(collection);
        let before = self.living(collection, &lens).await?;
        let lens = Lens {
            policy: lens.policy.changed(setting, lens.now),
            dates: lens.dates.changed(setting, lens.now),
            now: lens.now,
        };
        let after = self.living(collection, &lens).await?;
        let (mut later, mut never) = split(setting, after);
        for (item, _) in self.ending_by_date(collection, &lens).await? {
            if item.end_by_ttl(&lens).is_none() {
                later = later.plus(item.sum());
                never = never.minus(item.sum());
            }
        }
        Ok(Preview {
            at_once: before.all().minus(after.all()).tally(),
            later: later.tally(),
            never: never.tally(),
        })
    }

    /// When the living items of a collection will end, in buckets of one width.
    ///
    /// # Errors
    /// When the engine fails or a bucket is damaged.
    pub async fn forecast(
        &self,
        collection: &Collection,
        width: Width,
        buckets: u64,
    ) -> Result<Forecast> {
        let living = self.living(collection, &self.lens(collection)).await?;
        let (mut after, mut never) = split(collection.policy.setting, living);
        let moves = self.moves(collection).await?;
        for (_, end, sum) in moves.iter().filter(|(by_ttl, ..)| by_ttl.is_none()) {
            if end.is_some() {
                after = after.plus(*sum);
                never = never.minus(*sum);
            }
        }
        let width = width.secs();
        let first = self.now().secs().0 / width;
        let mut forecast = Forecast {
            never: never.tally(),
            ..Forecast::default()
        };
        for bucket in first..first.saturating_add(buckets) {
            let from = bucket.saturating_mul(width);
            let to = from.saturating_add(width);
            let mut sum = self.ending(collection, from, to).await?;
            let inside =
                |end: Option<Millis>| end.is_some_and(|end| (from..to).contains(&end.secs().0));
            for (by_ttl, end, one) in &moves {
                if inside(*by_ttl) {
                    sum = sum.minus(*one);
                }
                if inside(*end) {
                    sum = sum.plus(*one);
                }
            }
            after = after.minus(sum);
            forecast.buckets.push((Secs(from).millis(), sum.tally()));
        }
        forecast.after = after.tally();
        Ok(forecast)
    }

    /// Documents that end by a date and not, or not then, by their ttl as the calendar has it: when by ttl, and when by date,
    /// if that is still to come.
    async fn moves(
        &self,
        collection: &Collection,
    ) -> Result<Vec<(Option<Millis>, Option<Millis>, Sum)>> {
        let lens = self.lens(collection);
        let mut moves = Vec::new();
        let see = |item: &DatedItem| {
            moves.push((item.end_by_ttl(&lens), None, item.sum()));
            ControlFlow::Continue(())
        };
        self.dead_by_date(collection, &lens, &DateCursor::new(), see)
            .await?;
        let ending = self.ending_by_date(collection, &lens).await?;
        let ending = ending
            .iter()
            .map(|(item, end)| (item.end_by_ttl(&lens), Some(*end), item.sum()));
        moves.extend(ending);
        Ok(moves)
    }

    /// The items alive by their ttl that end in a range of seconds, from (inclusive) to (exclusive).
    async fn ending(&self, collection: &Collection, from: u64, to: u64) -> Result<Sum> {
        let policy = &collection.policy;
        let living = |cut: Option<Secs>| cut.map_or(0, |cut| cut.0.saturating_add(1));
        let inherited = match policy.setting {
            Setting::OnWithDefault(life) => {
                // Who inherits ends a life after the write: the same range, a life earlier.
                let from = from.saturating_sub(life.0);
                let from = from.max(living(policy.dead_written(self.now())));
                let to = to.saturating_sub(life.0);
                self.between(collection, TallyKind::Written, from, to)
                    .await?
            }
            Setting::Off | Setting::On => Sum::default(),
        };
        let own = match policy.setting {
            Setting::On | Setting::OnWithDefault(_) => {
                let from = from.max(living(policy.dead_due(self.now())));
                self.between(collection, TallyKind::Due, from, to).await?
            }
            Setting::Off => Sum::default(),
        };
        Ok(inherited.plus(own))
    }
}

/// Who of the living ends under a setting, and who never does.
fn split(setting: Setting, living: Living) -> (Sum, Sum) {
    match setting {
        Setting::Off => (Sum::default(), living.all()),
        Setting::On => (living.due, living.written.plus(living.never)),
        Setting::OnWithDefault(_) => (living.written.plus(living.due), living.never),
    }
}
