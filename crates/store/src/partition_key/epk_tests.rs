//! Every vector of the specification, and the laws of ranges.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lapsedb_value::path::{Path, Segment};

use super::*;

/// A definition of so many levels; what their paths are plays no part in hashing.
fn def(levels: usize, kind: Kind, version: Version) -> PartitionKeyDef {
    let path = Path::new(vec![Segment::Member("pk".into())]);
    PartitionKeyDef {
        paths: vec![path; levels],
        kind,
        version,
        system_key: false,
    }
}

fn text(value: &str) -> Component {
    Component::String(value.into())
}

fn hash(version: Version, component: Component) -> String {
    let spec = def(1, Kind::Hash, version);
    epk_to_hex(&epk_bytes(&spec, &PartitionKey::new([component])))
}

fn multi(components: impl IntoIterator<Item = Component>) -> String {
    let spec = def(2, Kind::MultiHash, Version::V2);
    epk_to_hex(&epk_bytes(&spec, &PartitionKey::new(components)))
}

fn vectors() -> Vec<(Component, &'static str, String)> {
    let long = "a".repeat(1024);
    vec![
        (
            text("a"),
            "3A5381E1114EB8D3FCC90795045B49B7",
            "05C1D78593652C086200".into(),
        ),
        (
            text(""),
            "32E9366E637A71B4E710384B2F4970A0",
            "05C1CF33970FF80800".into(),
        ),
        (
            text("partitionKey"),
            "013AEFCF77FA271571CF665A58C933F1",
            "05C1E1B3D9CD2608716273756A756A706F4C667A00".into(),
        ),
        (
            text("redmond"),
            "22E342F38A486A088463DFF7838A5963",
            "05C1EFE313830C087366656E706F6500".into(),
        ),
        (
            text("你好"),
            "004DC6466F1ECD29F3606AEBC7AFC317",
            "05C1D37361259408E5BEA1E6A6BE00".into(),
        ),
        (
            Component::Number(5.0),
            "19C08621B135968252FB34B4CF66F811",
            "05C1D9C1C5517C05C014".into(),
        ),
        (
            Component::Number(0.0),
            "155B95BEDAC4B1E9EC1CDC9BB0DDDE58",
            "05C1BF6DA11560058000".into(),
        ),
        (
            Component::Number(-128.0),
            "01DAEDABF913540367FE219B2AD06148",
            "05C1D73349F54C053FA0".into(),
        ),
        (
            Component::Number(127.0),
            "0C507ACAC853ECA7977BF4CEFB562A25",
            "05C1DD539DDFCC05C05FE0".into(),
        ),
        (
            Component::Number(5.123),
            "0423098AFD2BF3A9BFDF7B97F0816852",
            "05C1B5E74F674005C0153F7D77652D8796".into(),
        ),
        (
            Component::Bool(true),
            "0E711127C5B5A8E4726AC6DD306A3E59",
            "05C1D7C5A903D803".into(),
        ),
        (
            Component::Bool(false),
            "2FE1BE91E90A3439635E0E9E37361EF2",
            "05C1DB857D857C02".into(),
        ),
        (
            Component::Null,
            "378867E4430E67857ACE5C908374FE16",
            "05C1ED45D7475601".into(),
        ),
        (
            Component::Undefined,
            "11622DAA78F835834610ABE56EFF5CB5",
            "05C1D529E345DC00".into(),
        ),
        (
            text(&long),
            "332BDF5512AE49615F32C7D98C2DB86C",
            format!("05C1EB5921F70608{}00", "62".repeat(100)),
        ),
    ]
}

#[test]
fn every_vector_of_the_specification() {
    for (component, v2, v1) in vectors() {
        assert_eq!(hash(Version::V2, component.clone()), v2, "{component:?}");
        assert_eq!(hash(Version::V1, component.clone()), v1, "{component:?}");
    }
    assert_eq!(
        multi([text("x"), Component::Number(1.0)]),
        "11E3F358618BE9AA5BAFF4C7C74F071620CD98B339BA78A5D0CF6953B87070B0"
    );
    assert_eq!(
        multi([text(""), Component::Bool(true)]),
        "32E9366E637A71B4E710384B2F4970A00E711127C5B5A8E4726AC6DD306A3E59"
    );
}

#[test]
fn an_integer_hashes_as_the_nearest_double() {
    for version in [Version::V1, Version::V2] {
        for number in [(1i64 << 53) + 1, i64::MAX, i64::MIN + 1] {
            assert_eq!(
                hash(version, Component::Integer(number)),
                hash(version, Component::Number(number as f64))
            );
        }
    }
}

#[test]
fn minus_zero_is_zero() {
    for version in [Version::V1, Version::V2] {
        assert_eq!(
            hash(version, Component::Number(-0.0)),
            hash(version, Component::Number(0.0))
        );
    }
}

