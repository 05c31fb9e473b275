//! Where in the document a variable or an expression lies.

use std::collections::HashMap;

use lapsedb_value::Value;
use lapsedb_value::path::{Path, Segment};

use crate::plan::{BoundSource, Expr, ExprKind, Slot, SourceKind};

/// The places of variables. An element of an array lies at `[]`, whichever it is.
pub(super) struct Places(HashMap<Slot, Vec<Segment>>);

impl Places {
    pub(super) fn of(sources: &[BoundSource]) -> Places {
        let mut places = Places(HashMap::new());
        for source in sources {
            let at = match &source.kind {
                SourceKind::Container => Some(Vec::new()),
                SourceKind::Value(expr) => places.segments(expr),
                SourceKind::Rows(_) | SourceKind::Feed(_) => None,
            };
            if let Some(mut at) = at {
                if source.iterates {
                    at.push(Segment::Elements);
                }
                places.0.insert(source.slot, at);
            }
        }
        places
    }

    /// The path of an expression, if it is nothing but a path.
    pub(super) fn path(&self, expr: &Expr) -> Option<Path> {
        self.segments(expr).map(Path::new)
    }

    fn segments(&self, expr: &Expr) -> Option<Vec<Segment>> {
        match &expr.kind {
            ExprKind::Slot(slot) => self.0.get(slot).cloned(),
            ExprKind::Member(base, name) => {
                let mut segments = self.segments(base)?;
                segments.push(Segment::Member(name.clone()));
                Some(segments)
            }
            ExprKind::Index(base, index) => {
                let mut segments = self.segments(base)?;
                segments.push(match index.constant()? {
                    Value::String(name) => Segment::Member(name.clone()),
                    number => {
                        number.as_i64()?;
                        Segment::Elements
                    }
                });
                Some(segments)
            }
            _ => None,
        }
    }
}
