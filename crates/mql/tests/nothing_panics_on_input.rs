//! Any document may be sent as a filter, an update, a projection or an order: it is refused or it is run.

use lapsedb_mql::collation::Collation;
use lapsedb_mql::filter::{Filter, Match, Options};
use lapsedb_mql::projection::Projection;
use lapsedb_mql::sort::Sort;
use lapsedb_mql::update::Update;
use lapsedb_mql::validation::Validator;
use lapsedb_value::{Object, Str, Value};
use proptest::prelude::*;

/// Names that mean something somewhere, and some that mean nothing.
const NAMES: &[&str] = &[
    "a",
    "b",
    "_id",
    "0",
    "1",
    "a.b",
    "a.0",
    "a.$",
    "a.$[]",
    "a.$[x]",
    "x",
    "x.a",
    "",
    ".",
    "a..b",
    "$",
    "$and",
    "$or",
    "$nor",
    "$not",
    "$eq",
    "$ne",
    "$gt",
    "$gte",
    "$lt",
    "$lte",
    "$in",
    "$nin",
    "$all",
    "$elemMatch",
    "$size",
    "$mod",
    "$type",
    "$exists",
    "$regex",
    "$options",
    "$bitsAllSet",
    "$bitsAnyClear",
    "$expr",
    "$jsonSchema",
    "$sampleRate",
    "$comment",
    "$geoWithin",
    "$geoIntersects",
    "$near",
    "$geometry",
    "$box",
    "$polygon",
    "$center",
    "$centerSphere",
    "$maxDistance",
    "type",
    "coordinates",
    "$set",
    "$unset",
    "$inc",
    "$mul",
    "$min",
    "$max",
    "$push",
    "$each",
    "$position",
    "$slice",
    "$sort",
    "$addToSet",
    "$pull",
    "$pullAll",
    "$pop",
    "$bit",
    "and",
    "or",
    "xor",
    "$rename",
    "$currentDate",
    "$setOnInsert",
    "$meta",
    "$natural",
    "$literal",
    "properties",
    "required",
    "items",
    "minimum",
    "multipleOf",
    "pattern",
    "enum",
    "locale",
    "strength",
];

const TEXTS: &[&str] = &[
    "", "a", "b", "$a", "$$ROOT", "(", "[", "a{9", "\\", "(?=a)b", "Point", "Polygon", "date",
    "en", "é", "sortKey",
];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        prop_oneof![-3..4i32, any::<i32>()].prop_map(Value::Int32),
        prop_oneof![Just(i64::MIN), Just(i64::MAX), any::<i64>()].prop_map(Value::Int64),
        prop_oneof![
            Just(f64::NAN),
            Just(f64::INFINITY),
            Just(-0.0),
            -2.0..200.0,
            any::<f64>()
        ]
        .prop_map(Value::Double),
        any::<[u8; 16]>().prop_map(Value::Decimal128),
        prop::sample::select(TEXTS).prop_map(Value::from),
        any::<i64>().prop_map(Value::Date),
        any::<[u8; 12]>().prop_map(Value::ObjectId),
        prop::collection::vec(any::<u8>(), 0..4)
            .prop_map(|bytes| Value::Binary { subtype: 0, bytes }),
        prop::sample::select(TEXTS).prop_map(|text| Value::Regex {
            pattern: Box::new(Str::new(text)),
            options: Box::new(Str::new("i")),
        }),
        Just(Value::MinKey),
        Just(Value::MaxKey),
    ]
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Object> {
    let member = (prop::sample::select(NAMES), inner);
    prop::collection::vec(member, 0..4).prop_map(|members| {
        let mut object = Object::new();
        for (name, value) in members {
            object.insert(name, value);
        }
        object
    })
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            object(inner).prop_map(Value::Object),
        ]
    })
}

/// An update's operators, so that most are more than refused at once.
fn update() -> impl Strategy<Value = Value> {
    let operator = prop::sample::select(NAMES).prop_filter("an operator", |name| {
        name.len() > 1 && name.starts_with('$')
    });
    prop_oneof![
        value(),
        prop::collection::vec((operator, object(value())), 1..3).prop_map(|operators| {
            let mut update = Object::new();
            for (name, fields) in operators {
                update.insert(name, fields);
            }
            Value::Object(update)
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn filters_and_what_is_asked_of_them(filter in object(value()), document in object(value())) {
        if let Ok(filter) = Filter::parse(&filter, &Options::default()) {
            // An expression may fail over a document; that is an answer, too.
            let found = filter.matches(&document);
            if let (Ok(true), Some(bounds)) = (found, filter.bounds("a", true)) {
                let entries = match document.get("a") {
                    None => vec![Value::Null],
                    Some(Value::Array(elements)) if elements.is_empty() => vec![Value::Undefined],
                    Some(Value::Array(elements)) => elements.clone(),
                    Some(other) => vec![other.clone()],
                };
                prop_assert!(entries.iter().any(|entry| bounds.iter().any(|interval| interval.contains(entry))));
            }
            filter.id_equality();
            filter.equalities();
            filter.near();
        }
    }

    #[test]
    fn validators_and_why_they_refuse(validator in object(value()), document in object(value()), schema: bool) {
        let validator = match schema {
            true => [(Str::new("$jsonSchema"), Value::Object(validator))].into_iter().collect(),
            false => validator,
        };
        if let Ok(validator) = Validator::parse(&validator, &Options::default())
            && !validator.accepts(&document)
        {
            let why = validator.explain(&document);
            prop_assert_eq!(why.keys().next().map(Str::as_str), Some("operatorName"));
        }
    }

    #[test]
    fn updates(update in update(), filter in object(value()), document in object(value()), position in 0..3usize) {
        if let Ok(update) = Update::parse(&update, &[], &Options::default()) {
            let found = Match { position: Some(position), ..Match::default() };
            if let Ok(updated) = update.apply(&document, found) {
                // What an update did not modify is as it was.
                let same = lapsedb_value::order::identical_bson(
                    &Value::Object(updated.document.clone()),
                    &Value::Object(document.clone()),
                );
                prop_assert!(updated.modified || same);
            }
            let _ = update.upsert(&filter, Value::Int32(1));
        }
    }

    #[test]
    fn projections_orders_and_collations(spec in object(value()), document in object(value())) {
        if let Ok(projection) = Projection::parse(&spec, &Options::default()) {
            let _ = projection.apply(document.clone(), Match { position: Some(0), ..Match::default() }, None);
        }
        if let Ok(Some(sort)) = Sort::parse_find(&spec, &Options::default()) {
            let _ = sort.key(&document);
        }
        if let Ok(Some(collation)) = Collation::parse(&spec) {
            collation.fold(&Value::Object(document));
        }
    }
}