#[test]
fn a_long_version_1_string_loses_its_terminator_only_by_bytes() {
    let hundred = hash(Version::V1, text(&"b".repeat(100)));
    assert!(hundred.ends_with("6300"));
    // A hundred characters of two bytes each are not cut, but longer than a hundred bytes.
    let wide = hash(Version::V1, text(&"é".repeat(100)));
    assert!(
        wide.ends_with(&format!("08{}C4", "C4AA".repeat(50))),
        "{wide}"
    );
}

#[test]
fn the_length_of_a_key_is_found_in_its_bytes() {
    let mut spec = def(1, Kind::Hash, Version::V2);
    let wide = text(&"é".repeat(120));
    for version in [Version::V1, Version::V2] {
        spec.version = version;
        for component in vectors().into_iter().map(|row| row.0).chain([wide.clone()]) {
            let mut bytes = epk_bytes(&spec, &PartitionKey::new([component.clone()])).to_vec();
            let len = bytes.len();
            for shorter in 0..len {
                assert_eq!(
                    epk_len(&spec, &bytes[..shorter]),
                    None,
                    "{component:?} {shorter}"
                );
            }
            bytes.extend_from_slice(&[0, 0xFF, 8]);
            assert_eq!(epk_len(&spec, &bytes), Some(len), "{component:?}");
        }
    }
    let two = def(2, Kind::MultiHash, Version::V2);
    assert_eq!(epk_len(&two, &[0; 32]), Some(32));
    assert_eq!(epk_len(&two, &[0; 31]), None);
}

#[test]
fn hexadecimal_is_read_in_either_case_and_nothing_else() {
    assert_eq!(epk_from_hex("").unwrap().len(), 0);
    assert_eq!(epk_from_hex("fF0a").unwrap().as_slice(), [0xFF, 0x0A]);
    assert_eq!(epk_to_hex(&epk_from_hex("05c1d5").unwrap()), "05C1D5");
    for bad in ["F", "0G", "+1", " 1", "é", "0x"] {
        assert_eq!(epk_from_hex(bad), None, "{bad}");
    }
    assert!(epk_from_hex(&"0".repeat(2 * EPK_BOUND_BYTES_MAX)).is_some());
    assert!(epk_from_hex(&"0".repeat(2 * EPK_BOUND_BYTES_MAX + 2)).is_none());
}

#[test]
fn a_range_of_a_key_holds_that_key_alone() {
    for (component, _, _) in vectors() {
        for version in [Version::V1, Version::V2] {
            let spec = def(1, Kind::Hash, version);
            let range = EpkRange::of_key(&spec, &PartitionKey::new([component.clone()]));
            for (other, _, _) in vectors() {
                let epk = epk_bytes(&spec, &PartitionKey::new([other.clone()]));
                assert_eq!(
                    range.contains(&epk),
                    other == component,
                    "{component:?} {other:?}"
                );
                assert!(EpkRange::full().contains(&epk));
            }
        }
    }
}

#[test]
fn a_range_of_a_prefix_holds_what_lies_under_it() {
    let spec = def(2, Kind::MultiHash, Version::V2);
    let range = EpkRange::of_key(&spec, &PartitionKey::new([text("a")]));
    assert_eq!(epk_to_hex(&range.min), "3A5381E1114EB8D3FCC90795045B49B7");
    assert_eq!(epk_to_hex(&range.max), "3A5381E1114EB8D3FCC90795045B49B7FF");
    for (first, _, _) in vectors() {
        for (second, _, _) in vectors() {
            let epk = epk_bytes(&spec, &PartitionKey::new([first.clone(), second]));
            assert_eq!(range.contains(&epk), first == text("a"));
        }
    }
}

#[test]
fn ranges_are_full_empty_and_cut() {
    assert!(EpkRange::parse("", "FF").unwrap().is_full());
    assert!(!EpkRange::parse("", "3F").unwrap().is_full());
    assert!(EpkRange::parse("", "").unwrap().is_empty());
    assert!(EpkRange::parse("zz", "FF").is_none());
    let low = EpkRange::parse("", "1F").unwrap();
    let high = EpkRange::parse("1F", "FF").unwrap();
    assert!(low.intersect(&high).is_empty());
    assert_eq!(low.intersect(&EpkRange::full()), low);
}

/// The SDKs hash each level of a hierarchy by itself, so one level alone has the hash of a plain key.
#[test]
fn one_level_of_a_hierarchy_is_placed_as_a_plain_key() {
    let plain = def(1, Kind::Hash, Version::V2);
    let one = def(1, Kind::MultiHash, Version::V2);
    let all = vectors()
        .into_iter()
        .map(|(component, _, _)| component)
        .chain([Component::Undefined, Component::Null, Component::Bool(true)]);
    for component in all {
        let key = PartitionKey::new([component]);
        let epk = epk_bytes(&one, &key);
        assert_eq!(epk, epk_bytes(&plain, &key), "{}", key.to_json());
        assert_eq!(EpkRange::of_key(&one, &key), EpkRange::of_key(&plain, &key));
        assert_eq!(epk_len(&one, &epk), epk_len(&plain, &epk));
    }
}
