//! The update operators, one per file.

use lapsedb_value::Value;

use super::apply::Apply;
use crate::Result;
use crate::filter::Options;

mod add_to_set;
mod arithmetic;
mod bit;
mod current_date;
mod extremum;
mod inc;
mod mul;
mod pop;
mod pull;
mod pull_all;
mod push;
mod rename;
mod set;

/// What became of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is as it was.
    Same,
    /// It is another one.
    Changed,
    /// It is an array that got elements behind those it had.
    Appended(usize),
    /// It must go.
    Removed,
}

/// A change of one value.
#[derive(Clone, Debug)]
pub(crate) enum Modifier {
    Set(set::Set),
    SetOnInsert(set::Set),
    Unset,
    Arithmetic(arithmetic::Arithmetic),
    Extremum(extremum::Extremum),
    CurrentDate(current_date::CurrentDate),
    Push(Box<push::Push>),
    AddToSet(add_to_set::AddToSet),
    Pull(Box<pull::Pull>),
    PullAll(pull_all::PullAll),
    Pop(pop::Pop),
    Bit(bit::Bit),
    /// Stands at the new place.
    Rename(rename::Rename),
    /// Stands at the old place of a rename, so that nothing else does.
    Reserved,
}

impl Modifier {
    /// Reads the argument that an operator has for a path.
    pub(crate) fn parse(
        operator: &str,
        path: &str,
        argument: &Value,
        options: &Options,
    ) -> Option<Result<Modifier>> {
        let collation = options.collation.as_ref();
        Some(match operator {
            "$set" => Ok(Modifier::Set(set::Set::new(argument))),
            "$setOnInsert" => Ok(Modifier::SetOnInsert(set::Set::new(argument))),
            "$unset" => Ok(Modifier::Unset),
            "$inc" => inc::parse(path, argument).map(Modifier::Arithmetic),
            "$mul" => mul::parse(path, argument).map(Modifier::Arithmetic),
            "$min" => Ok(Modifier::Extremum(extremum::Extremum::min(
                argument, collation,
            ))),
            "$max" => Ok(Modifier::Extremum(extremum::Extremum::max(
                argument, collation,
            ))),
            "$currentDate" => current_date::CurrentDate::parse(argument).map(Modifier::CurrentDate),
            "$push" => {
                push::Push::parse(argument, collation).map(|push| Modifier::Push(Box::new(push)))
            }
            "$addToSet" => add_to_set::AddToSet::parse(argument, collation).map(Modifier::AddToSet),
            "$pull" => {
                pull::Pull::parse(argument, options).map(|pull| Modifier::Pull(Box::new(pull)))
            }
            "$pullAll" => pull_all::PullAll::parse(argument, collation).map(Modifier::PullAll),
            "$pop" => pop::Pop::parse(path, argument).map(Modifier::Pop),
            "$bit" => bit::Bit::parse(argument).map(Modifier::Bit),
            _ => return None,
        })
    }

    /// Reads `$rename`, whose argument is the new place, and gives the place back.
    pub(crate) fn rename(path: &str, argument: &Value) -> Result<(String, Modifier)> {
        let (target, rename) = rename::Rename::parse(path, argument)?;
        Ok((target, Modifier::Rename(rename)))
    }

    /// Changes a value that is there.
    pub(crate) fn existing(&self, value: &mut Value, apply: &Apply<'_>) -> Result<Outcome> {
        match self {
            Modifier::Set(set) => Ok(set.existing(value)),
            Modifier::SetOnInsert(set) if apply.inserting => Ok(set.existing(value)),
            Modifier::SetOnInsert(_) | Modifier::Reserved => Ok(Outcome::Same),
            Modifier::Unset => Ok(Outcome::Removed),
            Modifier::Arithmetic(arithmetic) => arithmetic.existing(value, apply),
            Modifier::Extremum(extremum) => Ok(extremum.existing(value)),
            Modifier::CurrentDate(date) => Ok(date.existing(value, apply.env)),
            Modifier::Push(push) => push.existing(value, apply),
            Modifier::AddToSet(add) => add.existing(value, apply),
            Modifier::Pull(pull) => pull.existing(value),
            Modifier::PullAll(pull) => pull.existing(value),
            Modifier::Pop(pop) => pop.existing(value, apply),
            Modifier::Bit(bit) => bit.existing(value, apply),
            Modifier::Rename(rename) => rename.existing(value, apply),
        }
    }

    /// What is to be there where nothing is.
    pub(crate) fn missing(&self, apply: &Apply<'_>) -> Result<Option<Value>> {
        Ok(match self {
            Modifier::Set(set) => Some(set.value().clone()),
            Modifier::SetOnInsert(set) => apply.inserting.then(|| set.value().clone()),
            Modifier::Arithmetic(arithmetic) => Some(arithmetic.missing()),
            Modifier::Extremum(extremum) => Some(extremum.value().clone()),
            Modifier::CurrentDate(date) => Some(date.value(apply.env)),
            Modifier::Push(push) => Some(push.missing()),
            Modifier::AddToSet(add) => Some(add.missing()),
            Modifier::Bit(bit) => Some(bit.missing()),
            Modifier::Rename(rename) => rename.missing(apply)?,
            Modifier::Unset
            | Modifier::Pull(_)
            | Modifier::PullAll(_)
            | Modifier::Pop(_)
            | Modifier::Reserved => None,
        })
    }

    /// Whether it makes what is not there.
    pub(crate) fn creates(&self, apply: &Apply<'_>) -> Result<bool> {
        Ok(match self {
            Modifier::Set(_)
            | Modifier::Arithmetic(_)
            | Modifier::Extremum(_)
            | Modifier::CurrentDate(_)
            | Modifier::Push(_)
            | Modifier::AddToSet(_)
            | Modifier::Bit(_) => true,
            Modifier::Rename(rename) => rename.missing(apply)?.is_some(),
            Modifier::SetOnInsert(_) => apply.inserting,
            Modifier::Unset
            | Modifier::Pull(_)
            | Modifier::PullAll(_)
            | Modifier::Pop(_)
            | Modifier::Reserved => false,
        })
    }

    /// Whether it fails where its value could not even be made.
    pub(crate) fn needs_viable_path(&self) -> bool {
        matches!(
            self,
            Modifier::Pull(_) | Modifier::PullAll(_) | Modifier::Pop(_)
        )
    }
}
