//! `FROM` and `JOIN`.

use lapsedb_value::{Str, Value};

use super::{Alias, Binder, Place, single_value};
use crate::ast::{Collection, Name, Query, Source, Step};
use crate::error::SqlError;
use crate::limits::{JOINS_LOOKED_AT_MAX, JOINS_MAX};
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
        self.joins += sources.len().saturating_sub(1);
        if self.joins > JOINS_LOOKED_AT_MAX {
            let span = sources
                .last()
                .map_or_else(Span::default, |source| source.span);
            return Err(SqlError::too_many_joins(JOINS_MAX, span));
        }
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
                    bound.push(self.subquery_source(own_names, source, query)?);
                }
                Collection::Path { root, steps, span } if reads_container => {
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
                        bound.push(self.path_source(
                            own_names,
                            source,
                            container,
                            (root, steps, *span),
                        )?);
                    }
                }
                Collection::Path { root, steps, span } => {
                    let slot = self
                        .find(&root.text)
                        .ok_or_else(|| SqlError::unresolved(&root.text, root.span))?;
                    let path = (root, steps.as_slice(), *span);
                    bound.push(self.path_source(own_names, source, slot, path)?);
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
        (root_name, steps, span): (&Name, &[Step], Span),
    ) -> Result<BoundSource, SqlError> {
        let expr = steps
            .iter()
            .fold(Expr::new(ExprKind::Slot(root), span), |base, step| {
                let kind = match step {
                    Step::Member(name) => ExprKind::Member(Box::new(base), name.clone()),
                    Step::Index(index) => {
                        let index = ExprKind::Constant(Value::number(*index as f64));
                        ExprKind::Index(Box::new(base), Box::new(Expr::new(index, span)))
                    }
                };
                Expr::new(kind, span)
            });
        let slot = self.new_slot();
        if !source.iterates
            && let Some(path) = self.path(&expr)
        {
            self.origins.insert(slot, path);
        }
        let name = match (&source.alias, steps.last()) {
            (None, Some(Step::Index(_))) => None,
            _ => Some(name_of(source, &root_name.text, steps)),
        };
        self.declare(own_names, name, slot, source)?;
        Ok(BoundSource {
            slot,
            kind: SourceKind::Value(expr),
            iterates: source.iterates,
        })
    }

    fn subquery_source(
        &mut self,
        own_names: usize,
        source: &Source,
        query: BoundQuery,
    ) -> Result<BoundSource, SqlError> {
        let slot = self.new_slot();
        // Rows that are whole parts of a document keep their path: it can be ordered and filtered by.
        if query.grouping.is_none()
            && !source.iterates
            && let Some(path) = single_value(&query.projection).and_then(|expr| self.path(expr))
        {
            self.origins.insert(slot, path);
        }
        let name = source.alias.as_ref().map(|alias| alias.text.clone());
        self.declare(own_names, name, slot, source)?;
        let query = Box::new(query);
        let kind = if query.reads_container() {
            SourceKind::Feed(query)
        } else {
            SourceKind::Rows(query)
        };
        Ok(BoundSource {
            slot,
            kind,
            iterates: source.iterates,
        })
    }

    /// Brings a name into scope; one `FROM` clause may not say it twice, nor an alias in a subquery again what is around it.
    fn declare(
        &mut self,
        own_names: usize,
        name: Option<Str>,
        slot: Slot,
        source: &Source,
    ) -> Result<(), SqlError> {
        // A name that comes from a path may hide another one, and `FROM c c` says what is so already.
        let around = if source.renames() { 0 } else { own_names };
        let taken = self
            .scope
            .iter()
            .skip(around)
            .any(|alias| name.is_some() && alias.name == name);
        if taken {
            let span = source
                .alias
                .as_ref()
                .map_or(source.span, |alias| alias.span);
            return Err(SqlError::alias_twice(&name.unwrap_or_default(), span));
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

impl Source {
    /// Whether the source is a subquery.
    pub fn is_query(&self) -> bool {
        matches!(self.collection, Collection::Query(_))
    }

    /// Whether it gives what it reads another name.
    fn renames(&self) -> bool {
        let Some(alias) = &self.alias else {
            return false;
        };
        match &self.collection {
            Collection::Path { root, steps, .. } => {
                self.iterates || !steps.is_empty() || root.text != alias.text
            }
            Collection::Query(_) => true,
        }
    }

    /// The subquery it reads, if it is one.
    pub fn query(&self) -> Option<&Query> {
        match &self.collection {
            Collection::Query(query) => Some(query),
            Collection::Path { .. } => None,
        }
    }
}
