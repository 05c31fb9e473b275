//! Which documents a window holds: so many before and after, or those within a span of values.

use std::ops::Range;

use crate::expressions::date::{Unit, Zone, add_units};

use super::*;

/// The ends of a window.
#[derive(Clone, Debug)]
pub(super) enum Bounds {
    /// Documents before and after this one; nothing is without end.
    Documents(Option<i64>, Option<i64>),
    /// Values below and above this one's.
    Range(Edge, Edge, Option<Unit>),
}

/// Where a window of values ends.
#[derive(Clone, Debug)]
pub(super) enum Edge {
    Unbounded,
    /// At the document itself, not with others of its value.
    Current,
    /// So far from its value, with all that have it.
    By(Value),
}

impl Bounds {
    pub(super) fn parse(value: &Value, sort: Option<&Sort>) -> Result<Bounds> {
        let Some(object) = value.as_object() else {
            return Err(failed("'window' field must be an object"));
        };
        let known = ["documents", "range", "unit"];
        if object.keys().any(|key| !known.contains(&key.as_str())) {
            return Err(failed(
                "'window' field can only contain 'documents' as the only argument or 'range' with an optional 'unit' field",
            ));
        }
        let unit = match object.get("unit") {
            Some(Value::String(name)) => Some(
                Unit::parse(name)
                    .ok_or_else(|| failed(format!("unknown time unit value: {name}")))?,
            ),
            Some(_) => return Err(failed("'unit' must be a string")),
            None => None,
        };
        match (object.get("documents"), object.get("range")) {
            (Some(_), Some(_)) => Err(failed(
                "Window bounds can specify either 'documents' or 'unit', not both.",
            )),
            (Some(_), None) if unit.is_some() => Err(failed(
                "Window bounds can only specify 'unit' with range-based bounds.",
            )),
            (Some(documents), None) => parse_documents(documents, sort),
            (None, Some(range)) => parse_range(range, unit, sort),
            (None, None) => Ok(Bounds::Documents(None, None)),
        }
    }

    /// The documents of the window around one.
    pub(super) fn window(&self, part: &Part<'_>, at: usize) -> Result<Range<usize>> {
        match self {
            Bounds::Documents(low, high) => {
                let place = |offset: i64| (at as i64).saturating_add(offset);
                let clamp = |place: i64| place.clamp(0, part.len() as i64) as usize;
                let from = low.map_or(0, |low| clamp(place(low)));
                let to = high.map_or(part.len(), |high| clamp(place(high).saturating_add(1)));
                Ok(from..to.max(from))
            }
            Bounds::Range(low, high, unit) => range_window(part, at, (low, high), *unit),
        }
    }
}

fn pair(value: &Value) -> Result<(&Value, &Value)> {
    match value.as_array() {
        Some([low, high]) => Ok((low, high)),
        Some(_) | None => Err(failed(format!(
            "Window bounds must be a 2-element array: {value}"
        ))),
    }
}

fn parse_documents(value: &Value, sort: Option<&Sort>) -> Result<Bounds> {
    let bound = |value: &Value| match value.as_str() {
        Some("unbounded") => Ok(None),
        Some("current") => Ok(Some(0)),
        _ => {
            let number = Num::of(value).ok_or_else(|| {
                failed("Window bounds must be 'unbounded', 'current', or a number.")
            })?;
            let whole = number.to_i64_exact();
            whole
                .map(Some)
                .ok_or_else(|| failed("Numeric document-based bounds must be an integer"))
        }
    };
    let (low, high) = pair(value)?;
    let (low, high) = (bound(low)?, bound(high)?);
    let bounded = low.is_some() || high.is_some();
    if bounded && sort.is_none() {
        return Err(MqlError::new(
            5339901,
            "Document-based bounds require a sortBy",
        ));
    }
    if let (Some(low), Some(high)) = (low, high)
        && low > high
    {
        let message = format!("Lower bound must not exceed upper bound: [{low}, {high}]");
        return Err(MqlError::new(5339900, message));
    }
    Ok(Bounds::Documents(low, high))
}

