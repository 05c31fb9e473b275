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
    if members.len() > COMPARED_MAX {
        let mut seen = HashSet::with_capacity(members.len());
        return members.iter().any(|(name, _)| !seen.insert(name.as_str()));
    }
    // Names are compared only if one with the same sketch has come before.
    let mut sketches = 0u64;
    members.iter().enumerate().any(|(at, (name, _))| {
        let sketch = 1 << sketch(name.as_bytes());
        let may_repeat = sketches & sketch != 0;
        sketches |= sketch;
        may_repeat && members[..at].iter().any(|(other, _)| other == name)
    })
}

/// A number below 64 that is equal for equal names and mostly differs for others.
fn sketch(name: &[u8]) -> u32 {
    let sign = |at: usize| u32::from(name.get(at).copied().unwrap_or_default());
    let (first, middle, last) = (
        sign(0),
        sign(name.len() / 2),
        sign(name.len().saturating_sub(1)),
    );
    (first ^ middle << 2 ^ last << 1 ^ (name.len() as u32) << 3) % 61
}

/// Whether the name may come only once and has come already.
pub(crate) fn is_refused(name: &str, refused: &[&str], members: &[(Str, Value)]) -> bool {
    // The second look happens once per refused name at most: after that it is an error.
    refused.contains(&name) && members.iter().any(|(other, _)| other == name)
}
