//! Makes, changes and drops named indexes. Every change is one commit of the collection's record, which all writers check.

use std::sync::Arc;

use lapsedb_kv::{Batch, Engine, Space, prefix_end};
use lapsedb_record::{DateRule, Secs};
use lapsedb_value::Value;

use super::{ENTRIES_FORMAT, IndexDefinition, MadeKeys, NamedIndex, NamedIndexes, PartialFilter};
use crate::catalog::Collection;
use crate::error::{Result, StoreError};
use crate::keys::{self, CollectionId};
use crate::view::View;
use crate::{MetaChange, MetaDone, Store};

/// The most numbers that lengthening an index's life may leave behind before old ones have to be purged.
pub const DATE_NUMBERS_MAX: usize = 1000;

impl Store {
    /// Adds an index to a collection and says its number. Writers obey it at once; queries and expiry have to wait until
    /// [`Store::build_named_index`] has been through the documents that were there before.
    ///
    /// # Errors
    /// [`StoreError::Retry`] when the catalog has changed; otherwise when the filter cannot be read or the engine fails.
    pub async fn create_named_index(
        &self,
        view: &View,
        collection: &Collection,
        definition: IndexDefinition,
    ) -> Result<u32> {
        let mut indexes = NamedIndexes::clone(&collection.indexes);
        let number = self.add_index(&mut indexes, definition, false)?;
        self.change_indexes(view, collection, &indexes).await?;
        Ok(number)
    }

    /// A collection that is not made yet with one more index, which is whole because there are no documents.
    ///
    /// # Errors
    /// When the filter of a partial index cannot be read.
    pub fn with_index(
        &self,
        collection: &Collection,
        definition: IndexDefinition,
    ) -> Result<Collection> {
        let mut indexes = NamedIndexes::clone(&collection.indexes);
        self.add_index(&mut indexes, definition, true)?;
        indexes.rule();
        Ok(Collection {
            indexes: Arc::new(indexes),
            ..collection.clone()
        })
    }

    fn add_index(
        &self,
        indexes: &mut NamedIndexes,
        definition: IndexDefinition,
        whole: bool,
    ) -> Result<u32> {
        let number = indexes.take_number();
        let filter = match &definition.filter {
            Some(expression) => {
                let collation = definition.options.get("collation");
                let collation = collation.and_then(Value::as_object);
                Some(PartialFilter::compile(
                    expression,
                    collation,
                    self.filters(),
                )?)
            }
            None => None,
        };
        let dates = match definition.expire_after {
            Some(_) if definition.holds_dates() => vec![indexes.take_number()],
            Some(_) | None => Vec::new(),
        };
        let made_of = definition.parts.clone();
        let index = NamedIndex {
            number,
            name: definition.name,
            parts: definition.parts,
            unique: definition.unique,
            sparse: definition.sparse,
            hidden: definition.hidden,
            filter,
            expire_after: definition.expire_after,
            made: MadeKeys::of(&made_of, &definition.options, self.filters()),
            options: definition.options,
            whole,
            dates_whole: whole,
            dates,
            format: ENTRIES_FORMAT,
            fold: None,
            wildcard: None,
        };
        indexes.all.push(index.read_with(self.filters())?);
        Ok(number)
    }

    /// Drops an index. What it had ended stays so; everything else lives on. Says whether there was one.
    ///
    /// # Errors
    /// [`StoreError::Retry`] when the catalog has changed; otherwise when the engine fails.
    pub async fn drop_named_index(
        &self,
        view: &View,
        collection: &Collection,
        number: u32,
    ) -> Result<bool> {
        let mut indexes = NamedIndexes::clone(&collection.indexes);
        let Some(at) = indexes.all.iter().position(|index| index.number == number) else {
            return Ok(false);
        };
        let index = indexes.all.remove(at);
        indexes.bury(&index);
        indexes.dropped.push(number);
        self.change_indexes(view, collection, &indexes).await?;
        self.sweep_indexes(collection.cid).await?;
        Ok(true)
    }

