//! Documents to filters.

use std::sync::Arc;

use lapsedb_value::{Budget, Object, Value};

use super::Options;
use super::geo::{GeoTest, Near};
use super::node::Node;
use super::operators::Test;
use super::operators::bits::{Bits, Quantity};
use super::operators::compare::{Compare, Op};
use super::operators::elem_match::ElemMatch;
use super::operators::in_list::InList;
use super::operators::modulo::Modulo;
use super::operators::regex::RegexTest;
use super::operators::size::Size;
use super::operators::type_is::TypeIs;
use super::path::FieldPath;
use super::pathless::equalities_of;
use super::pathless::{self, Expression};
use super::schema::Schema;
use crate::expressions::Expr;
use crate::text::Search;
use crate::values::is_true;
use crate::{MqlError, Result};

/// Levels a filter may nest, as documents do.
const DEPTH_MAX: usize = 100;

/// What is known while a filter is read.
pub(crate) struct Parser<'a> {
    pub(crate) options: &'a Options,
    in_element: bool,
    depth: usize,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(options: &'a Options) -> Parser<'a> {
        Parser {
            options,
            in_element: false,
            depth: 0,
        }
    }

    /// The reader for what stands inside `$elemMatch`.
    pub(crate) fn inside_element(&self) -> Parser<'a> {
        Parser {
            options: self.options,
            in_element: true,
            depth: self.depth + 1,
        }
    }

    fn deeper(&self) -> Result<Parser<'a>> {
        match self.depth < DEPTH_MAX {
            true => Ok(Parser {
                options: self.options,
                in_element: self.in_element,
                depth: self.depth + 1,
            }),
            false => Err(MqlError::bad_value(format!(
                "exceeded maximum query tree depth of {DEPTH_MAX}"
            ))),
        }
    }

    /// Reads a whole filter.
    pub(crate) fn object(&self, filter: &Object) -> Result<Node> {
        let mut parts = Vec::with_capacity(filter.len());
        for (name, value) in filter {
            match name.strip_prefix('$') {
                Some(_) => self.pathless(name, value, &mut parts)?,
                None => parts.push(self.field(name, value)?),
            }
        }
        Ok(all_of(parts))
    }

    fn pathless(&self, name: &str, value: &Value, parts: &mut Vec<Node>) -> Result<()> {
        match name {
            "$and" => parts.push(all_of(self.list(name, value)?)),
            "$or" => parts.push(Node::Or(self.list(name, value)?)),
            "$nor" => parts.push(Node::Nor(self.list(name, value)?)),
            "$comment" => {}
            "$expr" | "$sampleRate" | "$jsonSchema" | "$text" | "$where" if self.in_element => {
                return Err(MqlError::bad_value(format!(
                    "{name} can only be applied to the top-level document"
                )));
            }
            "$expr" => {
                let names = self.options.names();
                let expr = Expr::parse(value, &names)?;
                let equal = equalities_of(value, &names);
                parts.push(Node::Expr(Expression::new(expr, equal)));
            }
            "$sampleRate" => parts.push(Node::Sample(pathless::sample_rate(value)?)),
            "$jsonSchema" => parts.push(Node::Schema(Box::new(Schema::parse(value)?))),
            // Members of a reference to another document are fields, and are compared as they are.
            "$db" | "$id" | "$ref" => parts.push(field(name, self.compare(Op::Eq, value))),
            "$alwaysFalse" => parts.push(Node::Never),
            "$alwaysTrue" => {}
            "$text" => {
                let spec = self.options.text.as_ref();
                let spec =
                    spec.ok_or_else(|| MqlError::new(27, "text index required for $text query"))?;
                parts.push(Node::Text(Arc::new(Search::parse(value, spec)?)));
            }
            "$where" => {
                return Err(MqlError::new(
                    115,
                    "$where is not supported: no JavaScript runs here",
                ));
            }
            "$not" => {
                return Err(MqlError::bad_value(
                    "unknown top level operator: $not. If you are trying to negate an entire expression, use $nor.",
                ));
            }
            _ => {
                return Err(MqlError::bad_value(format!(
                    "unknown top level operator: {name}. If you have a field name that starts with a '$' symbol, \
                     consider using $getField or $setField."
                )));
            }
        }
        Ok(())
    }

    fn list(&self, name: &str, value: &Value) -> Result<Vec<Node>> {
        let entries = value
            .as_array()
            .ok_or_else(|| MqlError::bad_value(format!("{name} must be an array")))?;
        if entries.is_empty() {
            return Err(MqlError::bad_value(
                "$and/$or/$nor must be a nonempty array",
            ));
        }
        let inner = self.deeper()?;
        let entry = |entry: &Value| match entry {
            Value::Object(filter) => inner.object(filter),
            _ => Err(MqlError::bad_value(
                "$or/$and/$nor entries need to be full objects",
            )),
        };
        entries.iter().map(entry).collect()
    }

    fn field(&self, name: &str, value: &Value) -> Result<Node> {
        match value {
            Value::Object(object) if is_operator_document(object, false) => {
                self.field_operators(name, object)
            }
            Value::Regex { pattern, options } => Ok(field(
                name,
                Test::Regex(RegexTest::parse(pattern, options, self.budget())?),
            )),
            plain => Ok(field(name, self.compare(Op::Eq, plain))),
        }
    }

    fn budget(&self) -> &'a Budget {
        self.options.env.budget()
    }

    fn compare(&self, op: Op, value: &Value) -> Test {
        Test::Compare(Compare::new(op, value, self.options.collation.as_ref()))
    }

    /// Reads the operators of one field.
    pub(crate) fn field_operators(&self, name: &str, operators: &Object) -> Result<Node> {
        let mut parts = Vec::with_capacity(operators.len());
        for (operator, argument) in operators {
            match operator.as_str() {
                "$regex" => {
                    let test = RegexTest::parse_members(
                        Some(argument),
                        operators.get("$options"),
                        self.budget(),
                    )?;
                    parts.push(field(name, Test::Regex(test)));
                }
                "$options" => {
                    RegexTest::parse_members(
                        operators.get("$regex"),
                        Some(argument),
                        self.budget(),
                    )?;
                }
                "$near" | "$nearSphere" | "$geoNear" => {
                    let near = Near::parse(operator, argument, operators)?;
                    parts.push(field(name, Test::Near(near)));
                }
                "$minDistance" | "$maxDistance"
                    if operators.keys().any(|name| name.starts_with("$near")) => {}
                _ => parts.push(self.operator(name, operator, argument)?),
            }
        }
        Ok(all_of(parts))
    }

    fn operator(&self, name: &str, operator: &str, argument: &Value) -> Result<Node> {
        let collation = self.options.collation.as_ref();
        Ok(match operator {
            "$eq" => field(name, self.compare(Op::Eq, argument)),
            "$gt" => field(name, self.ordered(name, Op::Gt, argument)?),
            "$gte" => field(name, self.ordered(name, Op::Gte, argument)?),
            "$lt" => field(name, self.ordered(name, Op::Lt, argument)?),
            "$lte" => field(name, self.ordered(name, Op::Lte, argument)?),
            "$ne" if matches!(argument, Value::Regex { .. }) => {
                return Err(MqlError::bad_value("Can't have regex as arg to $ne."));
            }
            "$ne" => not(field(name, self.compare(Op::Eq, argument))),
            "$in" => field(
                name,
                Test::In(InList::parse(argument, collation, self.budget())?),
            ),
            "$nin" => not(field(
                name,
                Test::In(InList::parse(argument, collation, self.budget())?),
            )),
            "$not" => self.not(name, argument)?,
            "$exists" => match is_true(argument) {
                true => field(name, Test::Exists),
                false => not(field(name, Test::Exists)),
            },
            "$type" => field(name, Test::Type(TypeIs::parse(name, argument)?)),
            "$size" => field(name, Test::Size(Size::parse(argument)?)),
            "$mod" => field(name, Test::Modulo(Modulo::parse(argument)?)),
            "$all" => self.all(name, argument)?,
            "$elemMatch" => {
                let test = ElemMatch::parse(&self.deeper()?, name, argument)?;
                field(name, Test::ElemMatch(test))
            }
            "$bitsAllSet" => bits(name, operator, Quantity::AllSet, argument)?,
            "$bitsAllClear" => bits(name, operator, Quantity::AllClear, argument)?,
            "$bitsAnySet" => bits(name, operator, Quantity::AnySet, argument)?,
            "$bitsAnyClear" => bits(name, operator, Quantity::AnyClear, argument)?,
            "$geoWithin" | "$within" => {
                field(name, Test::Geo(Box::new(GeoTest::within(argument)?)))
            }
            "$geoIntersects" => field(name, Test::Geo(Box::new(GeoTest::intersects(argument)?))),
            _ => {
                return Err(MqlError::bad_value(format!("unknown operator: {operator}")));
            }
        })
    }

    fn ordered(&self, name: &str, op: Op, argument: &Value) -> Result<Test> {
        match argument {
            Value::Regex { .. } => Err(MqlError::bad_value(format!(
                "Can't have RegEx as arg to predicate over field '{name}'."
            ))),
            plain => Ok(self.compare(op, plain)),
        }
    }

    fn not(&self, name: &str, argument: &Value) -> Result<Node> {
        match argument {
            Value::Regex { pattern, options } => {
                let test = RegexTest::parse(pattern, options, self.budget())?;
                Ok(not(field(name, Test::Regex(test))))
            }
            Value::Object(operators) if operators.is_empty() => {
                Err(MqlError::bad_value("$not cannot be empty"))
            }
            Value::Object(operators) => Ok(not(self.deeper()?.field_operators(name, operators)?)),
            _ => Err(MqlError::bad_value("$not needs a regex or a document")),
        }
    }

    fn all(&self, name: &str, argument: &Value) -> Result<Node> {
        let elements = argument
            .as_array()
            .ok_or_else(|| MqlError::bad_value("$all needs an array"))?;
        if elements.is_empty() {
            return Ok(Node::Never);
        }
        let first = elements.first().and_then(elem_match_argument);
        let mut parts = Vec::with_capacity(elements.len());
        for element in elements {
            parts.push(match (element, elem_match_argument(element)) {
                (_, Some(argument)) if first.is_some() => {
                    let test = ElemMatch::parse(&self.deeper()?, name, argument)?;
                    field(name, Test::ElemMatch(test))
                }
                _ if first.is_some() => {
                    return Err(MqlError::bad_value("$all/$elemMatch has to be consistent"));
                }
                (Value::Object(object), _) if is_operator_document(object, false) => {
                    return Err(MqlError::bad_value("no $ expressions in $all"));
                }
                (Value::Regex { pattern, options }, _) => field(
                    name,
                    Test::Regex(RegexTest::parse(pattern, options, self.budget())?),
                ),
                (plain, _) => field(name, self.compare(Op::Eq, plain)),
            });
        }
        Ok(all_of(parts))
    }
}

