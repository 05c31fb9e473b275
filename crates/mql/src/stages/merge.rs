//! `$merge`: the outcome merged into a collection.

use super::*;

/// How the outcome is merged.
#[derive(Clone, Debug)]
pub struct Merge {
    /// The collection's database, if it is another one.
    pub database: Option<Str>,
    /// The collection's name.
    pub collection: Str,
    /// The fields that tell which documents are the same; none given means `_id`.
    pub on: Vec<Str>,
    /// What happens to a document that is there.
    pub when_matched: WhenMatched,
    /// What happens to one that is not.
    pub when_not_matched: WhenNotMatched,
}

/// What happens to a document that is there.
#[derive(Clone, Debug)]
pub enum WhenMatched {
    /// It is replaced.
    Replace,
    /// It stays.
    KeepExisting,
    /// Its fields and those of the new one are put together; the new ones win.
    Merge,
    /// The command fails.
    Fail,
    /// A pipeline is applied; the new document is its variable `new`.
    Pipeline {
        /// The stages, to be read with [`Pipeline::parse_update`] once the variables are known.
        stages: Vec<Value>,
        /// The variables besides `new`, to be computed over the new document; none given means `new` alone.
        variables: Object,
    },
}

/// What happens to a document that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenNotMatched {
    /// It is inserted.
    Insert,
    /// It is left out.
    Discard,
    /// The command fails.
    Fail,
}

pub(super) fn parse(
    stage: &'static str,
    spec: &Value,
    context: &Context<'_>,
) -> Result<Vec<Stage>> {
    let mut merge = Merge {
        database: None,
        collection: Str::default(),
        on: Vec::new(),
        when_matched: WhenMatched::Merge,
        when_not_matched: WhenNotMatched::Insert,
    };
    let mut variables = Object::new();
    match spec {
        Value::String(name) => merge.collection = name.clone(),
        Value::Object(object) => {
            if !object.contains_key("into") {
                return Err(missing_field(stage, "into"));
            }
            for (name, value) in object {
                match name.as_str() {
                    "into" => read_into(value, &mut merge)?,
                    "on" => merge.on = read_on(value)?,
                    "let" => {
                        let object = value.as_object();
                        variables = object
                            .ok_or_else(|| wrong_type(stage, "let", value, "object"))?
                            .clone();
                    }
                    "whenMatched" => merge.when_matched = read_matched(value)?,
                    "whenNotMatched" => merge.when_not_matched = read_not_matched(value)?,
                    other => return Err(unknown_field(stage, other)),
                }
            }
        }
        other => {
            let found = type_name(other);
            return Err(MqlError::type_mismatch(format!(
                "$merge requires a string or object argument, but found {found}"
            )));
        }
    }
    if merge.collection.is_empty() {
        return Err(MqlError::new(
            5786801,
            "$merge 'into' field must specify a 'coll' that is not empty, null or undefined",
        ));
    }
    check_modes(&merge)?;
    check_update(&mut merge, variables, context)?;
    Ok(vec![Stage::Merge(Arc::new(merge))])
}

/// Refuses modes that would write nothing, or fail whatever is there.
fn check_modes(merge: &Merge) -> Result<()> {
    let matched = match merge.when_matched {
        WhenMatched::KeepExisting => "keepExisting",
        WhenMatched::Fail => "fail",
        WhenMatched::Replace | WhenMatched::Merge | WhenMatched::Pipeline { .. } => return Ok(()),
    };
    let not_matched = match merge.when_not_matched {
        WhenNotMatched::Insert => return Ok(()),
        WhenNotMatched::Discard => "discard",
        WhenNotMatched::Fail => "fail",
    };
    Err(MqlError::new(
        51181,
        format!(
            "Combination of $merge modes 'whenMatched: {matched}' and 'whenNotMatched: {not_matched}' is not supported"
        ),
    ))
}

