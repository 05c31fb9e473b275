//! `GROUP BY`, and aggregates without it.

use std::collections::HashMap;

use lapsedb_query::order::identity_bytes;
use lapsedb_value::Value;

use super::Key;
use super::aggregate::Aggregate;
use crate::error::SqlError;
use crate::eval::{Ctx, ScopeRef, eval, own, weight};
use crate::plan::Grouping;

/// The groups seen so far.
pub(super) struct Groups<'q> {
    grouping: &'q Grouping,
    index: HashMap<Key, usize>,
    states: Vec<Vec<Aggregate>>,
}

/// A finished group: the values of its keys, then of its aggregates.
pub(super) type Group = Vec<Value>;

impl<'q> Groups<'q> {
    pub(super) fn new(grouping: &'q Grouping) -> Groups<'q> {
        let mut groups = Groups {
            grouping,
            index: HashMap::new(),
            states: Vec::new(),
        };
        if grouping.keys.is_empty() {
            // Without keys there is one group even if no row ever comes.
            groups.index.insert(Key(Vec::new()), 0);
            groups.states.push(groups.fresh());
        }
        groups
    }

    fn fresh(&self) -> Vec<Aggregate> {
        self.grouping
            .aggregates
            .iter()
            .map(|(_, kind, _)| Aggregate::new(*kind))
            .collect()
    }

    /// Takes one row.
    pub(super) fn add(&mut self, ctx: &Ctx<'_>, scope: ScopeRef<'_>) -> Result<(), SqlError> {
        let mut key = Vec::with_capacity(self.grouping.keys.len());
        for (_, expr) in &self.grouping.keys {
            key.push(own(ctx, eval(ctx, expr, scope)?)?);
        }
        let key = Key(key);
        let at = match self.index.get(&key) {
            Some(at) => *at,
            None => {
                ctx.keep(
                    key.0.iter().map(weight).sum::<u64>()
                        + 64 * (1 + self.grouping.aggregates.len() as u64),
                )?;
                let at = self.states.len();
                self.index.insert(key, at);
                self.states.push(self.fresh());
                at
            }
        };
        let grouping = self.grouping;
        if let Some(states) = self.states.get_mut(at) {
            for ((_, _, argument), state) in grouping.aggregates.iter().zip(states) {
                state.add(ctx, eval(ctx, argument, scope)?)?;
            }
        }
        Ok(())
    }

    /// All groups with their keys as bytes, sorted by them: the order does not depend on where documents lie.
    pub(super) fn finish(self) -> Vec<(Vec<u8>, Group)> {
        let mut keys: Vec<(usize, Key)> =
            self.index.into_iter().map(|(key, at)| (at, key)).collect();
        keys.sort_unstable_by_key(|(at, _)| *at);
        let mut groups: Vec<(Vec<u8>, Group)> = keys
            .into_iter()
            .zip(self.states)
            .map(|((_, key), states)| {
                let mut bytes = Vec::new();
                for value in &key.0 {
                    identity_bytes(value, &mut bytes);
                }
                let values = key.0.into_iter();
                let group = values.chain(states.into_iter().map(Aggregate::finish));
                (bytes, group.collect())
            })
            .collect();
        groups.sort_by(|(a, _), (b, _)| a.cmp(b));
        groups
    }
}