fn elem_match_argument(element: &Value) -> Option<&Value> {
    let (name, argument) = element.as_object()?.iter().next()?;
    (name == "$elemMatch").then_some(argument)
}

fn bits(field_name: &str, operator: &str, quantity: Quantity, argument: &Value) -> Result<Node> {
    let test = Bits::parse(field_name, operator, quantity, argument)?;
    Ok(field(field_name, Test::Bits(test)))
}

fn field(name: &str, test: Test) -> Node {
    Node::Field {
        path: FieldPath::new(name),
        test,
    }
}

fn not(node: Node) -> Node {
    Node::Not(Box::new(node))
}

/// A conjunction; of one part, the part itself.
fn all_of(mut parts: Vec<Node>) -> Node {
    match (parts.len(), parts.pop()) {
        (1, Some(only)) => only,
        (_, Some(last)) => {
            parts.push(last);
            Node::And(parts)
        }
        (_, None) => Node::And(Vec::new()),
    }
}

/// Whether the document holds operators and is no plain value; references to other collections are plain values.
pub(crate) fn is_operator_document(object: &Object, incomplete_references: bool) -> bool {
    let operators = object
        .keys()
        .next()
        .is_some_and(|name| name.starts_with('$'));
    let (collection, id) = (object.contains_key("$ref"), object.contains_key("$id"));
    let reference = match incomplete_references {
        true => collection || id || object.contains_key("$db"),
        false => collection && id,
    };
    operators && !reference
}

/// Whether the operator stands without a field.
pub(crate) fn is_pathless(name: &str) -> bool {
    matches!(
        name,
        "$and"
            | "$or"
            | "$nor"
            | "$comment"
            | "$expr"
            | "$sampleRate"
            | "$jsonSchema"
            | "$text"
            | "$where"
            | "$alwaysTrue"
            | "$alwaysFalse"
    )
}

/// Whether the operator stands behind a field and says something by itself, which `$not` does not.
pub(crate) fn is_field_operator(name: &str) -> bool {
    matches!(
        name,
        "$eq"
            | "$gt"
            | "$gte"
            | "$lt"
            | "$lte"
            | "$ne"
            | "$in"
            | "$nin"
            | "$exists"
            | "$type"
            | "$size"
            | "$mod"
            | "$all"
            | "$elemMatch"
            | "$regex"
            | "$options"
            | "$bitsAllSet"
            | "$bitsAllClear"
            | "$bitsAnySet"
            | "$bitsAnyClear"
            | "$geoWithin"
            | "$geoIntersects"
            | "$near"
            | "$nearSphere"
    )
}
