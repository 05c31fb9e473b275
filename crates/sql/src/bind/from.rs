//! `FROM` and `JOIN`.

use lapsedb_value::{Str, Value};

use super::{Alias, Binder, Place, single_value};
use crate::ast::{Collection, Query, Source, Step};
use crate::error::SqlError;
use crate::plan::{BoundQuery, BoundSource, Expr, ExprKind, Slot, SourceKind};
use crate::span::Span;

impl Binder<'_> {
    /// Binds the sources in order; each sees the names of those before it.
    pub(super) fn from(
        &mut self,
        sources: &[Source],
        place: Place,
    ) -> Result<Vec<BoundSource>, SqlError> {
        let own_names = self.scope.len();
        let mut bound = Vec::with_capacity(sources.len() + 1);
        for (index, source) in sources.iter().enumerate() {
            let reads_container = index == 0 && place != Place::Nested;
            match &source.collection {
                Collection::Query(query) => {
                    let query = self.query(
                        query,
                        if reads_container {
                            Place::Feed
                        } else {
                            Place::Nested
                        },
                    )?;
                    bound.push(self.subquery_source(source, query));
                }
                Collection::Path { root, steps } if reads_container => {
                    let container = self.new_slot();
                    self.origins.insert(container, Vec::new());
                    bound.push(BoundSource {
                        slot: container,
                        kind: SourceKind::Container,
                        iterates: false,
                    });
                    if steps.is_empty() && !source.iterates {
                        self.declare(
                            own_names,
                            Some(self::name_of(source, &root.text, steps)),
                            container,
                            source,
                        )?;
                    } else {
                        bound.push(
                            self.path_source(own_names, source, container, &root.text, steps)?,
                        );
                    }
                }
                Collection::Path { root, steps } => {
                    let slot = self
                        .find(&root.text)
                        .ok_or_else(|| SqlError::unresolved(&root.text, root.span))?;
                    if index > 0 && steps.is_empty() && !source.iterates {
                        return Err(self_join(source.span));
                    }
                    bound.push(self.path_source(own_names, source, slot, &root.text, steps)?);
                }
            }
        }
        Ok(bound)
    }

    /// A source that is a part of an earlier variable.
    fn path_source(
        &mut self,
        own_names: usize,
        source: &Source,
        root: Slot,
        root_name: &Str,
        steps: &[Step],
    ) -> Result<BoundSource, SqlError> {
        let expr = steps.iter().fold(
            Expr::new(ExprKind::Slot(root), source.span),
            |base, step| {
                let kind = match step {
                    Step::Member(name) => ExprKind::Member(Box::new(base), name.clone()),
                    Step::Index(index) => {
                        let index = ExprKind::Constant(Value::number(*index as f64));
                        ExprKind::Index(Box::new(base), Box::new(Expr::new(index, source.span)))
                    }
                };
                Expr::new(kind, source.span)
            },
        );
        let slot = self.new_slot();
        if !source.iterates
            && let Some(path) = self.path(&expr)
        {
            self.origins.insert(slot, path);
        }
        let name = match (&source.alias, steps.last()) {
            (None, Some(Step::Index(_))) => None,
            _ => Some(name_of(source, root_name, steps)),
        };
        self.declare(own_names, name, slot, source)?;
        Ok(BoundSource {
            slot,
            kind: SourceKind::Value(expr),
            iterates: source.iterates,
        })
    }

    fn subquery_source(&mut self, source: &Source, query: BoundQuery) -> BoundSource {
        let slot = self.new_slot();
        // Rows that are whole parts of a document keep their path: it can be ordered and filtered by.
        if query.grouping.is_none()
            && !source.iterates
            && let Some(path) = single_value(&query.projection).and_then(|expr| self.path(expr))
        {
            self.origins.insert(slot, path);
        }
        self.scope.push(Alias {
            name: source.alias.as_ref().map(|alias| alias.text.clone()),
            slot,
        });
        let query = Box::new(query);
        let kind = if query.reads_container() {
            SourceKind::Feed(query)
        } else {
            SourceKind::Rows(query)
        };
        BoundSource {
            slot,
            kind,
            iterates: source.iterates,
        }
    }

    /// Brings a name into scope; one `FROM` clause may not say it twice.
    fn declare(
        &mut self,
        own_names: usize,
        name: Option<Str>,
        slot: Slot,
        source: &Source,
    ) -> Result<(), SqlError> {
        let taken = self
            .scope
            .iter()
            .skip(own_names)
            .any(|alias| name.is_some() && alias.name == name);
        if taken {
            let name = name.unwrap_or_default();
            // The service's code for this text is not known.
            let message =
                format!("The input alias '{name}' is specified more than once in the FROM clause.");
            return Err(SqlError::new("SC2001", message, source.span));
        }
        self.scope.push(Alias { name, slot });
        Ok(())
    }
}

/// The name a source goes by: its alias, or the last name of its path.
fn name_of(source: &Source, root: &Str, steps: &[Step]) -> Str {
    match (&source.alias, steps.last()) {
        (Some(alias), _) => alias.text.clone(),
        (None, Some(Step::Member(name))) => name.clone(),
        (None, Some(Step::Index(_)) | None) => root.clone(),
    }
}

fn self_join(span: Span) -> SqlError {
    // The service's code for this text is not known.
    SqlError::new(
        "SC2001",
        "A self-join is not supported: JOIN must name a part of an earlier source.",
        span,
    )
}

impl Source {
    /// Whether the source is a subquery.
    pub fn is_query(&self) -> bool {
        matches!(self.collection, Collection::Query(_))
    }

    /// The subquery it reads, if it is one.
    pub fn query(&self) -> Option<&Query> {
        match &self.collection {
            Collection::Query(query) => Some(query),
            Collection::Path { .. } => None,
        }
    }
}
