//! `$redact`: documents, and the documents inside them, kept or pruned by an expression.

use crate::expressions::{Env, Scope};

use super::*;

/// The expression, whose value is one of three variables.
#[derive(Clone, Debug)]
pub(crate) struct Redact {
    expr: Expr,
}

const DESCEND: &str = "descend";
const PRUNE: &str = "prune";
const KEEP: &str = "keep";

pub(super) fn parse(_: &'static str, spec: &Value, context: &Context<'_>) -> Result<Vec<Stage>> {
    let names = context.names.with("DESCEND").with("PRUNE").with("KEEP");
    let expr = Expr::parse(spec, &names)?;
    Ok(vec![Stage::Redact(Arc::new(Redact { expr }))])
}

pub(super) fn start(redact: &Arc<Redact>, env: Shared) -> Work {
    let variable = |name: &'static str, value: &str| (Str::const_new(name), Value::from(value));
    let env = env.nested(vec![
        variable("DESCEND", DESCEND),
        variable("PRUNE", PRUNE),
        variable("KEEP", KEEP),
    ]);
    Work::Step(Box::new(Redacting {
        redact: Arc::clone(redact),
        env,
    }))
}

struct Redacting {
    redact: Arc<Redact>,
    env: Env,
}

impl Step for Redacting {
    fn push(&mut self, document: Object, out: &mut Vec<Object>) -> Result<Flow> {
        let current = Value::Object(document.clone());
        if let Some(Value::Object(kept)) = self.redact(&document, current)? {
            out.push(kept);
        }
        Ok(Flow::More)
    }
}

impl Redacting {
    /// What is left of an object inside a document; nothing if it is pruned.
    fn redact(&self, root: &Object, current: Value) -> Result<Option<Value>> {
        let decision = {
            let scope = Scope::new(root, &self.env).at(&current);
            self.redact.expr.eval(&scope)?
        };
        match decision.as_str() {
            Some(KEEP) => Ok(Some(current)),
            Some(PRUNE) => Ok(None),
            Some(DESCEND) => {
                let mut kept = Object::new();
                for (name, value) in current.into_object().unwrap_or_default() {
                    if let Some(value) = self.redact_value(root, value)? {
                        kept.push(name, value);
                    }
                }
                Ok(Some(Value::Object(kept)))
            }
            Some(_) | None => Err(MqlError::new(
                17053,
                format!(
                    "$redact's expression should not return anything aside from the variables $$KEEP, $$DESCEND, and $$PRUNE, but returned {decision}"
                ),
            )),
        }
    }

    fn redact_value(&self, root: &Object, value: Value) -> Result<Option<Value>> {
        match value {
            Value::Object(_) => self.redact(root, value),
            Value::Array(elements) => {
                let mut kept = Vec::with_capacity(elements.len());
                for element in elements {
                    kept.extend(self.redact_value(root, element)?);
                }
                Ok(Some(Value::Array(kept)))
            }
            other => Ok(Some(other)),
        }
    }
}