/// Reads the pipeline for documents that are there, so that its mistakes are found before anything is written.
fn check_update(merge: &mut Merge, given: Object, context: &Context<'_>) -> Result<()> {
    let WhenMatched::Pipeline { stages, variables } = &mut merge.when_matched else {
        return match given.is_empty() {
            true => Ok(()),
            false => Err(MqlError::new(
                51199,
                "Cannot use 'let' variables with 'whenMatched' mode that is not a pipeline",
            )),
        };
    };
    let mut inner = Context {
        place: Place::Update,
        ..context.clone()
    };
    inner.names = inner.names.with("new");
    for (name, value) in &given {
        if name == "new" && value.as_str() != Some("$$ROOT") {
            return Err(MqlError::new(
                51273,
                "'let' may not define a value for the reserved 'new' variable other than '$$ROOT'",
            ));
        }
        path::check_variable_name(name)?;
        Expr::parse(value, &context.names)?;
        inner.names = inner.names.with(name.clone());
    }
    parse_stages(stages, &inner)?;
    *variables = given;
    Ok(())
}

fn read_into(value: &Value, merge: &mut Merge) -> Result<()> {
    match value {
        Value::String(name) => merge.collection = name.clone(),
        Value::Object(object) => {
            refuse_duplicates("$merge.into", value)?;
            for (name, value) in object {
                match (name.as_str(), value) {
                    ("db", Value::String(database)) => merge.database = Some(database.clone()),
                    ("coll", Value::String(collection)) => merge.collection = collection.clone(),
                    ("db" | "coll", other) => {
                        return Err(wrong_type("$merge.into", name, other, "string"));
                    }
                    (other, _) => return Err(unknown_field("$merge.into", other)),
                }
            }
        }
        other => {
            let found = type_name(other);
            let message = format!(
                "$merge 'into' field  must be either a string or an object, but found {found}"
            );
            return Err(MqlError::new(51178, message));
        }
    }
    Ok(())
}

fn read_on(value: &Value) -> Result<Vec<Str>> {
    let on = match value {
        Value::String(name) => return Ok(vec![name.clone()]),
        Value::Array(names) => names,
        other => {
            let found = type_name(other);
            let message = format!(
                "$merge 'on' field  must be either a string or an array of strings, but found {found}"
            );
            return Err(MqlError::new(51186, message));
        }
    };
    if on.is_empty() {
        return Err(MqlError::new(
            51187,
            "If explicitly specifying $merge 'on', must include at least one field",
        ));
    }
    let name = |value: &Value| match value {
        Value::String(name) => Ok(name.clone()),
        other => {
            let found = type_name(other);
            let message = format!("$merge 'on' array elements must be strings, but found {found}");
            Err(MqlError::new(51134, message))
        }
    };
    let mut fields: Vec<Str> = Vec::with_capacity(on.len());
    for value in on {
        let field = name(value)?;
        if fields.contains(&field) {
            let message = format!("Found a duplicate field '{field}'");
            return Err(MqlError::new(31465, message));
        }
        fields.push(field);
    }
    Ok(fields)
}

fn read_matched(value: &Value) -> Result<WhenMatched> {
    Ok(match value {
        Value::Array(stages) => WhenMatched::Pipeline {
            stages: stages.clone(),
            variables: Object::new(),
        },
        other => match other.as_str() {
            Some("replace") => WhenMatched::Replace,
            Some("keepExisting") => WhenMatched::KeepExisting,
            Some("merge") => WhenMatched::Merge,
            Some("fail") => WhenMatched::Fail,
            Some(name) => return Err(no_such("whenMatched", name)),
            None => {
                let found = type_name(other);
                let message = format!(
                    "$merge 'whenMatched' field  must be either a string or an array, but found {found}"
                );
                return Err(MqlError::new(51191, message));
            }
        },
    })
}

fn read_not_matched(value: &Value) -> Result<WhenNotMatched> {
    match value.as_str() {
        Some("insert") => Ok(WhenNotMatched::Insert),
        Some("discard") => Ok(WhenNotMatched::Discard),
        Some("fail") => Ok(WhenNotMatched::Fail),
        Some(name) => Err(no_such("$merge.whenNotMatched", name)),
        None => Err(wrong_type("$merge", "whenNotMatched", value, "string")),
    }
}

fn no_such(field: &str, name: &str) -> MqlError {
    MqlError::bad_value(format!(
        "Enumeration value '{name}' for field '{field}' is not a valid value."
    ))
}
