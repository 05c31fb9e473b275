//! A container told in the plainest way: a list of items, and a walk through time that marks the dead.

pub mod steps;

use lapsedb_record::Setting;

/// An item, alive or dead, until it is deleted or purged.
#[derive(Clone, Debug)]
pub struct Item {
    pub partition: u8,
    pub id: u8,
    /// What the document says: none, or any number.
    pub ttl: Option<i64>,
    /// The value of the unique key; none is null, which is a value like any other.
    pub email: Option<u8>,
    pub note: String,
    pub written: u64, // The second of its last write.
    pub born: u64,    // Its place in the order of creation.
    pub charged: u64,
    /// The second in which it died.
    pub died: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Model {
    pub items: Vec<Item>,
    pub setting: Setting,
    /// The second in which the setting was last said.
    pub since: u64,
    births: u64,
}

impl Model {
    pub fn new(setting: Setting, since: u64) -> Model {
        Model {
            items: Vec::new(),
            setting,
            since,
            births: 0,
        }
    }

    /// The second in which an item ends under a setting.
    pub fn end(setting: Setting, item: &Item) -> Option<u64> {
        match (setting, item.ttl) {
            (Setting::Off, _) | (_, Some(-1)) => None,
            (_, Some(own @ 1..=2_147_483_647)) => item.written.checked_add_signed(own),
            // Zero and the like mean nothing, so the default holds.
            (Setting::On, _) => None,
            (Setting::OnWithDefault(life), _) => Some(item.written + life.0),
        }
    }

    /// Marks who has died by this second.
    pub fn settle(&mut self, now: u64) {
        for item in self.items.iter_mut().filter(|item| item.died.is_none()) {
            let end = Self::end(self.setting, item).filter(|end| *end <= now);
            item.died = end.map(|end| end.max(self.since));
        }
    }

    pub fn change(&mut self, setting: Setting, now: u64) {
        self.settle(now);
        (self.setting, self.since) = (setting, now);
        self.settle(now);
    }

    pub fn living(&self) -> Vec<&Item> {
        let living = self.items.iter().filter(|item| item.died.is_none());
        living.collect()
    }

    pub fn live(&self, partition: u8, id: u8) -> Option<&Item> {
        let mut living = self.living().into_iter();
        living.find(|item| (item.partition, item.id) == (partition, id))
    }

    /// Writes an item in place of the living one, or anew; what a dead one has left goes.
    pub fn put(&mut self, mut item: Item) {
        self.births += 1;
        let old = self.live(item.partition, item.id);
        item.born = old.map_or(self.births, |old| old.born);
        self.delete(item.partition, item.id);
        self.items.push(item);
        self.items.sort_by_key(|item| item.born);
    }

    pub fn delete(&mut self, partition: u8, id: u8) {
        let key = (partition, id);
        self.items.retain(|item| (item.partition, item.id) != key);
    }

    /// Removes who died by the horizon, unless the setting was said after it.
    pub fn purge(&mut self, horizon: u64) -> Vec<Item> {
        let since = self.since;
        let gone = |item: &mut Item| since <= horizon && item.died.is_some_and(|at| at <= horizon);
        self.items.extract_if(.., gone).collect()
    }
}
