//! `$geoNear`: documents by their distance from a point, the nearest first. The service finds them by an index.

use crate::expressions::numeric::Num;
use crate::filter::geo::Near;

use super::*;

/// The point, and what is asked about distances from it.
#[derive(Clone, Debug)]
pub struct GeoNear {
    near: Near,
    query: Option<Filter>,
    key: Option<Str>,
    /// Which documents, once the field is known that their places stand in.
    filter: Option<Arc<Filter>>,
    distance: Vec<Str>,
    location: Option<Vec<Str>>,
    multiplier: f64,
}

pub(super) fn parse(_: &'static str, spec: &Value, context: &Context<'_>) -> Result<Vec<Stage>> {
    let Some(object) = spec.as_object() else {
        let message = "invalid parameter: expected an object ($geoNear)";
        return Err(MqlError::new(10065, message));
    };
    for (name, code) in [("limit", 50858), ("num", 50857), ("start", 50856)] {
        if object.contains_key(name) {
            let message = format!(
                "$geoNear no longer supports the '{name}' parameter. Use a $limit stage instead."
            );
            return Err(MqlError::new(code, message));
        }
    }
    let Some(point) = object.get("near") else {
        return Err(MqlError::new(
            5860400,
            "$geoNear requires a 'near' argument",
        ));
    };
    if point.as_object().is_none() && point.as_array().is_none() {
        let message =
            "$geoNear requires near argument to be a GeoJSON object or a legacy point(array)";
        return Err(MqlError::new(5860401, message));
    }
    let distance = match object.get("distanceField") {
        Some(Value::String(field)) => path::split(field)?,
        _ => {
            let message = "$geoNear requires a 'distanceField' option as a String";
            return Err(MqlError::new(16606, message));
        }
    };
    let location = match object.get("includeLocs") {
        None => None,
        Some(Value::String(field)) => Some(path::split(field)?),
        Some(_) => {
            let message = "$geoNear requires that 'includeLocs' option is a String";
            return Err(MqlError::new(16607, message));
        }
    };
    let key = read_key(object)?;
    let query = match object.get("query") {
        None => None,
        Some(Value::Object(query)) => Some(Filter::parse(query, context.options)?),
        Some(_) => return Err(MqlError::type_mismatch("query must be an object")),
    };
    let spherical = object
        .get("spherical")
        .is_some_and(crate::expressions::values::is_true);
    let (min, max) = (
        number(object, "minDistance")?,
        number(object, "maxDistance")?,
    );
    let near = GeoNear {
        near: Near::of_stage(point, spherical, min, max)?,
        query,
        key: None,
        filter: None,
        distance,
        location,
        multiplier: number(object, "distanceMultiplier")?.unwrap_or(1.0),
    };
    let near = match &key {
        Some(key) => near.over(key, context.options)?,
        None => near,
    };
    Ok(vec![Stage::GeoNear(Arc::new(near))])
}

/// The field that places stand in, if it is said.
fn read_key(object: &Object) -> Result<Option<Str>> {
    match object.get("key") {
        None => Ok(None),
        Some(Value::String(key)) if key.is_empty() => Err(MqlError::bad_value(
            "$geoNear parameter 'key' cannot be the empty string",
        )),
        Some(Value::String(key)) => Ok(Some(key.clone())),
        Some(other) => {
            let found = type_name(other);
            Err(MqlError::type_mismatch(format!(
                "$geoNear parameter 'key' must be of type string but found type: {found}"
            )))
        }
    }
}

fn number(object: &Object, name: &str) -> Result<Option<f64>> {
    match object.get(name).map(Num::of) {
        None => Ok(None),
        Some(None) => Err(MqlError::type_mismatch(format!("{name} must be a number"))),
        Some(Some(number)) if number.to_f64() >= 0.0 => Ok(Some(number.to_f64())),
        Some(Some(_)) => Err(MqlError::bad_value(format!("{name} must be nonnegative"))),
    }
}

impl GeoNear {
    /// The field that places stand in, if it was said.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Which documents it finds, once the field is known.
    pub fn filter(&self) -> Option<&Filter> {
        self.filter.as_deref()
    }

    /// The same over the places in a field.
    pub(super) fn over(&self, key: &str, options: &Options) -> Result<GeoNear> {
        let filter = Filter::near_within(key, self.near.clone(), self.query.clone(), options)?;
        Ok(GeoNear {
            key: Some(key.into()),
            filter: Some(Arc::new(filter)),
            ..self.clone()
        })
    }
}

pub(super) fn start(near: &Arc<GeoNear>, env: Shared) -> Work {
    Work::Step(Box::new(Nearing {
        near: Arc::clone(near),
        rows: Vec::new(),
        memory: Memory::new("$geoNear", &env),
        besides: Vec::new(),
        from: Provenance::NONE,
        provenance: Vec::new(),
    }))
}

struct Nearing {
    near: Arc<GeoNear>,
    rows: Vec<(f64, Object, Value, Provenance)>,
    memory: Memory,
    besides: Vec<Beside>,
    /// Where the next document comes from.
    from: Provenance,
    provenance: Vec<Provenance>,
}

impl Step for Nearing {
    fn push(&mut self, mut document: Object, _: &mut Vec<Object>) -> Result<Flow> {
        let near = &self.near;
        let Some(filter) = &near.filter else {
            let message =
                "$geoNear inside another stage needs a 'key': the field that places stand in";
            return Err(MqlError::new(27, message));
        };
        if !filter.matches(&document)? {
            return Ok(Flow::More);
        }
        let Some((distance, place)) = filter.nearest(&document) else {
            return Ok(Flow::More);
        };
        let shown = Value::Double(distance * near.multiplier);
        set_path(&mut document, &near.distance, shown);
        if let Some(steps) = &near.location {
            set_path(&mut document, steps, place.clone());
        }
        self.memory.add_document(&document)?;
        self.rows.push((distance, document, place, self.from));
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<Object>) -> Result<()> {
        self.rows.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
        for (distance, document, place, from) in self.rows.drain(..) {
            out.push(document);
            self.provenance.push(from);
            self.besides.push(Beside {
                score: None,
                distance: Some(distance * self.near.multiplier),
                point: Some(place),
            });
        }
        Ok(())
    }

    fn besides(&mut self) -> Vec<Beside> {
        std::mem::take(&mut self.besides)
    }

    fn holds(&self) -> bool {
        true
    }

    fn comes_from(&mut self, from: Provenance) {
        self.from = from;
    }

    fn provenance(&mut self) -> Vec<Provenance> {
        std::mem::take(&mut self.provenance)
    }
}
