//! `GROUP BY`, and aggregates without it.

use std::cmp::Ordering;
use std::collections::HashMap;

use lapsedb_value::Value;
use lapsedb_value::order::compare_sql;

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

    /// All groups, sorted by their keys: the order does not depend on where documents lie.
    pub(super) fn finish(self) -> Vec<Group> {
        let mut keys: Vec<(usize, Key)> =
            self.index.into_iter().map(|(key, at)| (at, key)).collect();
        keys.sort_unstable_by_key(|(at, _)| *at);
        let mut groups: Vec<(Key, Vec<Aggregate>)> = keys
            .into_iter()
            .map(|(_, key)| key)
            .zip(self.states)
            .collect();
        groups.sort_by(|(a, _), (b, _)| {
            let unequal =
                a.0.iter()
                    .zip(&b.0)
                    .map(|(a, b)| compare_sql(a, b))
                    .find(|order| order.is_ne());
            unequal.unwrap_or(Ordering::Equal)
        });
        groups
            .into_iter()
            .map(|(key, states)| {
                key.0
                    .into_iter()
                    .chain(states.into_iter().map(Aggregate::finish))
                    .collect()
            })
            .collect()
    }
}
