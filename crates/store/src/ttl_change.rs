//! A changed TTL setting: what a collection's record says of it from a commit on, made and written in one place.

use lapsedb_record::{Eras, Millis, Policy, Secs, Setting};
use lapsedb_value::path::Path;

use crate::MetaChange;
use crate::catalog::{Collection, CollectionBody};
use crate::index::named::NamedIndexes;
use crate::keys::{self, MetaKind};

/// What a collection's record says of times to live: the setting with what it has expired, the settings before it, and the rules
/// of dates. They are written together, or none of them is true.
#[derive(Clone, Debug)]
pub struct TtlChange {
    /// The setting in force.
    pub policy: Policy,
    /// Since when it is in force.
    pub eras: Eras,
    /// The collection's indexes, and where documents have their bases.
    pub indexes: NamedIndexes,
    /// The instant it was made for, if it holds for the second of that alone.
    made: Option<Millis>,
}

impl Collection {
    /// What it says after its setting and the path of its documents' bases were changed, or only one of them, or none. A new
    /// setting may have to wait: see [`NamedIndexes::in_force`].
    #[must_use]
    pub fn ttl_changed(&self, setting: Setting, path: Option<&Path>, now: Millis) -> TtlChange {
        let was = self.policy.setting;
        let era = self.history.eras.changes + 1;
        let indexes = self.indexes.with_ttl(was, (setting, path), era, false);
        let setting = indexes.in_force(setting);
        self.ttl_of(setting, indexes, now)
    }

    /// What it says once all living documents have their bases.
    pub(crate) fn ttl_rebased(&self, now: Millis) -> TtlChange {
        let era = self.history.eras.changes + 1;
        let (indexes, setting) = self.indexes.rebased(era, now.secs());
        self.ttl_of(setting.unwrap_or(self.policy.setting), indexes, now)
    }

    /// What it says with other indexes and no change of its setting.
    pub(crate) fn ttl_kept(&self, indexes: &NamedIndexes) -> TtlChange {
        TtlChange {
            policy: self.policy,
            eras: self.history.eras.clone(),
            indexes: indexes.clone(),
            made: None,
        }
    }

    fn ttl_of(&self, setting: Setting, indexes: NamedIndexes, now: Millis) -> TtlChange {
        let mut change = self.ttl_kept(&indexes);
        let was = self.policy.setting;
        if setting == was && indexes.base() == self.indexes.base() {
            return change;
        }
        change.eras = change.eras.changed(was, now);
        if setting != was {
            change.policy = change.policy.changed(setting, now);
            change.made = Some(now);
        }
        change
    }
}

impl TtlChange {
    /// Writes the record of a collection, with this in place of what it says of times to live.
    pub fn put(&self, body: CollectionBody<'_>, change: &mut MetaChange) {
        if self.eras.begins || self.indexes.buries() {
            change.hold_readers();
        }
        if let Some(made) = self.made {
            // The burial marks are those of this second. An item that ends later, but before the commit, would come back to
            // life: so the commit must fall into the same second, or all is decided anew.
            change.not_after(made.secs().plus(Secs(1)).millis());
        }
        let mut history = body.history;
        history.eras = self.eras.clone();
        let key = keys::meta_numbered(MetaKind::Collection, body.cid.0);
        let body = CollectionBody {
            policy: self.policy,
            history,
            indexes: Some(&self.indexes),
            ..body
        };
        change.put(key, body.into_object());
    }
}
