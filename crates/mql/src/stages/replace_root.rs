//! `$replaceRoot`: another document in place of each.

use crate::expressions::{Env, Scope};

use super::*;

/// The expression of the new document, and what errors call it.
#[derive(Clone, Debug)]
pub(crate) struct ReplaceRoot {
    pub(super) name: &'static str,
    pub(super) root: Expr,
}

pub(super) fn parse(
    stage: &'static str,
    spec: &Value,
    context: &Context<'_>,
) -> Result<Vec<Stage>> {
    let message = "expected an object as specification for $replaceRoot stage";
    let object = object_of(40229, spec, message)?;
    if let Some(name) = object.keys().find(|name| *name != "newRoot") {
        return Err(unknown_field(stage, name));
    }
    let root = object
        .get("newRoot")
        .ok_or_else(|| missing_field(stage, "newRoot"))?;
    Ok(vec![Stage::ReplaceRoot(Arc::new(ReplaceRoot {
        name: "'newRoot' expression ",
        root: Expr::parse(root, &context.names)?,
    }))])
}

impl ReplaceRoot {
    pub(super) fn apply(&self, document: &Object, env: &Env) -> Result<Object> {
        match self.root.eval(&Scope::new(document, env))? {
            Value::Object(object) => Ok(object),
            other => {
                let shown = match &other {
                    Value::Undefined => "MISSING".to_owned(),
                    other => other.to_string(),
                };
                let message = format!(
                    "{} must evaluate to an object, but resulting value was: {shown}. Type of resulting value: '{}'.",
                    self.name,
                    type_name(&other)
                );
                Err(MqlError::new(40228, message))
            }
        }
    }
}

pub(super) fn start(replace: &Arc<ReplaceRoot>, env: Shared) -> Work {
    Work::Step(Box::new(Replacing {
        replace: Arc::clone(replace),
        env,
    }))
}

struct Replacing {
    replace: Arc<ReplaceRoot>,
    env: Shared,
}

impl Step for Replacing {
    fn push(&mut self, document: Object, out: &mut Vec<Object>) -> Result<Flow> {
        out.push(self.replace.apply(&document, &self.env)?);
        Ok(Flow::More)
    }
}
