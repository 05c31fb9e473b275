//! `$sample`: so many documents by chance, from the seed of the command.

use crate::expressions::numeric::Num;

use super::*;
use crate::accumulators::object_weight;

pub(super) fn parse(_: &'static str, spec: &Value, _: &Context<'_>) -> Result<Vec<Stage>> {
    let Some(object) = spec.as_object() else {
        return Err(MqlError::new(
            28745,
            "the $sample stage specification must be an object",
        ));
    };
    let mut size = None;
    for (name, value) in object {
        if name != "size" {
            let message = format!("unrecognized option to $sample: {name}");
            return Err(MqlError::new(28748, message));
        }
        let number = Num::of(value)
            .ok_or_else(|| MqlError::new(28746, "size argument to $sample must be a number"))?;
        let whole = number.to_i64_truncated().unwrap_or(i64::MAX);
        size =
            Some(usize::try_from(whole).map_err(|_| {
                MqlError::new(28747, "size argument to $sample must not be negative")
            })?);
    }
    let size = size.ok_or_else(|| MqlError::new(28749, "$sample stage must specify a size"))?;
    Ok(vec![Stage::Sample(size)])
}

pub(super) fn start(size: usize, env: Shared) -> Work {
    Work::Step(Box::new(Sampling {
        size,
        memory: Memory::new("$sample", &env),
        env,
        seen: 0,
        kept: Vec::new(),
        from: Provenance::NONE,
        provenance: Vec::new(),
    }))
}

/// A reservoir: each document so far is in it with the same chance.
struct Sampling {
    size: usize,
    env: Shared,
    seen: u64,
    kept: Vec<(Object, Provenance)>,
    memory: Memory,
    /// Where the next document comes from.
    from: Provenance,
    provenance: Vec<Provenance>,
}

impl Sampling {
    fn below(&self, bound: u64) -> usize {
        (self.env.random() * bound as f64) as usize
    }
}

impl Step for Sampling {
    fn push(&mut self, document: Object, _: &mut Vec<Object>) -> Result<Flow> {
        if self.size == 0 {
            return Ok(Flow::Enough);
        }
        self.seen += 1;
        if self.kept.len() < self.size {
            self.memory.add_document(&document)?;
            self.kept.push((document, self.from));
            return Ok(Flow::More);
        }
        let at = self.below(self.seen);
        if let Some(place) = self.kept.get_mut(at) {
            self.memory.remove(object_weight(&place.0));
            self.memory.add_document(&document)?;
            *place = (document, self.from);
        }
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<Object>) -> Result<()> {
        for at in (1..self.kept.len()).rev() {
            let other = self.below(at as u64 + 1);
            self.kept.swap(at, other.min(at));
        }
        for (document, from) in self.kept.drain(..) {
            out.push(document);
            self.provenance.push(from);
        }
        Ok(())
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
