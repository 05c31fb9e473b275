//! What has to be known of parts of a pattern before they are compiled.

use std::collections::HashMap;
use std::ptr;

use fancy_regex::{Assertion, Expr};

use super::visits::{Refused, Visits};
use super::width::Width;

/// What holds for every copy of a part.
#[derive(Clone, Copy)]
pub(super) struct Fact {
    /// Groups within it, itself among them if it is one.
    pub(super) groups: usize,
    pub(super) width: Width,
}

/// Facts by the place of a part in memory, which the tree keeps as long as it is borrowed. Each is found out once: a part may be
/// asked about again for every copy of what it is in.
#[derive(Default)]
pub(super) struct Facts {
    known: HashMap<*const Expr, Fact>,
}

impl Facts {
    pub(super) fn of(&mut self, expr: &Expr, visits: &mut Visits<'_>) -> Result<Fact, Refused> {
        visits.count(1)?;
        // Most parts are leaves, of which nothing needs to be remembered.
        if expr.is_leaf_node() {
            let width = Width::of(expr, &[]);
            return Ok(Fact { groups: 0, width });
        }
        if let Some(known) = self.known.get(&ptr::from_ref(expr)) {
            return Ok(*known);
        }
        let mut groups = usize::from(matches!(expr, Expr::Group(_)));
        let mut widths = Vec::new();
        for child in expr.children_iter() {
            let fact = self.of(child, visits)?;
            groups += fact.groups;
            widths.push(fact.width);
        }
        let width = Width::of(expr, &widths);
        let fact = Fact { groups, width };
        self.known.insert(ptr::from_ref(expr), fact);
        Ok(fact)
    }
}

/// Lists groups in the order of their opening brackets, each with the number that the first group within it has.
pub(super) fn number<'a>(
    expr: &'a Expr,
    next: &mut usize,
    groups: &mut Vec<(&'a Expr, usize)>,
    visits: &mut Visits<'_>,
) -> Result<(), Refused> {
    visits.count(1)?;
    if let Expr::Group(inner) = expr {
        *next += 1;
        groups.push((inner.as_ref(), *next));
    }
    for child in expr.children_iter() {
        number(child, next, groups, visits)?;
    }
    Ok(())
}

/// Whether every match begins where the text does.
pub(super) fn begins_text(expr: &Expr, visits: &mut Visits<'_>) -> Result<bool, Refused> {
    visits.count(1)?;
    match expr {
        Expr::Assertion(assertion) => Ok(*assertion == Assertion::StartText),
        Expr::Concat(parts) => match parts.first() {
            Some(part) => begins_text(part, visits),
            None => Ok(false),
        },
        Expr::Group(inner) => begins_text(inner, visits),
        Expr::AtomicGroup(inner) => begins_text(inner, visits),
        Expr::Alt(ways) => {
            for way in ways {
                if !begins_text(way, visits)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => Ok(false),
    }
}
