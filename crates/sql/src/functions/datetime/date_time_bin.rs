//! `DateTimeBin`: a time rounded down to a multiple of some parts.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::civil::{DateTime, Part};

/// Bins may not start before the year 1601.
const FIRST_ORIGIN: &str = "1601-01-01T00:00:00.0000000Z";

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let time = DateTime::parse(args::text(args, 0)?)?;
    let part = Part::from_name(args::text(args, 1)?)?;
    let size = if args.len() > 2 {
        args::integer(args, 2)?
    } else {
        1
    };
    let origin = if args.len() > 3 {
        DateTime::parse(args::text(args, 3)?)?
    } else {
        DateTime::EPOCH
    };
    if size <= 0 || origin < DateTime::parse(FIRST_ORIGIN)? {
        return None;
    }
    // Parts of uneven length, months and years, make no bins.
    let bin = i128::from(part.nanos()?) * i128::from(size);
    let passed = i128::from(time.ticks() - origin.ticks()) * 100;
    let start = i128::from(origin.ticks()) + passed.div_euclid(bin) * bin / 100;
    Some(DateTime::from_ticks(i64::try_from(start).ok()?)?.to_value())
}
