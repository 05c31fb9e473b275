//! Dates beside the ttl: every rule, date and time edge (M6, M11–M13), and the bytes that carry them.

use lapsedb_record::{
    DateRule, DateRules, DateSource, Dated, Dates, Expiry, Header, ItemTtl, Lens, Mark, Millis,
    Policy, Secs, Setting, Stored, TTL_SECS_MAX,
};

/// Year 1 is before every time there is; the last one is the largest date of BSON.
const DATES: [i64; 9] = [
    i64::MIN,
    -62_135_596_800_000,
    -1,
    0,
    1,
    1_700_000_000_999,
    4_294_967_296_000,
    253_402_300_799_999,
    i64::MAX,
];
const LIVES: [u64; 4] = [0, 1, 60, TTL_SECS_MAX];

fn lens(setting: Setting, rules: Vec<DateRule>, now: u64) -> Lens {
    Lens {
        policy: Policy::new(setting),
        dates: DateRules::new(rules),
        now: Millis(now),
    }
}

fn dated(dates: &[(u32, i64)]) -> Mark {
    Mark {
        ttl: ItemTtl::Inherit,
        written: Secs(0),
        dates: dates
            .iter()
            .map(|&(number, at)| Dated { number, at })
            .collect(),
    }
}

/// Milliseconds about an end, as far as they are times at all.
fn about(end: i128) -> Vec<u64> {
    [-1000, -1, 0, 1, 1000]
        .into_iter()
        .filter_map(|part| u64::try_from(end + part).ok())
        .collect()
}

#[test]
fn m6_m12_every_date_life_and_edge() {
    let mut combinations = 0;
    for at in DATES {
        for life in LIVES {
            let rule = DateRule {
                number: 7,
                source: DateSource::Index,
                life: Some(Secs(life)),
                buried: None,
            };
            let end = i128::from(at) + i128::from(life) * 1000;
            for now in about(end).into_iter().chain([0, 253_402_300_799_999]) {
                let lens = lens(Setting::Off, vec![rule], now);
                let live = i128::from(now) < end;
                assert_eq!(
                    lens.is_live(&dated(&[(7, at)])),
                    live,
                    "{at} + {life} at {now}"
                );
                // Who has only the cut of all dates must come to the same answer.
                let cut = rule.dead_until(Millis(now));
                assert_eq!(
                    cut.is_none_or(|cut| at > cut),
                    live,
                    "{at} + {life} at {now}"
                );
                combinations += 1;
            }
        }
    }
    assert!(combinations > 150, "{combinations} combinations");
}

#[test]
fn m11_the_earlier_of_date_and_ttl_ends_a_document() {
    for setting in [Setting::Off, Setting::On, Setting::OnWithDefault(Secs(10))] {
        for ttl in [ItemTtl::Inherit, ItemTtl::Never, ItemTtl::After(Secs(20))] {
            for at in [100_000, 109_999, 110_000, 110_001, 120_001, 500_000] {
                let mark = Mark {
                    ttl,
                    written: Secs(100),
                    dates: Dates::from_iter([Dated { number: 1, at }]),
                };
                let rule = DateRule {
                    number: 1,
                    source: DateSource::Index,
                    life: Some(Secs(0)),
                    buried: None,
                };
                // M13: while the collection has no default, a document's own ttl is plain data.
                let by_ttl = match (setting, ttl) {
                    (Setting::Off, _) | (_, ItemTtl::Never) => i64::MAX,
                    (Setting::On, ItemTtl::Inherit) => i64::MAX,
                    (Setting::OnWithDefault(_), ItemTtl::Inherit) => 110_000,
                    (_, ItemTtl::After(_)) => 120_000,
                };
                let end = by_ttl.min(at);
                for now in about(i128::from(end)) {
                    let lens = lens(setting, vec![rule], now);
                    let live = i128::from(now) < i128::from(end);
                    assert_eq!(
                        lens.is_live(&mark),
                        live,
                        "{setting:?} {ttl:?} {at} at {now}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_earliest_of_several_dates_counts_and_unknown_numbers_mean_nothing() {
    let rule = |number, life| DateRule {
        number,
        source: DateSource::Index,
        life: Some(Secs(life)),
        buried: None,
    };
    let lens = lens(Setting::Off, vec![rule(5, 3), rule(2, 1)], 0);
    let end = |dates: &[(u32, i64)]| lens.expiry(&dated(dates));
    assert_eq!(end(&[(2, 5000), (5, 2500)]), Expiry::At(Millis(5500)));
    assert_eq!(end(&[(2, 4000), (5, 2500)]), Expiry::At(Millis(5000)));
    assert_eq!(end(&[(3, 0), (9, -5)]), Expiry::Never);
    assert_eq!(end(&[(3, 0), (2, 1)]), Expiry::At(Millis(1001)));
}

#[test]
fn a_burial_holds_whatever_the_rule_says_now() {
    for life in [None, Some(Secs(0)), Some(Secs(1_000_000))] {
        let rule = DateRule {
            number: 1,
            source: DateSource::Index,
            life,
            buried: Some(50),
        };
        let lens = lens(Setting::Off, vec![rule], 60);
        assert!(!lens.is_live(&dated(&[(1, 50)])), "{life:?}");
        assert_eq!(lens.is_live(&dated(&[(1, 51)])), life != Some(Secs(0)));
        assert!(lens.is_live(&dated(&[(2, 50)])), "another index's date");
    }
}

#[test]
fn marks_and_records_with_dates_are_read_as_written() {
    for dates in [
        vec![],
        vec![(1, 5)],
        vec![(1, i64::MIN), (u32::MAX, i64::MAX), (3, -1)],
    ] {
        for ttl in [ItemTtl::Inherit, ItemTtl::Never, ItemTtl::After(Secs(9))] {
            let mark = Mark {
                ttl,
                written: Secs(77),
                ..dated(&dates)
            };
            let mut bytes = Vec::new();
            mark.write(&mut bytes);
            bytes.extend_from_slice(b"tail");
            assert_eq!(Mark::split(&bytes), Ok((mark.clone(), &b"tail"[..])));
            let header = Header {
                ttl,
                index: 3,
                written: Secs(77),
                lsn: 4,
                ordinal: 5,
                charged: 4,
                dates: mark.dates.clone(),
            };
            let mut record = Vec::new();
            header.write(b"body", &mut record);
            assert_eq!(Header::read(&record), Ok(header.clone()));
            assert_eq!(header.mark(), mark);
            let live = Stored::new(record.clone())
                .reveal(&lens(Setting::Off, vec![], 0))
                .unwrap()
                .unwrap();
            assert_eq!(live.body(), b"body");
            for damaged in [1, header.length() - 1, record.len() - 1] {
                let mut record = record.clone();
                record[damaged] ^= 1;
                assert!(Header::read(&record).is_err(), "byte {damaged}");
            }
        }
    }
}