    /// Changes how long documents live after their dates. What had ended stays so. An index that ended nothing before has
    /// to be built again for it, see [`NamedIndex::is_unfinished`].
    ///
    /// # Errors
    /// [`StoreError::Retry`] when the catalog has changed; otherwise when the engine fails.
    pub async fn set_expire_after(
        &self,
        view: &View,
        collection: &Collection,
        number: u32,
        life: Secs,
    ) -> Result<()> {
        let mut indexes = NamedIndexes::clone(&collection.indexes);
        if indexes
            .numbered(number)
            .is_some_and(|index| index.dates.len() >= DATE_NUMBERS_MAX)
        {
            indexes = self.without_burials(view, collection).await?;
        }
        let Some(mut index) = indexes.numbered(number).cloned() else {
            return Ok(());
        };
        match index.expire_after {
            None if index.holds_dates() => {
                index.dates = vec![indexes.take_number()];
                // Whole as it may be, no document has its date stored.
                index.dates_whole = false;
            }
            // Nothing expires by it. One by which an earlier version let documents expire has dates, and goes on.
            None => {}
            Some(_) if index.dates.is_empty() => {}
            // What was dead by the longer life is dead by the shorter one too.
            Some(old) if life <= old || !index.dates_whole => {}
            Some(_) => {
                if index.dates.len() >= DATE_NUMBERS_MAX {
                    return Err(StoreError::Engine(format!(
                        "the index `{}` was changed {DATE_NUMBERS_MAX} times; what it had ended must be purged first",
                        index.name
                    )));
                }
                indexes.bury(&index);
                index.dates.push(indexes.take_number());
            }
        }
        index.expire_after = Some(life);
        indexes.replace(index);
        self.change_indexes(view, collection, &indexes).await?;
        Ok(())
    }

    /// Hides an index from queries, or shows it again. It stays unique and goes on ending documents.
    ///
    /// # Errors
    /// [`StoreError::Retry`] when the catalog has changed; otherwise when the engine fails.
    pub async fn set_hidden(
        &self,
        view: &View,
        collection: &Collection,
        number: u32,
        hidden: bool,
    ) -> Result<()> {
        let mut indexes = NamedIndexes::clone(&collection.indexes);
        if let Some(index) = indexes.numbered(number).cloned() {
            indexes.replace(NamedIndex { hidden, ..index });
            self.change_indexes(view, collection, &indexes).await?;
        }
        Ok(())
    }

    /// Says that indexes have been built, each with the numbers of its dates that were known then.
    pub(super) async fn finish_indexes(
        &self,
        cid: CollectionId,
        built: &[(u32, Vec<u32>)],
    ) -> Result<()> {
        let view = self.view().await?;
        let Some(collection) = view.catalog().collection_numbered(cid) else {
            return Ok(());
        };
        let mut indexes = NamedIndexes::clone(&collection.indexes);
        let mut any = false;
        for (number, dates) in built {
            let index = collection.indexes.numbered(*number);
            let Some(index) = index.filter(|index| index.is_unfinished()) else {
                continue;
            };
            any = true;
            indexes.replace(NamedIndex {
                whole: true,
                dates_whole: index.dates_whole
                    || (index.expire_after.is_some() && index.dates == *dates),
                ..index.clone()
            });
        }
        if any {
            self.change_indexes(&view, collection, &indexes).await?;
        }
        Ok(())
    }

