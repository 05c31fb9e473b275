//! `$documents`: documents that stand in the pipeline itself.

use crate::expressions::Scope;

use super::*;

/// The documents.
#[derive(Clone, Debug)]
pub(crate) struct Documents {
    documents: Vec<Object>,
}

pub(super) fn parse(_: &'static str, spec: &Value, context: &Context<'_>) -> Result<Vec<Stage>> {
    let root = Object::new();
    let expr = Expr::parse(spec, &context.names)?;
    let value = expr.eval(&Scope::new(&root, &context.options.env))?;
    let refused = |value: &Value| {
        let message = format!(
            "an array is expected for $documents, found {}",
            type_name(value)
        );
        MqlError::new(5858203, message)
    };
    let Value::Array(elements) = value else {
        return Err(refused(&value));
    };
    let object = |element: Value| match element {
        Value::Object(object) => Ok(object),
        other => Err(refused(&other)),
    };
    context.names.keep(context.options.env.budget().scratch())?;
    let documents = elements.into_iter().map(object).collect::<Result<_>>()?;
    Ok(vec![Stage::Documents(Arc::new(Documents { documents }))])
}

pub(super) fn start(documents: &Arc<Documents>, env: Shared) -> Work {
    Work::Step(Box::new(Having {
        documents: Arc::clone(documents),
        memory: Memory::new("$documents", &env),
    }))
}

struct Having {
    documents: Arc<Documents>,
    memory: Memory,
}

impl Step for Having {
    /// No collection is read, so nothing comes.
    fn push(&mut self, _: Object, _: &mut Vec<Object>) -> Result<Flow> {
        Ok(Flow::Enough)
    }

    fn finish(&mut self, out: &mut Vec<Object>) -> Result<()> {
        for document in &self.documents.documents {
            self.memory.add_document(document)?;
            out.push(document.clone());
        }
        Ok(())
    }
}
