//! The variables of the current row, innermost first.

use lapsedb_value::Value;

use crate::plan::Slot;

/// Some variables and those around them. Scopes live on the stack of the evaluation.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    frame: Frame<'a>,
    outer: ScopeRef<'a>,
}

/// The innermost variables, if there are any.
pub(crate) type ScopeRef<'a> = Option<&'a Scope<'a>>;

#[derive(Clone, Copy)]
enum Frame<'a> {
    One(Slot, &'a Value),
    /// Sorted by slot.
    Many(&'a [(Slot, &'a Value)]),
}

impl<'a> Scope<'a> {
    /// One more variable.
    pub(crate) fn one(slot: Slot, value: &'a Value, outer: ScopeRef<'a>) -> Scope<'a> {
        Scope {
            frame: Frame::One(slot, value),
            outer,
        }
    }

    /// Many more variables, sorted by slot.
    pub(crate) fn many(variables: &'a [(Slot, &'a Value)], outer: ScopeRef<'a>) -> Scope<'a> {
        Scope {
            frame: Frame::Many(variables),
            outer,
        }
    }
}

/// What the variable holds.
pub(super) fn find<'a>(mut scope: ScopeRef<'a>, slot: Slot) -> &'a Value {
    while let Some(inner) = scope {
        match inner.frame {
            Frame::One(known, value) if known == slot => return value,
            Frame::One(..) => {}
            Frame::Many(variables) => {
                let found = variables
                    .binary_search_by_key(&slot, |(known, _)| *known)
                    .ok();
                if let Some((_, value)) = found.and_then(|at| variables.get(at)) {
                    return value;
                }
            }
        }
        scope = inner.outer;
    }
    Value::undefined()
}
