//! Members of the same name: which one stays, and which names may not repeat.

use std::collections::{HashMap, HashSet};

use crate::{Str, Value};

/// Up to so many members each is compared with all before it; beyond, names are hashed.
const COMPARED_MAX: usize = 16;

/// Lets the last of several members of a name win, in the place of the first.
///
/// Looks only at the members from `start` on. The hashing is keyed at random, so no choice of
/// names makes this slow.
pub(crate) fn settle_duplicates(members: &mut Vec<(Str, Value)>, start: usize) {
    if !has_duplicates(&members[start..]) {
        return;
    }
    let all = members.split_off(start);
    let mut places: HashMap<Str, usize> = HashMap::with_capacity(all.len());
    for (name, value) in all {
        match places.get(&name) {
            Some(place) => members[*place].1 = value,
            None => {
                places.insert(name.clone(), members.len());
                members.push((name, value));
            }
        }
    }
}

fn has_duplicates(members: &[(Str, Value)]) -> bool {
    if members.len() <= COMPARED_MAX {
        let before = |at: usize| members[..at].iter().map(|(name, _)| name);
        return members
            .iter()
            .enumerate()
            .any(|(at, (name, _))| before(at).any(|other| other == name));
    }
    let mut seen = HashSet::with_capacity(members.len());
    members.iter().any(|(name, _)| !seen.insert(name.as_str()))
}

/// Whether the name may come only once and has come already.
pub(crate) fn is_refused(name: &str, refused: &[&str], members: &[(Str, Value)]) -> bool {
    // The second look happens once per refused name at most: after that it is an error.
    refused.contains(&name) && members.iter().any(|(other, _)| other == name)
}
