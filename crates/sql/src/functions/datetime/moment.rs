//! Moments in UTC and the Gregorian calendar: the one place of this crate that reckons with days.

/// Units of 100 ns, in which moments are counted.
pub(crate) const TICKS_PER_SECOND: i64 = 10_000_000;
/// The units of a minute.
pub(crate) const TICKS_PER_MINUTE: i64 = 60 * TICKS_PER_SECOND;
/// The units of a millisecond.
pub(crate) const TICKS_PER_MILLISECOND: i64 = TICKS_PER_SECOND / 1_000;
const TICKS_PER_DAY: i64 = 86_400 * TICKS_PER_SECOND;

/// The service counts from 1601 on, as Windows does; years have four digits.
const YEAR_MIN: i64 = 1601;
const YEAR_MAX: i64 = 9999;
/// 1601-01-01 and the first day of the year 10000, in days since 1970.
const DAYS_MIN: i64 = -134_774;
const DAYS_END: i64 = 2_932_897;

/// A moment: units of 100 ns since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DateTime(i64);

/// A part of a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
}

/// The names of the parts; upper and lower case are the same.
const NAMES: [(&str, Part); 23] = [
    ("year", Part::Year),
    ("yyyy", Part::Year),
    ("yy", Part::Year),
    ("month", Part::Month),
    ("mm", Part::Month),
    ("m", Part::Month),
    ("day", Part::Day),
    ("dd", Part::Day),
    ("d", Part::Day),
    ("hour", Part::Hour),
    ("hh", Part::Hour),
    ("minute", Part::Minute),
    ("mi", Part::Minute),
    ("n", Part::Minute),
    ("second", Part::Second),
    ("ss", Part::Second),
    ("s", Part::Second),
    ("millisecond", Part::Millisecond),
    ("ms", Part::Millisecond),
    ("microsecond", Part::Microsecond),
    ("mcs", Part::Microsecond),
    ("nanosecond", Part::Nanosecond),
    ("ns", Part::Nanosecond),
];

impl Part {
    /// The part of that name.
    pub(crate) fn from_name(name: &str) -> Option<Part> {
        let known = NAMES
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        known.map(|(_, part)| *part)
    }

    /// How long the part is, unless that varies.
    fn nanos(self) -> Option<i64> {
        Some(match self {
            Part::Year | Part::Month => return None,
            Part::Day => 86_400_000_000_000,
            Part::Hour => 3_600_000_000_000,
            Part::Minute => 60_000_000_000,
            Part::Second => 1_000_000_000,
            Part::Millisecond => 1_000_000,
            Part::Microsecond => 1_000,
            Part::Nanosecond => 1,
        })
    }

    /// How many units of 100 ns so many parts are; a remainder is left out.
    fn ticks(self, count: i64) -> Option<i128> {
        Some(i128::from(self.nanos()?) * i128::from(count) / 100)
    }
}

impl DateTime {
    /// The start of 1970.
    pub(crate) const EPOCH: DateTime = DateTime(0);

    /// The moment so many units of 100 ns after 1970, if its year is one that can be written.
    pub(crate) fn from_ticks(ticks: i64) -> Option<DateTime> {
        let days = ticks.div_euclid(TICKS_PER_DAY);
        (DAYS_MIN..DAYS_END)
            .contains(&days)
            .then_some(DateTime(ticks))
    }

    /// The moment so many milliseconds after 1970.
    pub(crate) fn from_millis(millis: i64) -> Option<DateTime> {
        DateTime::from_ticks(millis.checked_mul(TICKS_PER_MILLISECOND)?)
    }

