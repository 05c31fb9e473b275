//! The rule against a formulation of its own: every policy, item and time edge of `docs/ttl-cases.md` (B1–B3, "numbers at the edge").

use lapsedb_record::ttl::meaningful;
use lapsedb_record::{Expiry, ItemTtl, Lens, Mark, Millis, Policy, Secs, Setting, TTL_SECS_MAX};
use lapsedb_value::json;

/// Seconds at which other products have lost data: the ends of 31 and 32 bits, the first and the last second there is.
const WRITTEN: [u64; 8] = [
    0,
    1,
    2_147_483_646,
    2_147_483_647,
    2_147_483_648,
    4_294_967_295,
    4_294_967_296,
    253_402_300_799,
];

const LIVES: [u64; 5] = [1, 2, 60, 2_147_483_646, TTL_SECS_MAX];

fn settings() -> Vec<Setting> {
    let mut all = vec![Setting::Off, Setting::On];
    all.extend(LIVES.map(|life| Setting::OnWithDefault(Secs(life))));
    all
}

fn items() -> Vec<ItemTtl> {
    let mut all = vec![ItemTtl::Inherit, ItemTtl::Never];
    all.extend(LIVES.map(|life| ItemTtl::After(Secs(life))));
    all
}

/// The life that `docs/ttl-cases.md` gives an item (R1), in words of its own: 128 bits, no `Expiry`, no comparison shared with the rule.
fn life_by_r1(setting: Setting, item: ItemTtl) -> Option<u128> {
    let default = match setting {
        Setting::Off => return None,
        Setting::On => None,
        Setting::OnWithDefault(life) => Some(u128::from(life.0)),
    };
    match item {
        ItemTtl::Inherit => default,
        ItemTtl::Never => None,
        ItemTtl::After(life) => Some(u128::from(life.0)),
    }
}

/// Milliseconds that lie about an end, and far from it.
fn instants(written: u64, life: u64) -> Vec<u64> {
    let begin = written * 1000;
    let end = (written + life) * 1000;
    let mut all = vec![begin, begin + 1, begin + 999, end, end + 1, end + 999];
    all.extend([end - 1, end - 999, end - 1000]);
    all.extend([end + 1000, end + 1_000_000_000_000]);
    all.retain(|now| *now >= begin);
    all
}

#[test]
fn b1_b2_b3_every_policy_item_and_edge() {
    let mut combinations = 0;
    for setting in settings() {
        for item in items() {
            for written in WRITTEN {
                let life = life_by_r1(setting, item);
                let edges = match life {
                    Some(life) => vec![u64::try_from(life).unwrap()],
                    None => LIVES.to_vec(),
                };
                for now in edges.into_iter().flat_map(|life| instants(written, life)) {
                    let expected = match life {
                        // The last visible millisecond is the one before the second `_ts + ttl` begins.
                        Some(life) => {
                            let last = (u128::from(written) + life) * 1000 - 1;
                            u128::from(now) <= last
                        }
                        None => true,
                    };
                    let lens = Lens::new(Policy::new(setting), Millis(now));
                    assert_eq!(
                        lens.is_live(&Mark::undated(item, Secs(written))),
                        expected,
                        "{setting:?} {item:?} written {written} now {now}"
                    );
                    combinations += 1;
                }
            }
        }
    }
    assert!(combinations > 2500, "{combinations} combinations");
}

#[test]
fn b1_visible_in_every_whole_second_before_the_end() {
    for written in WRITTEN {
        for life in 1..200 {
            for second in written..=written + life + 3 {
                for part in [0, 1, 500, 999] {
                    let lens = Lens::new(
                        Policy::new(Setting::OnWithDefault(Secs(life))),
                        Millis(second * 1000 + part),
                    );
                    let lived = second - written;
                    assert_eq!(
                        lens.is_live(&Mark::undated(ItemTtl::Inherit, Secs(written))),
                        lived < life,
                        "written {written} life {life} after {lived} s"
                    );
                }
            }
        }
    }
}

