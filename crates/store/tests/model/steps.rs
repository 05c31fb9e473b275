//! What may happen to a container.

use lapsedb_record::{Secs, Setting};
use lapsedb_store::Width;
use proptest::prelude::*;

pub const PARTITIONS: u8 = 3;
pub const IDS: u8 = 4;
pub const EMAILS: u8 = 5;

#[derive(Clone, Debug)]
pub struct Write {
    pub id: u8,
    pub ttl: Option<i64>,
    pub email: Option<u8>,
    pub note: usize,
}

/// What happens between the view of a transaction and its commit.
#[derive(Clone, Debug, Default)]
pub struct Meanwhile {
    pub advance_ms: u64,
    pub setting: Option<Setting>,
}

#[derive(Clone, Debug)]
pub enum Step {
    Put(u8, Write),
    Delete(u8, u8),
    /// Several writes of one partition at once; none is a delete of the id.
    Batch(u8, Vec<(u8, Option<Write>)>, Meanwhile),
    Change(Setting),
    Advance(u64),
    /// Advances to the first instant of the next second, where lives end.
    NextSecond,
    Purge {
        grace_ms: u64,
    },
    /// Has the engine drop what was purged, where it does that by itself.
    Sweep,
    Forecast(Width, u64),
    /// The index policy changes.
    Reindex,
    /// Entries of the new index are written for so many items.
    Build(u64),
    /// Closes the store and opens it again, where it is on disk.
    Restart,
}

fn any_write() -> impl Strategy<Value = Write> {
    let ttl = prop_oneof![
        4 => Just(None),
        1 => Just(Some(-1)),
        1 => Just(Some(0)),
        1 => Just(Some(1)),
        2 => Just(Some(5)),
        1 => Just(Some(4000)),
        1 => Just(Some(100_000)),
        1 => Just(Some(2_147_483_647)),
    ];
    (0..IDS, ttl, proptest::option::of(0..EMAILS), 0..40_usize).prop_map(
        |(id, ttl, email, note)| Write {
            id,
            ttl,
            email,
            note,
        },
    )
}

fn any_setting() -> impl Strategy<Value = Setting> {
    prop_oneof![
        Just(Setting::Off),
        Just(Setting::On),
        prop_oneof![
            Just(1),
            Just(3),
            Just(5),
            Just(10),
            Just(5000),
            Just(90_000)
        ]
        .prop_map(|life| Setting::OnWithDefault(Secs(life))),
    ]
}

fn any_advance() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(1),
        Just(500),
        Just(999),
        Just(1000),
        Just(3000),
        Just(7001),
        Just(3_600_000),
        Just(86_400_000),
    ]
}

fn any_meanwhile() -> impl Strategy<Value = Meanwhile> {
    let advance = prop_oneof![3 => Just(0), 2 => any_advance()];
    let setting = prop_oneof![9 => Just(None), 1 => any_setting().prop_map(Some)];
    (advance, setting).prop_map(|(advance_ms, setting)| Meanwhile {
        advance_ms,
        setting,
    })
}

pub fn any_step() -> impl Strategy<Value = Step> {
    let batch = proptest::collection::vec(
        any_write().prop_flat_map(|write| {
            let id = write.id;
            prop_oneof![3 => Just((id, Some(write))), 1 => Just((id, None))]
        }),
        1..6,
    );
    let width = prop_oneof![Just(Width::Minute), Just(Width::Hour), Just(Width::Day)];
    let grace = prop_oneof![Just(0), Just(2000), Just(10_000)];
    prop_oneof![
        60 => (0..PARTITIONS, any_write()).prop_map(|(partition, write)| Step::Put(partition, write)),
        20 => (0..PARTITIONS, 0..IDS).prop_map(|(partition, id)| Step::Delete(partition, id)),
        30 => (0..PARTITIONS, batch, any_meanwhile())
            .prop_map(|(partition, writes, meanwhile)| Step::Batch(partition, writes, meanwhile)),
        20 => any_setting().prop_map(Step::Change),
        30 => any_advance().prop_map(Step::Advance),
        20 => Just(Step::NextSecond),
        10 => grace.prop_map(|grace_ms| Step::Purge { grace_ms }),
        2 => Just(Step::Sweep),
        10 => (width, 1..50_u64).prop_map(|(width, buckets)| Step::Forecast(width, buckets)),
        4 => Just(Step::Reindex),
        10 => (1..6_u64).prop_map(Step::Build),
        1 => Just(Step::Restart),
    ]
}
