//! Named indexes as a part of their collection's record.

use std::collections::BTreeMap;

use lapsedb_record::{Millis, Secs};
use lapsedb_value::{Object, Value};

use super::{
    FilterCompiler, IndexPart, MadeKeys, NamedIndex, NamedIndexes, PartKind, PartialFilter, TtlBase,
};
use crate::error::{Result, StoreError};

impl NamedIndexes {
    /// The indexes as stored.
    #[must_use]
    pub fn to_object(&self) -> Object {
        let numbers =
            |numbers: &[u32]| Value::Array(numbers.iter().map(|number| integer(*number)).collect());
        let dated = |dates: &BTreeMap<u32, i64>| {
            let dated = dates.iter().map(|(number, date)| {
                let mut one = Object::with_capacity(2);
                one.push("number", integer(*number));
                one.push("ms", Value::Int64(*date));
                Value::Object(one)
            });
            Value::Array(dated.collect())
        };
        let mut object = Object::with_capacity(5);
        object.push("next", integer(self.next));
        let all = self
            .all
            .iter()
            .map(|index| Value::Object(index.to_object()));
        object.push("all", Value::Array(all.collect()));
        object.push("buried", dated(&self.buried));
        object.push("burying", dated(&self.burying));
        object.push("dropped", numbers(&self.dropped));
        if let Some(base) = &self.base {
            object.push("base", Value::Object(base.to_object()));
        }
        object
    }

    /// The indexes of a record that was committed at a time.
    pub(crate) fn from_object(
        object: &Object,
        committed: Millis,
        compiler: Option<&FilterCompiler>,
    ) -> Result<NamedIndexes> {
        let mut indexes = NamedIndexes {
            next: number(object, "next")?,
            buried: dated(object, "buried")?,
            dropped: numbers(object, "dropped")?,
            ..NamedIndexes::default()
        };
        // The commit that buried them said when; now it is known.
        for (number, life) in dated(object, "burying")? {
            let committed = i64::try_from(committed.0).unwrap_or(i64::MAX);
            let date = committed.saturating_sub(life);
            let buried = indexes.buried.entry(number).or_insert(date);
            *buried = date.max(*buried);
        }
        for index in array(object, "all")? {
            let index = index.as_object().ok_or_else(|| bad("all"))?;
            indexes.all.push(NamedIndex::from_object(index, compiler)?);
        }
        if let Some(base) = object.get("base").and_then(Value::as_object) {
            indexes.base = Some(TtlBase::from_object(base).ok_or_else(|| bad("base"))?);
        }
        indexes.rule();
        Ok(indexes)
    }
}

impl NamedIndex {
    fn to_object(&self) -> Object {
        let mut object = Object::with_capacity(12);
        object.push("number", integer(self.number));
        object.push("name", Value::from(self.name.clone()));
        object.push("key", Value::Object(self.pattern()));
        for (name, truth) in [
            ("unique", self.unique),
            ("sparse", self.sparse),
            ("hidden", self.hidden),
            ("whole", self.whole),
            ("datesWhole", self.dates_whole),
        ] {
            object.push(name, Value::Bool(truth));
        }
        if let Some(filter) = &self.filter {
            object.push("filter", Value::Object(filter.expression.clone()));
        }
        if let Some(life) = self.expire_after {
            let life = i64::try_from(life.0).unwrap_or(i64::MAX);
            object.push("expireAfter", Value::Int64(life));
        }
        let dates = self.dates.iter().map(|number| integer(*number));
        object.push("dates", Value::Array(dates.collect()));
        object.push("options", Value::Object(self.options.clone()));
        object.push("format", integer(self.format));
        object
    }

