//! `$geoNear`: documents by their distance from a point, the nearest first.

use crate::expressions::numeric::Num;
use crate::expressions::path::follow;

use super::*;

/// The radius of the Earth in metres, as distances on a sphere are measured.
const EARTH_METRES: f64 = 6_378_100.0;

/// The point, and what is asked about distances from it.
#[derive(Clone, Debug)]
pub(crate) struct GeoNear {
    near: (f64, f64),
    /// Whether the point was GeoJSON: distances are in metres then, else in radians or plain units.
    geo_json: bool,
    spherical: bool,
    key: Option<Vec<Str>>,
    distance: Vec<Str>,
    location: Option<Vec<Str>>,
    max: Option<f64>,
    min: Option<f64>,
    multiplier: f64,
    query: Option<Filter>,
}

pub(super) fn parse(
    stage: &'static str,
    spec: &Value,
    context: &Context<'_>,
) -> Result<Vec<Stage>> {
    let object = object_of(
        10065,
        spec,
        "invalid parameter: expected an object ($geoNear)",
    )?;
    let Some(near) = object.get("near") else {
        return Err(MqlError::new(
            5860400,
            "$geoNear requires a 'near' argument",
        ));
    };
    let (near, geo_json) = point_of(near).ok_or_else(|| {
        let message = "$geoNear requires near to be a valid point";
        MqlError::new(5860401, message)
    })?;
    let mut geo = GeoNear {
        near,
        geo_json,
        spherical: geo_json,
        key: None,
        distance: Vec::new(),
        location: None,
        max: None,
        min: None,
        multiplier: 1.0,
        query: None,
    };
    for (name, value) in object {
        read_option(stage, name, value, &mut geo, context)?;
    }
    match geo.distance.is_empty() {
        true => Err(MqlError::new(
            16605,
            "$geoNear requires a 'distanceField' option as a String",
        )),
        false => Ok(vec![Stage::GeoNear(Arc::new(geo))]),
    }
}

fn read_option(
    stage: &str,
    name: &str,
    value: &Value,
    geo: &mut GeoNear,
    context: &Context<'_>,
) -> Result<()> {
    let text = || match value.as_str() {
        Some(text) => path::split(text),
        None => Err(wrong_type(stage, name, value, "string")),
    };
    let number = || {
        let number = Num::of(value)
            .map(Num::to_f64)
            .filter(|number| *number >= 0.0);
        number.ok_or_else(|| {
            let message = format!("{name} must be a nonnegative number");
            MqlError::type_mismatch(message)
        })
    };
    match name {
        "near" | "limit" | "num" | "uniqueDocs" => {}
        "distanceField" => geo.distance = text()?,
        "includeLocs" => geo.location = Some(text()?),
        "key" => geo.key = Some(text()?),
        "maxDistance" => geo.max = Some(number()?),
        "minDistance" => geo.min = Some(number()?),
        "distanceMultiplier" => geo.multiplier = number()?,
        "spherical" => {
            geo.spherical = geo.geo_json || crate::expressions::values::is_true(value);
        }
        "query" => {
            let query = value.as_object();
            let query = query.ok_or_else(|| wrong_type(stage, name, value, "object"))?;
            geo.query = Some(Filter::parse(query, context.options)?);
        }
        other => return Err(unknown_field(stage, other)),
    }
    Ok(())
}

/// The point in a value, and whether it is GeoJSON: `{type: "Point", coordinates: [x, y]}`, `[x, y]` or `{x, y}`.
fn point_of(value: &Value) -> Option<((f64, f64), bool)> {
    let number = |value: &Value| Num::of(value).map(Num::to_f64);
    match value {
        Value::Array(pair) => match pair.as_slice() {
            [x, y, ..] => Some(((number(x)?, number(y)?), false)),
            _ => None,
        },
        Value::Object(object) => match object.get("coordinates") {
            Some(coordinates) if object.get("type").and_then(Value::as_str) == Some("Point") => {
                point_of(coordinates).map(|(point, _)| (point, true))
            }
            Some(_) => None,
            None => match object.as_slice() {
                [(_, x), (_, y), ..] => Some(((number(x)?, number(y)?), false)),
                _ => None,
            },
        },
        _ => None,
    }
}

impl GeoNear {
    /// The distance, in the unit of the question.
    fn distance_to(&self, (x, y): (f64, f64)) -> f64 {
        let (near_x, near_y) = self.near;
        if !self.spherical {
            return (x - near_x).hypot(y - near_y);
        }
        let (lat_a, lat_b) = (near_y.to_radians(), y.to_radians());
        let (half_lat, half_lon) = ((lat_b - lat_a) / 2.0, (x - near_x).to_radians() / 2.0);
        let chord = half_lat.sin().powi(2) + lat_a.cos() * lat_b.cos() * half_lon.sin().powi(2);
        let angle = 2.0 * chord.sqrt().min(1.0).asin();
        match self.geo_json {
            true => angle * EARTH_METRES,
            false => angle,
        }
    }

    /// The place of a document: at the key, or at its first field that holds a point.
    fn place(&self, document: &Object) -> Option<(Value, (f64, f64))> {
        let point = |value: &Value| {
            let (place, _) = point_of(value)?;
            Some((value.clone(), place))
        };
        match &self.key {
            Some(steps) => {
                let (first, rest) = steps.split_first()?;
                let member = document.get(first)?;
                point(&follow(member, rest))
            }
            None => document.values().find_map(point),
        }
    }
}

pub(super) fn start(near: &Arc<GeoNear>) -> Work {
    Work::Step(Box::new(Nearing {
        near: Arc::clone(near),
        rows: Vec::new(),
        memory: Memory::new("$geoNear"),
    }))
}

struct Nearing {
    near: Arc<GeoNear>,
    rows: Vec<(f64, Object)>,
    memory: Memory,
}

impl Step for Nearing {
    fn push(&mut self, mut document: Object, _: &mut Vec<Object>) -> Result<Flow> {
        let near = &self.near;
        let Some((place, point)) = near.place(&document) else {
            return Ok(Flow::More);
        };
        let distance = near.distance_to(point);
        let near_enough = near.max.is_none_or(|max| distance <= max);
        let far_enough = near.min.is_none_or(|min| distance >= min);
        if !near_enough || !far_enough {
            return Ok(Flow::More);
        }
        if let Some(query) = &near.query
            && !query.matches(&document)?
        {
            return Ok(Flow::More);
        }
        set_path(
            &mut document,
            &near.distance,
            Value::Double(distance * near.multiplier),
        );
        if let Some(steps) = &near.location {
            set_path(&mut document, steps, place);
        }
        self.memory.add_document(&document)?;
        self.rows.push((distance, document));
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<Object>) -> Result<()> {
        self.rows.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        out.extend(self.rows.drain(..).map(|(_, document)| document));
        Ok(())
    }
}
