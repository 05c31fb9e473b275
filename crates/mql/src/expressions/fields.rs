//! Which members of a document an expression looks at.

use lapsedb_value::Str;

use super::Expr;

impl Expr {
    /// Adds the names of the outermost members that it looks at; false, if it may look at all of them.
    pub(crate) fn fields(&self, names: &mut Vec<Str>) -> bool {
        match self {
            Expr::Literal(_) => true,
            Expr::Path(path) => path.fields(names),
            Expr::Object(members) => members.iter().all(|(_, member)| member.fields(names)),
            Expr::Array(elements) => elements.iter().all(|element| element.fields(names)),
            Expr::Call { args, .. } => args.iter().all(|argument| argument.fields(names)),
            Expr::Named { args, .. } => {
                args.iter().flatten().all(|argument| argument.fields(names))
            }
            Expr::Lazy(_) => false,
        }
    }
}