    /// Year, month, day, hour, minute, second and units of 100 ns.
    pub(crate) fn from_parts(parts: [i64; 7]) -> Option<DateTime> {
        let [year, month, day, hour, minute, second, ticks] = parts;
        let valid = (YEAR_MIN..=YEAR_MAX).contains(&year)
            && (1..=12).contains(&month)
            && (1..=days_in_month(year, month)).contains(&day)
            && (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second)
            && (0..TICKS_PER_SECOND).contains(&ticks);
        if !valid {
            return None;
        }
        let seconds =
            days_from_civil(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
        Some(DateTime(seconds * TICKS_PER_SECOND + ticks))
    }

    /// Units of 100 ns since 1970.
    pub(crate) fn ticks(self) -> i64 {
        self.0
    }

    /// Year, month and day.
    pub(crate) fn date(self) -> (i64, i64, i64) {
        civil_from_days(self.0.div_euclid(TICKS_PER_DAY))
    }

    /// Units of 100 ns since midnight.
    fn time(self) -> i64 {
        self.0.rem_euclid(TICKS_PER_DAY)
    }

    /// The day of the week; Sunday is 0.
    pub(crate) fn weekday(self) -> i64 {
        // 1970 began on a Thursday.
        (self.0.div_euclid(TICKS_PER_DAY) + 4).rem_euclid(7)
    }

    /// One part, as a calendar and a clock show it; fractions of a second are counted from its start.
    pub(crate) fn part(self, part: Part) -> i64 {
        let (seconds, fraction) = (
            self.time() / TICKS_PER_SECOND,
            self.time() % TICKS_PER_SECOND,
        );
        match part {
            Part::Year => self.date().0,
            Part::Month => self.date().1,
            Part::Day => self.date().2,
            Part::Hour => seconds / 3_600,
            Part::Minute => seconds / 60 % 60,
            Part::Second => seconds % 60,
            Part::Millisecond => fraction / TICKS_PER_MILLISECOND,
            Part::Microsecond => fraction / 10,
            Part::Nanosecond => fraction * 100,
        }
    }

    /// How many boundaries of the part lie between this moment and a later one; negative if that one is earlier.
    pub(crate) fn boundaries_until(self, part: Part, end: DateTime) -> Option<i64> {
        i64::try_from(end.boundaries(part) - self.boundaries(part)).ok()
    }

    /// How many boundaries of the part lie between a fixed point and this moment.
    fn boundaries(self, part: Part) -> i128 {
        let (year, month, _) = self.date();
        match (part, part.nanos()) {
            (_, Some(nanos)) => (i128::from(self.0) * 100).div_euclid(i128::from(nanos)),
            (Part::Month, _) => i128::from(year * 12 + month),
            (_, None) => i128::from(year),
        }
    }

    /// The moment so many parts later. A day that the month lacks becomes its last one.
    pub(crate) fn plus(self, part: Part, count: i64) -> Option<DateTime> {
        if let Some(passed) = part.ticks(count) {
            return DateTime::from_ticks(i64::try_from(i128::from(self.0) + passed).ok()?);
        }
        let (year, month, day) = self.date();
        let months = if part == Part::Year {
            count.checked_mul(12)?
        } else {
            count
        };
        let months = (year * 12 + month - 1).checked_add(months)?;
        let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
        if !(YEAR_MIN..=YEAR_MAX).contains(&year) {
            return None;
        }
        let day = day.min(days_in_month(year, month));
        Some(DateTime(
            days_from_civil(year, month, day) * TICKS_PER_DAY + self.time(),
        ))
    }

    /// The start of the bin that the moment is in. Bins are so many parts long and start at the origin.
    pub(crate) fn bin(self, part: Part, size: i64, origin: DateTime) -> Option<DateTime> {
        // Years and months, whose length varies, make no bins, nor does what is shorter than a unit.
        let size = part.ticks(size).filter(|size| *size > 0)?;
        let passed = i128::from(self.0) - i128::from(origin.0);
        let start = i128::from(origin.0) + passed.div_euclid(size) * size;
        DateTime::from_ticks(i64::try_from(start).ok()?)
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970. Years are counted from March, so that the leap day is the last one.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse of [`days_from_civil`].
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A day and the units since its midnight, moved by single steps: slow and plain.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Plain {
        year: i64,
        month: i64,
        day: i64,
        ticks: i64,
    }

    const DAY: i64 = 24 * 60 * 60 * 10_000_000;

    fn length(year: i64, month: i64) -> i64 {
        let leap = year % 400 == 0 || year % 4 == 0 && year % 100 != 0;
        [
            0,
            31,
            28 + i64::from(leap),
            31,
            30,
            31,
            30,
            31,
            31,
            30,
            31,
            30,
            31,
        ][month as usize]
    }

    impl Plain {
        fn moment(self) -> Option<DateTime> {
            let second = self.ticks / 10_000_000;
            DateTime::from_parts([
                self.year,
                self.month,
                self.day,
                second / 3_600,
                second / 60 % 60,
                second % 60,
                self.ticks % 10_000_000,
            ])
        }

        fn next_month(&mut self) {
            self.month += 1;
            if self.month == 13 {
                (self.year, self.month) = (self.year + 1, 1);
            }
        }

        fn last_month(&mut self) {
            self.month -= 1;
            if self.month == 0 {
                (self.year, self.month) = (self.year - 1, 12);
            }
        }

        fn next_day(&mut self) {
            self.day += 1;
            if self.day > length(self.year, self.month) {
                self.next_month();
                self.day = 1;
            }
        }

        fn last_day(&mut self) {
            self.day -= 1;
            if self.day == 0 {
                self.last_month();
                self.day = length(self.year, self.month);
            }
        }

        fn plus_months(mut self, count: i64) -> Plain {
            for _ in 0..count {
                self.next_month();
            }
            for _ in count..0 {
                self.last_month();
            }
            self.day = self.day.min(length(self.year, self.month));
            self
        }

        fn plus_ticks(mut self, count: i64) -> Plain {
            self.ticks += count;
            while self.ticks >= DAY {
                self.ticks -= DAY;
                self.next_day();
            }
            while self.ticks < 0 {
                self.ticks += DAY;
                self.last_day();
            }
            self
        }

        fn plus(self, part: Part, count: i64) -> Plain {
            match part {
                Part::Year => self.plus_months(count * 12),
                Part::Month => self.plus_months(count),
                Part::Day => self.plus_ticks(count * DAY),
                Part::Hour => self.plus_ticks(count * (DAY / 24)),
                Part::Minute => self.plus_ticks(count * (DAY / 24 / 60)),
                Part::Second => self.plus_ticks(count * 10_000_000),
                Part::Millisecond => self.plus_ticks(count * 10_000),
                Part::Microsecond => self.plus_ticks(count * 10),
                Part::Nanosecond => self.plus_ticks(count / 100),
            }
        }

        /// The moment without what is smaller than the part.
        fn start(self, part: Part) -> Plain {
            let whole = |size: i64| Plain {
                ticks: self.ticks - self.ticks % size,
                ..self
            };
            match part {
                Part::Year => Plain {
                    month: 1,
                    day: 1,
                    ticks: 0,
                    ..self
                },
                Part::Month => Plain {
                    day: 1,
                    ticks: 0,
                    ..self
                },
                Part::Day => whole(DAY),
                Part::Hour => whole(DAY / 24),
                Part::Minute => whole(DAY / 24 / 60),
                Part::Second => whole(10_000_000),
                Part::Millisecond => whole(10_000),
                Part::Microsecond => whole(10),
                Part::Nanosecond => self,
            }
        }
    }

    const PARTS: [Part; 9] = [
        Part::Year,
        Part::Month,
        Part::Day,
        Part::Hour,
        Part::Minute,
        Part::Second,
        Part::Millisecond,
        Part::Microsecond,
        Part::Nanosecond,
    ];

    /// The first two and the last two days of every month of some years, at the edges of the day and within it.
    fn edges() -> Vec<Plain> {
        let mut edges = Vec::new();
        for year in [
            1601, 1602, 1900, 1969, 1970, 2000, 2020, 2021, 2100, 9998, 9999,
        ] {
            for month in 1..=12 {
                let last = length(year, month);
                for day in [1, 2, last - 1, last] {
                    for ticks in [0, 1, 452_967_890_123, DAY - 1] {
                        edges.push(Plain {
                            year,
                            month,
                            day,
                            ticks,
                        });
                    }
                }
            }
        }
        edges
    }

    #[test]
    fn every_day_comes_back_and_follows_the_one_before() {
        let mut plain = Plain {
            year: 1601,
            month: 1,
            day: 1,
            ticks: 0,
        };
        // 1601-01-01 was a Monday.
        let mut weekday = 1;
        for days in DAYS_MIN..DAYS_END {
            let moment = DateTime::from_ticks(days * DAY).unwrap();
            assert_eq!(moment.date(), (plain.year, plain.month, plain.day));
            assert_eq!(plain.moment(), Some(moment));
            assert_eq!(moment.weekday(), weekday);
            plain.next_day();
            weekday = (weekday + 1) % 7;
        }
        assert_eq!((plain.year, plain.month, plain.day), (10_000, 1, 1));
        assert_eq!(DateTime::from_ticks(DAYS_MIN * DAY - 1), None);
        assert_eq!(DateTime::from_ticks(DAYS_END * DAY), None);
    }

    #[test]
    fn every_part_of_every_edge_is_what_was_put_in() {
        for plain in edges() {
            let moment = plain.moment().unwrap();
            let shown = PARTS.map(|part| moment.part(part));
            let (second, fraction) = (plain.ticks / 10_000_000, plain.ticks % 10_000_000);
            let wanted = [
                plain.year,
                plain.month,
                plain.day,
                second / 3_600,
                second / 60 % 60,
                second % 60,
                fraction / 10_000,
                fraction / 10,
                fraction * 100,
            ];
            assert_eq!(shown, wanted, "{plain:?}");
        }
    }

    #[test]
    fn every_part_added_to_every_edge_is_as_many_single_steps() {
        for plain in edges() {
            for part in PARTS {
                for count in [
                    -1_201, -60, -13, -12, -1, 0, 1, 2, 11, 12, 24, 99, 100, 1_000,
                ] {
                    let sum = plain.moment().unwrap().plus(part, count);
                    assert_eq!(
                        sum,
                        plain.plus(part, count).moment(),
                        "{plain:?} {part:?} {count}"
                    );
                }
            }
        }
    }

    #[test]
    fn so_many_boundaries_are_passed_as_starts_of_parts_lie_between() {
        for plain in edges() {
            for part in PARTS {
                for count in [0, 1, 5] {
                    // From the start of a part, so many parts on is so many boundaries on, up to the end of that part.
                    let from = plain.start(part);
                    let to = from.plus(
                        part,
                        if part == Part::Nanosecond {
                            count * 100
                        } else {
                            count
                        },
                    );
                    let (Some(from), Some(start)) = (from.moment(), to.moment()) else {
                        continue;
                    };
                    let steps = if part == Part::Nanosecond {
                        count * 100
                    } else {
                        count
                    };
                    assert_eq!(from.boundaries_until(part, start), Some(steps));
                    assert_eq!(start.boundaries_until(part, from), Some(-steps));
                    if let Some(end) = to.plus(part, 1).plus_ticks(-1).moment()
                        && part != Part::Nanosecond
                    {
                        assert_eq!(from.boundaries_until(part, end), Some(steps));
                    }
                }
            }
        }
    }

    #[test]
    fn every_edge_lies_in_the_bin_that_starts_last_before_it() {
        for plain in edges() {
            let moment = plain.moment().unwrap();
            assert_eq!(moment.bin(Part::Year, 1, DateTime::EPOCH), None);
            assert_eq!(moment.bin(Part::Month, 1, DateTime::EPOCH), None);
            assert_eq!(moment.bin(Part::Nanosecond, 99, DateTime::EPOCH), None);
            for part in PARTS.into_iter().filter(|part| part.nanos().is_some()) {
                let start = moment.bin(part, 1, DateTime::EPOCH);
                let wanted = (part != Part::Nanosecond).then(|| plain.start(part).moment());
                assert_eq!(start, wanted.flatten(), "{plain:?} {part:?}");
                for size in [0, -1, i64::MIN] {
                    assert_eq!(moment.bin(part, size, DateTime::EPOCH), None);
                }
                let size = if part == Part::Nanosecond { 700 } else { 7 };
                if let Some(start) = moment.bin(part, size, DateTime::EPOCH) {
                    assert!(start <= moment);
                    assert!(start.plus(part, size).is_none_or(|end| end > moment));
                    assert_eq!(start.bin(part, size, DateTime::EPOCH), Some(start));
                }
            }
        }
    }

    #[test]
    fn the_largest_numbers_are_refused() {
        // So many nanoseconds are 292 years.
        for part in PARTS.into_iter().filter(|part| *part != Part::Nanosecond) {
            for count in [i64::MIN, i64::MAX] {
                assert_eq!(DateTime::EPOCH.plus(part, count), None, "{part:?}");
            }
        }
        assert_eq!(DateTime::from_millis(i64::MAX), None);
        assert_eq!(DateTime::from_parts([i64::MAX; 7]), None);
        assert_eq!(DateTime::from_parts([i64::MIN; 7]), None);
    }
}
