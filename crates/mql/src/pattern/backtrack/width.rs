//! How many characters parts of a pattern match.

use fancy_regex::Expr;

/// At least and at most so many; nothing for the most if there is no bound, or none that can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Width {
    pub(super) least: usize,
    pub(super) most: Option<usize>,
}

impl Width {
    const ZERO: Width = Width::exactly(0);
    const UNKNOWN: Width = Width {
        least: 0,
        most: None,
    };

    const fn exactly(chars: usize) -> Width {
        Width {
            least: chars,
            most: Some(chars),
        }
    }

    fn then(self, next: Width) -> Width {
        Width {
            least: self.least.saturating_add(next.least),
            most: self
                .most
                .zip(next.most)
                .map(|(one, other)| one.saturating_add(other)),
        }
    }

    fn or(self, other: Width) -> Width {
        Width {
            least: self.least.min(other.least),
            most: self.most.zip(other.most).map(|(one, other)| one.max(other)),
        }
    }

    fn times(self, least: usize, most: usize) -> Width {
        let bound = match (self.most, most) {
            (Some(0), _) => Some(0),
            (_, usize::MAX) => None,
            (Some(each), most) => Some(each.saturating_mul(most)),
            (None, _) => None,
        };
        Width {
            least: self.least.saturating_mul(least),
            most: bound,
        }
    }

    /// From the widths of what is immediately within it.
    pub(super) fn of(expr: &Expr, parts: &[Width]) -> Width {
        match expr {
            Expr::Empty
            | Expr::Assertion(_)
            | Expr::LookAround(..)
            | Expr::KeepOut
            | Expr::ContinueFromPreviousMatchEnd
            | Expr::BackrefExistsCondition { .. }
            | Expr::BacktrackingControlVerb(_)
            | Expr::DefineGroup { .. } => Width::ZERO,
            Expr::Any { .. } | Expr::Delegate { .. } => Width::exactly(1),
            Expr::Literal { val, .. } => Width::exactly(val.chars().count()),
            Expr::GeneralNewline { .. } => Width::exactly(1).or(Width::exactly(2)),
            Expr::Concat(_) | Expr::Group(_) | Expr::AtomicGroup(_) => {
                parts.iter().copied().fold(Width::ZERO, Width::then)
            }
            Expr::Alt(_) => parts
                .iter()
                .copied()
                .reduce(Width::or)
                .unwrap_or(Width::ZERO),
            Expr::Repeat { lo, hi, .. } => match parts {
                [child] => child.times(*lo, *hi),
                _ => Width::UNKNOWN,
            },
            Expr::Conditional { .. } => match parts {
                [condition, yes, no] => condition.then(*yes).or(*no),
                _ => Width::UNKNOWN,
            },
            Expr::LiteralBytes { .. }
            | Expr::Backref { .. }
            | Expr::BackrefWithRelativeRecursionLevel { .. }
            | Expr::SubroutineCall(_)
            | Expr::Absent(_)
            | Expr::AstNode(..) => Width::UNKNOWN,
        }
    }
}
