//! `$meta`: what the search for a document left beside it.

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

/// What can be asked; what nothing here leaves is always missing.
#[derive(Clone, Copy, Debug)]
enum Meta {
    TextScore,
    Distance,
    Point,
    Missing,
}

fn parse(_: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    let Some(kind) = spec.as_str() else {
        return Err(MqlError::new(17307, "$meta only supports string arguments"));
    };
    let known = names.metas();
    let (meta, is_known, what) = match kind {
        "textScore" => (Meta::TextScore, known.text_score, "text score"),
        "geoNearDistance" => (Meta::Distance, known.distance, "$geoNear distance"),
        "geoNearPoint" => (Meta::Point, known.distance, "$geoNear point"),
        "indexKey" | "randVal" | "recordId" | "searchHighlights" | "searchScore" | "sortKey" => {
            (Meta::Missing, true, "")
        }
        _ => {
            let message = format!("Unsupported argument to $meta: {kind}");
            return Err(MqlError::new(17308, message));
        }
    };
    match is_known {
        true => Ok(Expr::lazy(meta)),
        false => Err(unavailable(what)),
    }
}

/// What was asked is not known here.
pub(crate) fn unavailable(what: &str) -> MqlError {
    let message = format!("query requires {what} metadata, but it is not available");
    MqlError::new(40218, message)
}

impl Operator for Meta {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        let beside = scope.env().beside();
        let number = |number: Option<f64>| number.map_or(Value::Undefined, Value::Double);
        Ok(match self {
            Meta::TextScore => number(beside.score),
            Meta::Distance => number(beside.distance),
            Meta::Point => beside.point.unwrap_or(Value::Undefined),
            Meta::Missing => Value::Undefined,
        })
    }
}