    /// Forgets the burials under which nothing lies any more, and the numbers that no document has.
    ///
    /// # Errors
    /// When the engine fails.
    pub(crate) async fn forget_burials(&self, view: &View, collection: &Collection) -> Result<()> {
        let indexes = self.without_burials(view, collection).await?;
        let numbers = |indexes: &NamedIndexes| -> usize {
            let dates: usize = indexes.all.iter().map(|index| index.dates.len()).sum();
            dates + indexes.base_numbers().count()
        };
        if indexes.buried.len() == collection.indexes.buried.len()
            && numbers(&indexes) == numbers(&collection.indexes)
        {
            return Ok(());
        }
        match self.change_indexes(view, collection, &indexes).await {
            // It will be seen again.
            Ok(_) | Err(StoreError::Retry) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// A collection's indexes without the burials and numbers that mean nothing any more.
    async fn without_burials(&self, view: &View, collection: &Collection) -> Result<NamedIndexes> {
        let mut indexes = NamedIndexes::clone(&collection.indexes);
        for (number, date) in &collection.indexes.buried {
            if view.dates_are_empty(collection.cid, *number, *date).await? {
                indexes.buried.remove(number);
            }
        }
        for index in &mut indexes.all {
            let Some((current, older)) = index.dates.split_last() else {
                continue;
            };
            let mut kept = Vec::with_capacity(index.dates.len());
            for number in older {
                if !view
                    .dates_are_empty(collection.cid, *number, i64::MAX)
                    .await?
                {
                    kept.push(*number);
                }
            }
            kept.push(*current);
            index.dates = kept;
        }
        for numbers in collection.indexes.spent_numbers() {
            let mut empty = true;
            for number in numbers {
                let none = view.dates_are_empty(collection.cid, number, i64::MAX);
                empty = empty && none.await?;
            }
            if empty {
                indexes.forget_numbers(numbers);
            }
        }
        Ok(indexes)
    }

    /// Removes what indexes that are gone have left.
    ///
    /// # Errors
    /// When the engine fails.
    pub async fn sweep_indexes(&self, cid: CollectionId) -> Result<()> {
        let view = self.view().await?;
        let Some(collection) = view.catalog().collection_numbered(cid) else {
            return Ok(());
        };
        // Whoever wrote by the older record has committed before it was replaced, or never will.
        for number in &collection.indexes.dropped {
            let stem = keys::named_stem(cid, *number);
            let unique = keys::named_unique_prefix(cid, *number);
            for (space, prefix) in [(Space::Index, stem), (Space::Unique, unique)] {
                let end = prefix_end(&prefix);
                self.engine().drop_range(space, &prefix, &end).await?;
            }
            let mut batch = Batch::new();
            for note in view.index_notes(collection, *number).await?.keys {
                batch.delete(Space::Meta, note);
            }
            self.engine().commit(batch).await?;
        }
        if collection.indexes.dropped.is_empty() {
            return Ok(());
        }
        let mut indexes = NamedIndexes::clone(&collection.indexes);
        indexes.dropped.clear();
        match self.change_indexes(&view, collection, &indexes).await {
            // It will be done again.
            Ok(_) | Err(StoreError::Retry) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn change_indexes(
        &self,
        view: &View,
        collection: &Collection,
        indexes: &NamedIndexes,
    ) -> Result<MetaDone> {
        let mut body = collection.body();
        // Whom this ends or buries gets its grace from this moment on: clients take the collection for changed.
        if indexes.ends_more_than(&collection.indexes) {
            body.history.shown = None;
        }
        let mut change = MetaChange::default();
        collection.ttl_kept(indexes).put(body, &mut change);
        self.change_catalog(view, change).await
    }
}

impl NamedIndexes {
    /// Whether documents end, or stay ended, by what these say and the older ones did not.
    fn ends_more_than(&self, older: &NamedIndexes) -> bool {
        let lives = |indexes: &NamedIndexes| -> Vec<_> {
            let ending = indexes.all.iter();
            let ending = ending.filter(|index| index.dates_whole && !index.dates.is_empty());
            ending
                .map(|index| (index.number, index.expire_after))
                .collect()
        };
        let before = lives(older);
        let more = |life: &(u32, Option<Secs>)| !before.contains(life);
        self.buries() || lives(self).iter().any(more)
    }

    pub(super) fn take_number(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// Buries what an index has ended by the time of the next commit.
    fn bury(&mut self, index: &NamedIndex) {
        let Some(life) = index.expire_after.filter(|_| index.dates_whole) else {
            return;
        };
        let life = i64::try_from(life.millis().0).unwrap_or(i64::MAX);
        for number in &index.dates {
            self.burying.insert(*number, life);
        }
    }

    /// Buries what a rule has ended by the time of the next commit.
    pub(super) fn bury_number(&mut self, rule: &DateRule) {
        if let Some(life) = rule.life {
            let life = i64::try_from(life.millis().0).unwrap_or(i64::MAX);
            self.burying.insert(rule.number, life);
        }
    }

    fn replace(&mut self, index: NamedIndex) {
        for old in &mut self.all {
            if old.number == index.number {
                *old = index;
                return;
            }
        }
    }
}
