//! The changes of an update, sorted by the paths they speak of.
//!
//! Paths that meet are one branch, so that a document is walked once, and so that two changes at one place are found before
//! any document is.

use std::cmp::Ordering;

use lapsedb_value::Str;

use super::modifiers::Modifier;
use crate::{MqlError, Result};

/// Names that an update's path may have, so that what it makes can be stored.
const STEPS_MAX: usize = 180;

/// What happens at a place of a document.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    /// A change of the value itself.
    Leaf(Modifier),
    /// Changes of members, or of elements by their positions; and of the element that the filter found.
    Members {
        named: Vec<(Str, Tree)>,
        matched: Option<Box<Tree>>,
    },
    /// Changes of elements by array filters; the empty name is `$[]`, all of them.
    Elements(Vec<(Str, Tree)>),
}

/// One step of an update's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    Name(&'a str),
    /// `$`.
    Matched,
    /// `$[]` or `$[name]`.
    Filtered(&'a str),
}

impl Tree {
    pub(crate) fn new() -> Tree {
        Tree::Members {
            named: Vec::new(),
            matched: None,
        }
    }

    /// Puts a change at a path; code 40 if there is one already, at it, above it or below it.
    pub(crate) fn insert(&mut self, path: &str, modifier: Modifier) -> Result<()> {
        let steps = steps(path)?;
        let mut tree = self;
        for (depth, step) in steps.iter().enumerate() {
            tree = match tree.branch(step, steps.get(depth + 1)) {
                Some(branch) => branch,
                None => return Err(conflict(path, depth + 1)),
            };
        }
        match tree {
            Tree::Members { named, matched } if named.is_empty() && matched.is_none() => {
                *tree = Tree::Leaf(modifier);
                Ok(())
            }
            _ => Err(conflict(path, steps.len())),
        }
    }

    /// The branch behind a step, made if there is none; nothing if another change stands in the way.
    fn branch(&mut self, step: &Step<'_>, next: Option<&Step<'_>>) -> Option<&mut Tree> {
        let empty = match next {
            Some(Step::Filtered(_)) => Tree::Elements(Vec::new()),
            Some(Step::Name(_) | Step::Matched) | None => Tree::new(),
        };
        let branch = match (self, step) {
            (Tree::Members { named, .. }, Step::Name(name)) => {
                let at = named
                    .binary_search_by(|(known, _)| compare_names(known, name))
                    .unwrap_or_else(|at| {
                        named.insert(at, (Str::new(name), empty.clone()));
                        at
                    });
                named.get_mut(at).map(|(_, branch)| branch)
            }
            (Tree::Members { matched, .. }, Step::Matched) => {
                Some(&mut **matched.get_or_insert_with(|| Box::new(empty.clone())))
            }
            (Tree::Elements(filtered), Step::Filtered(name)) => {
                let at = filtered
                    .binary_search_by(|(known, _)| known.as_str().cmp(name))
                    .unwrap_or_else(|at| {
                        filtered.insert(at, (Str::new(name), empty.clone()));
                        at
                    });
                filtered.get_mut(at).map(|(_, branch)| branch)
            }
            _ => None,
        }?;
        // A branch must be of the kind that the next step needs.
        let fits = match (&*branch, next) {
            (Tree::Leaf(_), _) => next.is_none(),
            (Tree::Elements(_), Some(Step::Filtered(_)) | None) => true,
            (Tree::Members { .. }, Some(Step::Name(_) | Step::Matched) | None) => true,
            (Tree::Elements(_) | Tree::Members { .. }, Some(_)) => false,
        };
        fits.then_some(branch)
    }

    /// Both trees as one; code 40 where both change the same place.
    pub(crate) fn merged(&self, other: &Tree, path: &str) -> Result<Tree> {
        match (self, other) {
            (
                Tree::Members {
                    named: a,
                    matched: matched_a,
                },
                Tree::Members {
                    named: b,
                    matched: matched_b,
                },
            ) => Ok(Tree::Members {
                named: merge_lists(a, b, path, compare_names)?,
                matched: match (matched_a, matched_b) {
                    (Some(a), Some(b)) => Some(Box::new(a.merged(b, &format!("{path}.$"))?)),
                    (Some(one), None) | (None, Some(one)) => Some(one.clone()),
                    (None, None) => None,
                },
            }),
            (Tree::Elements(a), Tree::Elements(b)) => {
                Ok(Tree::Elements(merge_lists(a, b, path, |a, b| a.cmp(b))?))
            }
            _ => Err(MqlError::new(
                40,
                format!("Update created a conflict at '{path}'"),
            )),
        }
    }

