//! Who may do what.

use lapsedb_store::partition_key::PartitionKey;
use lapsedb_store::{Collection, CollectionId};

use crate::error::{Error, Result};

/// Who asks.
#[derive(Clone, Debug)]
pub enum Who {
    /// The holder of the master key.
    Master,
    /// The holder of the read-only key.
    ReadOnly,
    /// The holder of a resource token.
    Token(Grant),
}

/// What a resource token grants.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    /// The database it lies in.
    pub database: u32,
    /// The collection, or the collection of the item or script.
    pub collection: Option<CollectionId>,
    /// One item, by its creation ordinal.
    pub item: Option<u64>,
    /// One logical partition.
    pub partition: Option<PartitionKey>,
    /// Whether it may write.
    pub write: bool,
}

impl Who {
    /// Whether they may read the account's catalog at large.
    ///
    /// # Errors
    /// For holders of resource tokens.
    pub fn may_read_account(&self) -> Result<()> {
        match self {
            Who::Master | Who::ReadOnly => Ok(()),
            Who::Token(_) => Err(insufficient()),
        }
    }

    /// Whether they may change databases, collections, users and offers.
    ///
    /// # Errors
    /// For all but the holder of the master key.
    pub fn may_administer(&self) -> Result<()> {
        match self {
            Who::Master => Ok(()),
            Who::ReadOnly => Err(read_only()),
            Who::Token(_) => Err(insufficient()),
        }
    }

    /// Whether they may read a collection's definition and ranges.
    ///
    /// # Errors
    /// For holders of tokens of other collections.
    pub fn may_read_collection(&self, collection: &Collection) -> Result<()> {
        match self {
            Who::Master | Who::ReadOnly => Ok(()),
            Who::Token(grant) if grant.covers(collection) => Ok(()),
            Who::Token(_) => Err(insufficient()),
        }
    }

    /// Whether they may read items of a partition; of all partitions, if none is named.
    ///
    /// # Errors
    /// For holders of tokens of other collections, partitions or items.
    pub fn may_read_items(
        &self,
        collection: &Collection,
        partition: Option<&PartitionKey>,
    ) -> Result<()> {
        match self {
            Who::Master | Who::ReadOnly => Ok(()),
            Who::Token(grant)
                if grant.covers(collection)
                    && grant.covers_partition(partition)
                    && grant.item.is_none() =>
            {
                Ok(())
            }
            Who::Token(_) => Err(insufficient()),
        }
    }

    /// Whether they may look for an item of a partition at all; which items, [`Who::may_read_item`] says when it is found.
    /// Asked first, so that nobody learns what is there from where they may not look.
    ///
    /// # Errors
    /// For holders of tokens of other collections or partitions.
    pub fn may_look(&self, collection: &Collection, partition: &PartitionKey) -> Result<()> {
        match self {
            Who::Master | Who::ReadOnly => Ok(()),
            Who::Token(grant)
                if grant.covers(collection) && grant.covers_partition(Some(partition)) =>
            {
                Ok(())
            }
            Who::Token(_) => Err(insufficient()),
        }
    }

    /// Whether they may read one item of a partition.
    ///
    /// # Errors
    /// For holders of tokens of other collections, partitions or items.
    pub fn may_read_item(
        &self,
        collection: &Collection,
        partition: &PartitionKey,
        ordinal: u64,
    ) -> Result<()> {
        match self {
            Who::Master | Who::ReadOnly => Ok(()),
            Who::Token(grant)
                if grant.covers(collection)
                    && grant.covers_partition(Some(partition))
                    && grant.item.is_none_or(|item| item == ordinal) =>
            {
                Ok(())
            }
            Who::Token(_) => Err(insufficient()),
        }
    }

    /// Whether there is anything they may write: a batch of someone who may not is refused as a whole.
    ///
    /// # Errors
    /// For holders of the read-only key, and of tokens that only read.
    pub fn may_write_at_all(&self) -> Result<()> {
        match self {
            Who::Master => Ok(()),
            Who::ReadOnly => Err(read_only()),
            Who::Token(grant) if grant.write => Ok(()),
            Who::Token(_) => Err(insufficient()),
        }
    }

    /// Whether they may write items of a partition; of all partitions, and the collection's scripts, if none is named.
    ///
    /// # Errors
    /// For holders of the read-only key, and of tokens that do not cover it.
    pub fn may_write_items(
        &self,
        collection: &Collection,
        partition: Option<&PartitionKey>,
    ) -> Result<()> {
        match self {
            Who::Master => Ok(()),
            Who::ReadOnly => Err(read_only()),
            Who::Token(grant) if grant.write => self.may_read_items(collection, partition),
            Who::Token(_) => Err(insufficient()),
        }
    }

    /// Whether they may write one existing item of a partition.
    ///
    /// # Errors
    /// For holders of the read-only key, and of tokens that do not cover it.
    pub fn may_write_item(
        &self,
        collection: &Collection,
        partition: &PartitionKey,
        ordinal: u64,
    ) -> Result<()> {
        match self {
            Who::Master => Ok(()),
            Who::ReadOnly => Err(read_only()),
            Who::Token(grant) if grant.write => self.may_read_item(collection, partition, ordinal),
            Who::Token(_) => Err(insufficient()),
        }
    }
}

impl Grant {
    fn covers(&self, collection: &Collection) -> bool {
        self.database == collection.database
            && self.collection.is_none_or(|cid| cid == collection.cid)
    }

    fn covers_partition(&self, partition: Option<&PartitionKey>) -> bool {
        match (&self.partition, partition) {
            (None, _) => true,
            (Some(granted), Some(asked)) => asked.components().starts_with(granted.components()),
            (Some(_), None) => false,
        }
    }
}

fn read_only() -> Error {
    Error::forbidden(
        "The given request cannot be authorized: it writes, and the read-only key may only read.",
    )
}

fn insufficient() -> Error {
    Error::forbidden(
        "Insufficient permissions provided in the authorization header for the corresponding request. Please retry with another authorization header.",
    )
}