#[test]
fn never_is_a_state_and_not_a_large_number() {
    let far = Millis(u64::MAX);
    assert!(Expiry::Never.is_live(far));
    assert!(!Expiry::At(far).is_live(far));
    for written in WRITTEN {
        for (setting, item) in [
            (Setting::Off, ItemTtl::After(Secs(1))),
            (Setting::Off, ItemTtl::Inherit),
            (Setting::On, ItemTtl::Inherit),
            (Setting::On, ItemTtl::Never),
            (Setting::OnWithDefault(Secs(1)), ItemTtl::Never),
        ] {
            let lens = Lens::new(Policy::new(setting), far);
            assert_eq!(
                lens.expiry(&Mark::undated(item, Secs(written))),
                Expiry::Never
            );
            assert!(
                lens.is_live(&Mark::undated(item, Secs(written))),
                "{setting:?} {item:?}"
            );
        }
    }
}

#[test]
fn ends_of_64_bits_do_not_wrap() {
    let lens = Lens::new(Policy::new(Setting::On), Millis(u64::MAX - 1));
    assert!(lens.is_live(&Mark::undated(ItemTtl::After(Secs(1)), Secs(u64::MAX))));
    assert!(lens.is_live(&Mark::undated(
        ItemTtl::After(Secs(TTL_SECS_MAX)),
        Secs(u64::MAX / 1000)
    )));
    assert!(!lens.is_live(&Mark::undated(ItemTtl::After(Secs(1)), Secs(0))));
}

/// What a stored `ttl` means, from its JSON text: section 2 of `docs/ttl-cases.md` as far as it is JSON.
#[test]
fn v1_to_v22_meaning_of_a_value() {
    let meaning = |text: &str| {
        let limits = json::Limits {
            depth_max: 128,
            duplicates_refused: &[],
        };
        json::parse(text.as_bytes(), &limits).map(|value| meaningful(&value))
    };
    for (id, text, expected) in [
        ("V2", "1", Some(1)),
        ("V3", "60", Some(60)),
        ("V3", "999", Some(999)),
        ("V4", "2147483647", Some(2_147_483_647)),
        ("V5", "-1", Some(-1)),
        ("V6", "0", None),
        ("V7", "-2", None),
        ("V7", "-60", None),
        ("V7", "-2147483648", None),
        ("V8", "2147483648", None),
        ("V8", "4294967295", None),
        ("V8", "4294967296", None),
        ("V8", "4294967297", None),
        ("V9", "9223372036854775807", None),
        ("V9", "9223372036854775808", None),
        ("V9", "18446744073709551616", None),
        ("V10", "1.0", Some(1)),
        ("V10", "2147483647.0", Some(2_147_483_647)),
        ("V11", "-1.0", Some(-1)),
        ("V12", "0.0", None),
        ("V12", "-0", None),
        ("V12", "-0.0", None),
        ("V13", "1.5", None),
        ("V13", "0.5", None),
        ("V13", "-1.5", None),
        ("V13", "59.999999", None),
        ("V13", "2147483647.5", None),
        ("V14", "1e3", Some(1000)),
        ("V14", "6E1", Some(60)),
        ("V14", "1e0", Some(1)),
        ("V15", "1e10", None),
        ("V15", "1e308", None),
        ("V15", "2147483648.0", None),
        ("V17", "1e-400", None),
        ("V18", "\"60\"", None),
        ("V18", "\"\"", None),
        ("V19", "null", None),
        ("V20", "true", None),
        ("V20", "false", None),
        ("V21", "[]", None),
        ("V21", "[60]", None),
        ("V22", "{}", None),
        ("V22", "{\"ttl\":60}", None),
    ] {
        assert_eq!(meaning(text).unwrap(), expected, "{id}: {text}");
    }
    for (id, text) in [
        ("V16", "1e400"),
        ("V23", "NaN"),
        ("V23", "Infinity"),
        ("V23", "-Infinity"),
        ("V24", "060"),
        ("V24", "+60"),
        ("V24", "0x3C"),
        ("V24", "60."),
        ("V24", ".5"),
        ("V24", "1_000"),
    ] {
        assert!(meaning(text).is_err(), "{id}: {text} is not JSON");
    }
}
