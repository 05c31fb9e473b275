//! A store told in the plainest way: a list of items, and a walk through time that marks the dead.

use lapsedb_record::Setting;

/// An item as the model keeps it, alive or dead, until it is deleted or purged.
#[derive(Clone, Debug)]
pub struct Item {
    pub partition: u8,
    pub id: u8,
    /// What the document says: none, or any number.
    pub ttl: Option<i64>,
    /// The value of the unique key; none is null, which is a value like any other.
    pub email: Option<u8>,
    pub note: String,
    /// The second of its last write.
    pub written: u64,
    /// Its place in the order of creation.
    pub born: u64,
    pub charged: u64,
    /// The second in which it died.
    pub died: Option<u64>,
}

/// A container.
#[derive(Clone, Debug)]
pub struct Model {
    pub items: Vec<Item>,
    pub setting: Setting,
    /// The second in which the setting was last said.
    pub since: u64,
    births: u64,
}

/// Items and bytes.
pub type Sum = (u64, u64);

impl Model {
    pub fn new(setting: Setting, now: u64) -> Model {
        Model {
            items: Vec::new(),
            setting,
            since: now,
            births: 0,
        }
    }

    /// The seconds an item lives under a setting, counted from its write.
    fn life(setting: Setting, ttl: Option<i64>) -> Option<u64> {
        let default = match setting {
            Setting::Off => return None,
            Setting::On => None,
            Setting::OnWithDefault(life) => Some(life.0),
        };
        match ttl {
            Some(-1) => None,
            Some(own) if (1..=2_147_483_647).contains(&own) => u64::try_from(own).ok(),
            // Zero and the like mean nothing, so the default holds.
            Some(_) | None => default,
        }
    }

    /// Marks who has died by this second.
    pub fn settle(&mut self, now: u64) {
        for item in &mut self.items {
            if item.died.is_none()
                && let Some(life) = Self::life(self.setting, item.ttl)
                && item.written + life <= now
            {
                item.died = Some((item.written + life).max(self.since));
            }
        }
    }

    pub fn change(&mut self, setting: Setting, now: u64) {
        self.settle(now);
        self.setting = setting;
        self.since = now;
        self.settle(now);
    }

    pub fn live(&self, partition: u8, id: u8) -> Option<&Item> {
        self.items
            .iter()
            .find(|item| (item.partition, item.id) == (partition, id) && item.died.is_none())
    }

    pub fn holder(&self, partition: u8, email: Option<u8>) -> Option<&Item> {
        self.items
            .iter()
            .find(|item| item.partition == partition && item.email == email && item.died.is_none())
    }

    /// Writes an item in place of the living one, or anew; what a dead one has left goes.
    pub fn put(&mut self, mut item: Item) {
        match self.live(item.partition, item.id) {
            Some(old) => item.born = old.born,
            None => {
                self.births += 1;
                item.born = self.births;
            }
        }
        let key = (item.partition, item.id);
        self.items.retain(|old| (old.partition, old.id) != key);
        self.items.push(item);
    }

    pub fn delete(&mut self, partition: u8, id: u8) {
        self.items
            .retain(|item| (item.partition, item.id) != (partition, id));
    }

    /// Removes who died by the horizon, unless the setting was said after it.
    pub fn purge(&mut self, horizon: u64) -> Sum {
        if self.since > horizon {
            return (0, 0);
        }
        let (gone, kept): (Vec<_>, Vec<_>) = self
            .items
            .drain(..)
            .partition(|item| item.died.is_some_and(|died| died <= horizon));
        self.items = kept;
        Self::sum(gone.iter())
    }

    pub fn sum<'a>(items: impl Iterator<Item = &'a Item>) -> Sum {
        items.fold((0, 0), |(items, bytes), item| {
            (items + 1, bytes + item.charged)
        })
    }

    pub fn living(&self) -> Vec<&Item> {
        let mut living: Vec<_> = self
            .items
            .iter()
            .filter(|item| item.died.is_none())
            .collect();
        living.sort_by_key(|item| item.born);
        living
    }

    /// The second in which the next item goes, if nothing is written until then.
    pub fn next_expiry(&self) -> Option<u64> {
        self.living()
            .into_iter()
            .filter_map(|item| Some(item.written + Self::life(self.setting, item.ttl)?))
            .min()
    }
}
