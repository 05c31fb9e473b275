//! The calendar: from milliseconds since 1970 to year, month and day, and back.

use super::{DAY, HOUR, MINUTE, SECOND};

/// A date and a time of day in some zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i32,
    pub(crate) month: i32,
    pub(crate) day: i32,
    pub(crate) hour: i32,
    pub(crate) minute: i32,
    pub(crate) second: i32,
    pub(crate) millisecond: i32,
}

/// Days in four hundred years, after which the calendar repeats.
const DAYS_PER_ERA: i64 = 146_097;

/// Days from the first of March of year 0 to the first day of 1970.
const DAYS_TO_1970: i64 = 719_468;

/// Days since 1970 of a day; months and days beyond their range count on.
pub(crate) fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = year + (month - 1).div_euclid(12);
    let month = (month - 1).rem_euclid(12) + 1;
    // Years that begin in March have their leap day at the end.
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let month_of_year = (month + 9) % 12;
    let day_of_year = (153 * month_of_year + 2) / 5;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_PER_ERA + day_of_era - DAYS_TO_1970 + day - 1
}

/// Milliseconds since 1970 of a time on a day; None, if no date can say it. The first day that dates reach into begins before
/// the first date.
pub(crate) fn millis_of(days: i64, time: i64) -> Option<i64> {
    i64::try_from(i128::from(days) * i128::from(DAY) + i128::from(time)).ok()
}

/// Days that a month has.
pub(crate) fn month_days(year: i64, month: i64) -> i64 {
    days_of(year, month + 1, 1) - days_of(year, month, 1)
}

impl Civil {
    /// The date and time of an instant, in the zone that the instant was shifted to.
    pub(crate) fn from_millis(millis: i64) -> Civil {
        let rest = millis.rem_euclid(DAY);
        let (year, month, day) = Civil::of_days(millis.div_euclid(DAY));
        Civil {
            year: year as i32,
            month: month as i32,
            day: day as i32,
            hour: (rest / HOUR) as i32,
            minute: (rest % HOUR / MINUTE) as i32,
            second: (rest % MINUTE / SECOND) as i32,
            millisecond: (rest % SECOND) as i32,
        }
    }

    /// Year, month and day of so many days since 1970.
    fn of_days(days: i64) -> (i64, i64, i64) {
        let shifted = days + DAYS_TO_1970;
        let era = shifted.div_euclid(DAYS_PER_ERA);
        let day_of_era = shifted.rem_euclid(DAYS_PER_ERA);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_of_year = (5 * day_of_year + 2) / 153;
        let month = (month_of_year + 2) % 12 + 1;
        let year = era * 400 + year_of_era + i64::from(month <= 2);
        let day = day_of_year - (153 * month_of_year + 2) / 5 + 1;
        (year, month, day)
    }

    /// Days since 1970.
    pub(crate) fn days(self) -> i64 {
        days_of(
            i64::from(self.year),
            i64::from(self.month),
            i64::from(self.day),
        )
    }

    pub(crate) fn millis_of_day(self) -> i64 {
        i64::from(self.hour) * HOUR
            + i64::from(self.minute) * MINUTE
            + i64::from(self.second) * SECOND
            + i64::from(self.millisecond)
    }

    /// The day of the week, from 0 on Sunday.
    pub(crate) fn weekday(self) -> i64 {
        // The first day of 1970 was a Thursday.
        (self.days() + 4).rem_euclid(7)
    }

    /// The day of the week, from 1 on Monday to 7 on Sunday.
    pub(crate) fn iso_weekday(self) -> i64 {
        (self.days() + 3).rem_euclid(7) + 1
    }

    /// The day of the year, from 1.
    pub(crate) fn day_of_year(self) -> i64 {
        self.days() - days_of(i64::from(self.year), 1, 1) + 1
    }

    /// The week of the year: 0 before the first Sunday.
    pub(crate) fn week(self) -> i64 {
        (self.day_of_year() + 6 - self.weekday()) / 7
    }

    /// The year and number of the ISO week: the first one holds the year's first Thursday.
    pub(crate) fn iso_week(self) -> (i64, i64) {
        let thursday = self.days() + 4 - self.iso_weekday();
        let (year, ..) = Civil::of_days(thursday);
        (year, (thursday - days_of(year, 1, 1)) / 7 + 1)
    }
}

/// Days since 1970 of a day given by ISO year, week and day of the week; all may lie beyond their range.
pub(crate) fn iso_days_of(year: i64, week: i64, weekday: i64) -> i64 {
    let fourth = days_of(year, 1, 4);
    let monday = fourth - (fourth + 3).rem_euclid(7);
    monday + (week - 1) * 7 + weekday - 1
}
