//! A stage at work with the documents in front of it and behind it: what they take, and where each comes from.

use std::collections::VecDeque;
use std::sync::Arc;

use lapsedb_value::budget::Held;
use lapsedb_value::{Budget, Object};

use super::Provenance;
use super::chain::{Flow, Foreign, Made, Step, Work};
use crate::Result;
use crate::expressions::Beside;

/// Documents that a stage has made and what they take, each with where it comes from.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(super) made: Made,
    /// As many as documents.
    pub(super) provenance: Vec<Provenance>,
}

impl Rows {
    pub(crate) fn empty(budget: &Arc<Budget>) -> Rows {
        Rows::new(Vec::new(), Vec::new(), budget)
    }

    /// Documents that somebody else counts. Those without provenance come from nowhere.
    pub(crate) fn new(
        documents: Vec<Object>,
        mut provenance: Vec<Provenance>,
        budget: &Arc<Budget>,
    ) -> Rows {
        provenance.resize(documents.len(), Provenance::NONE);
        let held = Held::new(budget);
        Rows {
            made: Made { documents, held },
            provenance,
        }
    }

    pub(crate) fn held(&self) -> &Held {
        &self.made.held
    }

    pub(super) fn is_empty(&self) -> bool {
        self.made.documents.is_empty()
    }

    /// What was added last comes from there.
    fn come_from(&mut self, provenance: Provenance) {
        self.provenance
            .resize(self.made.documents.len(), provenance);
    }

    pub(super) fn append(&mut self, mut rows: Rows) {
        self.made.append(rows.made);
        self.provenance.append(&mut rows.provenance);
    }
}

impl IntoIterator for Rows {
    type Item = (Object, Provenance);
    type IntoIter = std::iter::Zip<std::vec::IntoIter<Object>, std::vec::IntoIter<Provenance>>;

    fn into_iter(self) -> Self::IntoIter {
        self.made.documents.into_iter().zip(self.provenance)
    }
}

/// Documents in front of a stage that it has not taken yet, each with where it comes from.
pub(super) struct Waiting {
    documents: VecDeque<Object>,
    /// As many as documents.
    provenance: VecDeque<Provenance>,
    /// What they take: counted until the stage has taken all.
    _held: Held,
}

impl Waiting {
    pub(super) fn new(rows: Rows) -> Waiting {
        Waiting {
            documents: VecDeque::from(rows.made.documents),
            provenance: VecDeque::from(rows.provenance),
            _held: rows.made.held,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    fn pop_front(&mut self) -> Option<(Object, Provenance)> {
        self.documents.pop_front().zip(self.provenance.pop_front())
    }
}

/// A stage at work, and where all comes from that it has taken and may still hand on.
pub(super) struct Station {
    pub(super) work: Work,
    pub(super) gathered: Provenance,
    /// Whether it is known where documents come from.
    pub(super) tracks: bool,
}

impl Station {
    /// Takes documents through the stage, until all are through or it has made much.
    pub(super) async fn take_some(
        &mut self,
        waiting: &mut Waiting,
        foreign: &dyn Foreign,
        next: &mut Rows,
        budget: &Budget,
    ) -> Result<Flow> {
        let step = match &mut self.work {
            Work::Step(step) => step,
            Work::Joint(_) => {
                self.batch(waiting, foreign, next).await?;
                return Ok(Flow::More);
            }
        };
        while let Some(row) = waiting.pop_front() {
            budget.step()?;
            budget.set_scratch(0);
            let flow = Station::push(step.as_mut(), &mut self.gathered, row, next)?;
            let made = budget.scratch();
            budget.set_scratch(0);
            if made > 0 {
                next.held().add(made)?;
            }
            if flow == Flow::Enough {
                return Ok(flow);
            }
            if next.made.is_enough() {
                break;
            }
        }
        Ok(Flow::More)
    }

    /// Pushes one document.
    fn push(
        step: &mut dyn Step,
        gathered: &mut Provenance,
        (document, own): (Object, Provenance),
        out: &mut Rows,
    ) -> Result<Flow> {
        let from = match step.holds() {
            true => {
                step.comes_from(own);
                *gathered = gathered.and(&own);
                *gathered
            }
            false => own,
        };
        let flow = step.push(document, &mut out.made.documents)?;
        out.come_from(from);
        Ok(flow)
    }

    /// Lets a stage that reads other collections take documents, some or all.
    async fn batch(
        &mut self,
        waiting: &mut Waiting,
        foreign: &dyn Foreign,
        out: &mut Rows,
    ) -> Result<()> {
        let Work::Joint(joint) = &mut self.work else {
            return Ok(());
        };
        out.made
            .append(joint.batch(&mut waiting.documents, foreign).await?);
        let mut read = self.tracks.then(|| foreign.first_expiry()).flatten();
        if joint.remembers() {
            self.gathered = self.gathered.beside(read);
            read = self.gathered.others();
        }
        // Those that are left keep theirs for the next batch.
        let left = waiting.documents.len();
        let taken = waiting.provenance.len().saturating_sub(left);
        let taken = waiting.provenance.drain(..taken);
        if joint.is_one_to_one() {
            out.provenance.extend(taken.map(|own| own.beside(read)));
        } else {
            self.gathered = taken
                .fold(self.gathered, |all, own| all.and(&own))
                .beside(read);
        }
        out.come_from(self.gathered);
        Ok(())
    }

    /// What follows from there being no more, and what is beside it.
    pub(super) async fn finish(
        &mut self,
        foreign: &dyn Foreign,
        budget: &Arc<Budget>,
    ) -> Result<(Rows, Vec<Beside>)> {
        let mut out = Rows::empty(budget);
        let mut besides = Vec::new();
        match &mut self.work {
            Work::Step(step) => {
                step.finish(&mut out.made.documents)?;
                besides = step.besides();
                out.provenance = step.provenance();
                out.come_from(self.gathered);
            }
            Work::Joint(joint) => {
                out.made = joint.finish(foreign).await?;
                let read = self.tracks.then(|| foreign.first_expiry()).flatten();
                out.come_from(self.gathered.beside(read));
            }
        }
        Ok((out, besides))
    }
}