    /// The changes in their order.
    pub(crate) fn leaves<'t>(&'t self, found: &mut Vec<&'t Modifier>) {
        match self {
            Tree::Leaf(modifier) => found.push(modifier),
            Tree::Members { named, matched } => {
                named.iter().for_each(|(_, tree)| tree.leaves(found));
                matched.iter().for_each(|tree| tree.leaves(found));
            }
            Tree::Elements(filtered) => filtered.iter().for_each(|(_, tree)| tree.leaves(found)),
        }
    }
}

fn merge_lists(
    a: &[(Str, Tree)],
    b: &[(Str, Tree)],
    path: &str,
    compare: impl Fn(&str, &str) -> Ordering,
) -> Result<Vec<(Str, Tree)>> {
    let mut merged = a.to_vec();
    for (name, tree) in b {
        match merged.binary_search_by(|(known, _)| compare(known, name)) {
            Ok(at) => {
                if let Some((_, known)) = merged.get_mut(at) {
                    *known = known.merged(tree, &format!("{path}.{name}"))?;
                }
            }
            Err(at) => merged.insert(at, (name.clone(), tree.clone())),
        }
    }
    Ok(merged)
}

fn conflict(path: &str, depth: usize) -> MqlError {
    let names: Vec<&str> = path.split('.').take(depth).collect();
    MqlError::new(
        40,
        format!(
            "Updating the path '{path}' would create a conflict at '{}'",
            names.join(".")
        ),
    )
}

/// The order in which new members are added: numbers by value, then names by bytes.
pub(crate) fn compare_names(a: &str, b: &str) -> Ordering {
    match (number(a), number(b)) {
        (Some(x), Some(y)) => x.cmp(&y).then_with(|| a.cmp(b)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

fn number(name: &str) -> Option<u64> {
    match name.bytes().all(|byte| byte.is_ascii_digit()) {
        true => name.parse().ok(),
        false => None,
    }
}

/// Takes an update's path apart and checks its form.
pub(crate) fn steps(path: &str) -> Result<Vec<Step<'_>>> {
    if path.is_empty() {
        return Err(MqlError::new(56, "An empty update path is not valid."));
    }
    let steps: Vec<Step<'_>> = path.split('.').take(STEPS_MAX + 1).map(step).collect();
    if steps.len() > STEPS_MAX {
        return Err(MqlError::new(
            15,
            format!("The update path is too long: more than {STEPS_MAX} names"),
        ));
    }
    if steps.contains(&Step::Name("")) {
        return Err(MqlError::new(
            56,
            format!("The update path '{path}' contains an empty field name, which is not allowed."),
        ));
    }
    let refuse = |text: String| Err(MqlError::bad_value(text));
    match steps.first() {
        Some(Step::Matched) => {
            return refuse(format!(
                "Cannot have positional (i.e. '$') element in the first position in path '{path}'"
            ));
        }
        Some(Step::Filtered(_)) => {
            return refuse(format!(
                "Cannot have array filter identifier (i.e. '$[<id>]') element in the first position in path '{path}'"
            ));
        }
        Some(Step::Name(_)) | None => {}
    }
    match steps.iter().filter(|step| **step == Step::Matched).count() {
        0 | 1 => Ok(steps),
        _ => refuse(format!(
            "Too many positional (i.e. '$') elements found in path '{path}'"
        )),
    }
}

fn step(name: &str) -> Step<'_> {
    let filtered = name
        .strip_prefix("$[")
        .and_then(|rest| rest.strip_suffix(']'));
    match (name, filtered) {
        ("$", _) => Step::Matched,
        (_, Some(identifier)) => Step::Filtered(identifier),
        (_, None) => Step::Name(name),
    }
}