fn parse_range(value: &Value, unit: Option<Unit>, sort: Option<&Sort>) -> Result<Bounds> {
    let bound = |value: &Value| match value.as_str() {
        Some("unbounded") => Ok(Edge::Unbounded),
        Some("current") => Ok(Edge::Current),
        _ => {
            let number = Num::of(value).ok_or_else(|| {
                failed("Window bounds must be 'unbounded', 'current', or a number.")
            })?;
            if unit.is_some() && number.to_i64_exact().is_none() {
                return Err(failed("With 'unit', range-based bounds must be an integer"));
            }
            Ok(Edge::By(value.clone()))
        }
    };
    let (low, high) = pair(value)?;
    let (low, high) = (bound(low)?, bound(high)?);
    let fields: Vec<_> = sort.map(|sort| sort.fields().collect()).unwrap_or_default();
    match fields.as_slice() {
        [(_, false)] => {}
        [(_, true)] => {
            return Err(MqlError::new(
                8,
                "Range-based bounds require an ascending sortBy",
            ));
        }
        _ => {
            return Err(MqlError::new(
                5339902,
                "Range-based bounds require sortBy a single field",
            ));
        }
    }
    if let (Some(low), Some(high)) = (low.distance(), high.distance())
        && compare(low, high).is_gt()
    {
        let message = format!("Lower bound must not exceed upper bound: [{low}, {high}]");
        return Err(MqlError::new(5339900, message));
    }
    Ok(Bounds::Range(low, high, unit))
}

impl Edge {
    /// How far from the document's value, if it ends by that.
    fn distance(&self) -> Option<&Value> {
        static HERE: Value = Value::Int32(0);
        match self {
            Edge::Unbounded => None,
            Edge::Current => Some(&HERE),
            Edge::By(distance) => Some(distance),
        }
    }
}

fn range_window(
    part: &Part<'_>,
    at: usize,
    (low, high): (&Edge, &Edge),
    unit: Option<Unit>,
) -> Result<Range<usize>> {
    let here = part.position(at);
    let edge = |offset: &Value| match (&here, unit) {
        (Value::Date(millis), Some(unit)) => {
            let amount = Num::of(offset).and_then(Num::to_i64_exact).unwrap_or(0);
            let moved = add_units(*millis, unit, amount, &Zone::Utc);
            // Beyond all dates there is none to leave out.
            let farthest = if amount < 0 { i64::MIN } else { i64::MAX };
            Ok(Value::Date(moved.unwrap_or(farthest)))
        }
        (other, Some(_)) => {
            let found = type_name(other);
            let message = format!(
                "Invalid range: Expected the sortBy field to be a Date, but it was {found}"
            );
            Err(MqlError::new(5429513, message))
        }
        (other, None) => match (Num::of(other), Num::of(offset)) {
            (Some(value), Some(offset)) => Ok(value.add(offset).value()),
            _ => {
                let found = type_name(other);
                let message = format!(
                    "Invalid range: Expected the sortBy field to be a number, but it was {found}"
                );
                Err(MqlError::new(5429414, message))
            }
        },
    };
    // Wherever the window ends, this document has a place.
    edge(&Value::Int32(0))?;
    let find = |edge: &Value, inside: fn(std::cmp::Ordering) -> bool| {
        let mut place = 0;
        while place < part.len() && inside(compare(&part.position(place), edge)) {
            place += 1;
        }
        place
    };
    let from = match low {
        Edge::By(low) => find(&edge(low)?, std::cmp::Ordering::is_lt),
        Edge::Current => at,
        Edge::Unbounded => 0,
    };
    let to = match high {
        Edge::By(high) => find(&edge(high)?, std::cmp::Ordering::is_le),
        Edge::Current => at + 1,
        Edge::Unbounded => part.len(),
    };
    Ok(from..to.max(from))
}