    fn from_object(object: &Object, compiler: Option<&FilterCompiler>) -> Result<NamedIndex> {
        let truth = |name: &str| matches!(object.get(name), Some(Value::Bool(true)));
        let pattern = object
            .get("key")
            .and_then(Value::as_object)
            .ok_or_else(|| bad("key"))?;
        let options = object.get("options").and_then(Value::as_object).cloned();
        let options = options.unwrap_or_default();
        let format = match object.get("format") {
            Some(_) => number(object, "format")?,
            None => 0,
        };
        let collation = options.get("collation").and_then(Value::as_object);
        let collation = collation.filter(|_| format > 0);
        let filter = match object.get("filter").and_then(Value::as_object) {
            Some(expression) => Some(PartialFilter::compile(expression, collation, compiler)?),
            None => None,
        };
        let parts = parts(pattern);
        let index = NamedIndex {
            number: number(object, "number")?,
            name: object
                .get("name")
                .and_then(Value::as_str)
                .ok_or_else(|| bad("name"))?
                .into(),
            made: MadeKeys::of(&parts, &options, compiler),
            parts,
            unique: truth("unique"),
            sparse: truth("sparse"),
            hidden: truth("hidden"),
            whole: truth("whole"),
            dates_whole: truth("datesWhole"),
            filter,
            // M7: what is not a number of seconds never ends anything.
            expire_after: object
                .get("expireAfter")
                .and_then(Value::as_i64)
                .and_then(|life| u64::try_from(life).ok())
                .map(Secs),
            dates: numbers(object, "dates")?,
            options,
            format,
            fold: None,
            wildcard: None,
        };
        index.read_with(compiler)
    }
}

impl PartialFilter {
    pub(super) fn compile(
        expression: &Object,
        collation: Option<&Object>,
        language: Option<&FilterCompiler>,
    ) -> Result<PartialFilter> {
        let unreadable = |why: &str| {
            StoreError::Engine(format!(
                "the filter of a partial index cannot be used: {why}"
            ))
        };
        let language = language.ok_or_else(|| unreadable("nobody can read it"))?;
        Ok(PartialFilter {
            expression: expression.clone(),
            matches: (language.filters)(expression, collation).map_err(|why| unreadable(&why))?,
        })
    }
}

/// The fields of an index from its pattern, as clients give it: 1, -1, or the name of a kind.
#[must_use]
pub fn parts(pattern: &Object) -> Vec<IndexPart> {
    let kind = |value: &Value| match (value, value.as_f64()) {
        (_, Some(direction)) if direction < 0.0 => PartKind::Descending,
        (_, Some(_)) => PartKind::Ascending,
        (Value::String(name), None) if name == "hashed" => PartKind::Hashed,
        (other, None) => PartKind::Other(other.clone()),
    };
    pattern
        .iter()
        .map(|(path, value)| IndexPart {
            path: path.clone(),
            kind: kind(value),
        })
        .collect()
}

fn integer(number: u32) -> Value {
    Value::Int64(i64::from(number))
}

fn bad(name: &str) -> StoreError {
    StoreError::Corrupt(format!("a collection's indexes lack `{name}`"))
}

fn array<'a>(object: &'a Object, name: &str) -> Result<&'a [Value]> {
    object
        .get(name)
        .and_then(Value::as_array)
        .ok_or_else(|| bad(name))
}

fn as_number(value: &Value, name: &str) -> Result<u32> {
    value
        .as_i64()
        .and_then(|number| u32::try_from(number).ok())
        .ok_or_else(|| bad(name))
}

fn number(object: &Object, name: &str) -> Result<u32> {
    as_number(object.get(name).unwrap_or(Value::undefined()), name)
}

fn numbers(object: &Object, name: &str) -> Result<Vec<u32>> {
    let numbers = array(object, name)?.iter();
    numbers.map(|number| as_number(number, name)).collect()
}

fn dated(object: &Object, name: &str) -> Result<BTreeMap<u32, i64>> {
    array(object, name)?
        .iter()
        .map(|one| {
            let number = as_number(one.get("number"), name)?;
            let ms = one.get("ms").as_i64().ok_or_else(|| bad(name))?;
            Ok((number, ms))
        })
        .collect()
}
