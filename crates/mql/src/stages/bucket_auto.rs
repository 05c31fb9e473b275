//! `$bucketAuto`: documents grouped into spans of about the same number.

use crate::accumulators::{Accumulator, Gather};
use crate::expressions::numeric::Num;
use crate::expressions::values::compare;
use crate::expressions::{Scope, missing_to_null};

use lapsedb_value::budget::sort_by;

use super::*;

/// What is grouped by, and into how many spans.
#[derive(Clone, Debug)]
pub(crate) struct BucketAuto {
    by: Expr,
    buckets: usize,
    fields: Vec<(Str, Gather)>,
    granularity: Option<granularity::Granularity>,
}

mod granularity;

pub(super) fn parse(_: &'static str, spec: &Value, context: &Context<'_>) -> Result<Vec<Stage>> {
    let Some(object) = spec.as_object() else {
        let found = type_name(spec);
        let message =
            format!("The argument to $bucketAuto must be an object, but found type: {found}");
        return Err(MqlError::new(40240, message));
    };
    let names = &context.names;
    let (mut by, mut buckets, mut granularity) = (None, None, None);
    let mut fields = bucket::count_output(names)?;
    for (name, value) in object {
        match name.as_str() {
            "groupBy" => by = Some(bucket::read_group_by(value, names, (40239, "$bucketAuto"))?),
            "buckets" => buckets = Some(read_buckets(value)?),
            "output" => fields = bucket::read_output(value, names, (40244, "$bucketAuto"))?,
            "granularity" => granularity = Some(granularity::Granularity::parse(value)?),
            other => {
                let message = format!("Unrecognized option to $bucketAuto: {other}");
                return Err(MqlError::new(40245, message));
            }
        }
    }
    let (Some(by), Some(buckets)) = (by, buckets) else {
        return Err(MqlError::new(
            40246,
            "$bucketAuto requires 'groupBy' and 'buckets' to be specified",
        ));
    };
    Ok(vec![Stage::BucketAuto(Arc::new(BucketAuto {
        by,
        buckets,
        fields,
        granularity,
    }))])
}

fn read_buckets(value: &Value) -> Result<usize> {
    let Some(number) = Num::of(value) else {
        let found = type_name(value);
        let message = format!(
            "The $bucketAuto 'buckets' field must be a numeric value, but found type: {found}"
        );
        return Err(MqlError::new(40241, message));
    };
    let Some(buckets) = number.to_i32_exact() else {
        let message = format!(
            "The $bucketAuto 'buckets' field must be representable as a 32-bit integer, but found {value}"
        );
        return Err(MqlError::new(40242, message));
    };
    usize::try_from(buckets)
        .ok()
        .filter(|buckets| *buckets > 0)
        .ok_or_else(|| {
            let message = format!(
                "The $bucketAuto 'buckets' field must be greater than 0, but found: {buckets}"
            );
            MqlError::new(40243, message)
        })
}

pub(super) fn start(bucket: &Arc<BucketAuto>, env: Shared) -> Work {
    Work::Step(Box::new(Bucketing {
        bucket: Arc::clone(bucket),
        rows: Vec::new(),
        memory: Memory::new("$bucketAuto", &env),
        env,
    }))
}

struct Bucketing {
    bucket: Arc<BucketAuto>,
    env: Shared,
    rows: Vec<(Value, Object)>,
    memory: Memory,
}

impl Step for Bucketing {
    fn holds(&self) -> bool {
        true
    }

    fn push(&mut self, document: Object, _: &mut Vec<Object>) -> Result<Flow> {
        let value = self.bucket.by.eval(&Scope::new(&document, &self.env))?;
        let value = missing_to_null(value);
        if self.bucket.granularity.is_some() {
            granularity::check(&value)?;
        }
        self.memory.add_document(&document)?;
        self.rows.push((value, document));
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<Object>) -> Result<()> {
        let mut rows = std::mem::take(&mut self.rows);
        rows = sort_by(rows, self.env.budget(), |(a, _), (b, _)| compare(a, b))?;
        let spans = match &self.bucket.granularity {
            None => even_spans(&rows, self.bucket.buckets),
            Some(granularity) => granularity.spans(&rows, self.bucket.buckets),
        };
        for span in spans {
            let rows = rows.get(span.from..span.to).unwrap_or_default();
            let bucket = self.gather(&span, rows)?;
            self.memory.add_document(&bucket)?;
            out.push(bucket);
        }
        Ok(())
    }
}

/// A run of rows, and what it says about itself.
struct Span {
    from: usize,
    to: usize,
    min: Value,
    max: Value,
}

/// Runs of about the same length; equal values stay together, and each run ends where the next begins.
fn even_spans(rows: &[(Value, Object)], buckets: usize) -> Vec<Span> {
    let size = ((rows.len() as f64 / buckets as f64).round() as usize).max(1);
    let mut spans: Vec<Span> = Vec::new();
    let mut from = 0;
    while let Some((min, _)) = rows.get(from) {
        let mut to = match spans.len() + 1 >= buckets {
            true => rows.len(),
            false => (from + size).min(rows.len()),
        };
        while let (Some((last, _)), Some((next, _))) = (rows.get(to - 1), rows.get(to)) {
            if compare(last, next).is_ne() {
                break;
            }
            to += 1;
        }
        let max = rows
            .get(to)
            .or(rows.get(to - 1))
            .map(|(value, _)| value.clone());
        spans.push(Span {
            from,
            to,
            min: min.clone(),
            max: max.unwrap_or_default(),
        });
        from = to;
    }
    spans
}

impl Bucketing {
    fn gather(&self, span: &Span, rows: &[(Value, Object)]) -> Result<Object> {
        let mut id = Object::with_capacity(2);
        id.push("min", span.min.clone());
        id.push("max", span.max.clone());
        let id = Value::Object(id);
        let mut document = Object::new();
        document.push("_id", id.clone());
        for (name, gather) in &self.bucket.fields {
            let mut accumulator: Box<dyn Accumulator> = gather.start(&id, &self.env)?;
            for (_, row) in rows {
                gather.add(accumulator.as_mut(), &Scope::new(row, &self.env))?;
                self.env.budget().set_scratch(0);
                self.env.budget().charge(accumulator.bytes())?;
            }
            document.push(name.clone(), missing_to_null(accumulator.result()?));
        }
        Ok(document)
    }
}
