//! Which rights a pipeline needs. They are decided from its stages as they were parsed, which are those that run: what is
//! checked and what is done cannot differ, however the command was spelled.

use std::sync::Arc;

use lapsedb_mql::stages::{
    Asked, Begins, Merge, Pipeline, Source, WhenMatched, WhenNotMatched, Writes,
};

use crate::changes;
use crate::ctx::Ctx;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::namespace::Namespace;
use crate::documents::sources::{CurrentOp, listed_sessions};
use crate::documents::work::Work;
use crate::logins::action::Action;
use crate::logins::privilege::{Privileges, Target};

/// How names begin that stand for the whole of a database where a command names no collection.
const WHOLE_DATABASE: &str = "$cmd.";

/// One right: an action on a target.
pub type Right = (Action, Target);

/// What a cursor needs: whoever fetches from it must still have the rights that it was opened by, as in MongoDB.
#[derive(Clone, Debug)]
pub enum Needs {
    /// Nothing: what it shows was chosen by the rights of who opened it, or nothing binds who did.
    Nothing,
    /// One action on the namespace of the cursor.
    Own(Action),
    /// All of these.
    All(Arc<[Right]>),
}

impl Needs {
    /// Whether who asks has it, for a cursor on a namespace.
    pub(crate) fn are_met(&self, ctx: &Ctx, namespace: &Namespace) -> bool {
        let Some(own) = &ctx.rights else {
            return true;
        };
        match self {
            Needs::Nothing => true,
            Needs::Own(action) => own.allow(*action, &target_of(namespace)),
            Needs::All(rights) => missing(own, rights).is_none(),
        }
    }
}

/// Whether who asks may do anything at all to a collection.
#[must_use]
pub fn knows(ctx: &Ctx, database: &str, collection: &str) -> bool {
    let rights = ctx.rights.as_ref();
    rights.is_none_or(|rights| rights.know_collection(database, collection))
}

/// Refuses a pipeline over a collection or view that who asks may not run; says what its cursor needs.
///
/// # Errors
/// When a right is missing, or options of a stage that decide on it are wrong.
pub(crate) fn check_pipeline(work: &Work, shown: &Namespace, pipeline: &Pipeline) -> Result<Needs> {
    if work.ctx.rights.is_none() {
        return Ok(Needs::Nothing);
    }
    let mut rights = Vec::new();
    begins(&work.ctx, shown, pipeline.asked(), &mut rights)?;
    rights.extend(reads(shown, pipeline.asked()));
    writes(
        shown,
        pipeline.asked(),
        work.bypasses_validation(),
        &mut rights,
    );
    allow(&work.ctx, shown, &rights)?;
    Ok(Needs::All(rights.into()))
}

/// Refuses a view that shows what who makes it may not read.
///
/// # Errors
/// When a right is missing, or options of a stage that decide on it are wrong.
pub(crate) fn check_view(ctx: &Ctx, on: &Namespace, pipeline: &Pipeline) -> Result<()> {
    if ctx.rights.is_none() {
        return Ok(());
    }
    let mut rights = vec![(Action::Find, target_of(on))];
    begins(ctx, on, pipeline.asked(), &mut rights)?;
    rights.extend(reads(on, pipeline.asked()));
    writes(on, pipeline.asked(), false, &mut rights);
    allow(ctx, on, &rights)
}

fn allow(ctx: &Ctx, shown: &Namespace, rights: &[Right]) -> Result<()> {
    let Some(own) = &ctx.rights else {
        return Ok(());
    };
    match missing(own, rights) {
        None => Ok(()),
        Some((action, target)) => Err(Fault::new(
            code::UNAUTHORIZED,
            format!(
                "not authorized on {} to execute command: it needs the action '{}' on {target}",
                shown.database,
                action.name()
            ),
        )),
    }
}

/// The first right that somebody does not have.
fn missing<'r>(own: &Privileges, rights: &'r [Right]) -> Option<&'r Right> {
    rights
        .iter()
        .find(|(action, target)| !own.allow(*action, target))
}

/// What reading from the beginning of the pipeline needs.
fn begins(ctx: &Ctx, shown: &Namespace, asked: &Asked, rights: &mut Vec<Right>) -> Result<()> {
    let source = match &asked.begins {
        Begins::Collection => {
            rights.push((Action::Find, target_of(shown)));
            return Ok(());
        }
        // They are nobody's; but a collection that is named all the same is one that is read.
        Begins::Documents => {
            let target = target_of(shown);
            if matches!(target, Target::Collection(..)) {
                rights.push((Action::Find, target));
            }
            return Ok(());
        }
        Begins::Source(source) => source,
    };
    match source.as_ref() {
        Source::ChangeStream(options) => {
            let target = match changes::follows_everything(shown, options)? {
                // Every database there is, so who may read them all.
                true => Target::Database(String::new()),
                false => target_of(shown),
            };
            rights.push((Action::ChangeStream, target.clone()));
            rights.push((Action::Find, target));
        }
        Source::CollStats(_) => rights.push((Action::CollStats, target_of(shown))),
        Source::IndexStats => rights.push((Action::IndexStats, target_of(shown))),
        Source::PlanCacheStats => rights.push((Action::PlanCacheRead, target_of(shown))),
        Source::CurrentOp(options) => {
            if CurrentOp::read(options)?.all_users {
                rights.push((Action::Inprog, Target::Cluster));
            }
        }
        Source::ListSessions { options, .. } => {
            if !listed_sessions(ctx, None, options)?.own {
                rights.push((Action::ListSessions, Target::Cluster));
            }
        }
    }
    Ok(())
}

/// What stages that read other collections of the database need; of a view, the view is meant and not what it reads.
fn reads(shown: &Namespace, asked: &Asked) -> impl Iterator<Item = Right> {
    let target = |name: &str| Target::Collection(shown.database.clone(), name.to_owned());
    let read = move |name: &lapsedb_value::Str| (Action::Find, target(name));
    asked.reads.iter().map(read)
}

/// What writing the outcome needs.
fn writes(shown: &Namespace, asked: &Asked, bypass: bool, rights: &mut Vec<Right>) {
    let (database, collection) = match &asked.writes {
        None => return,
        Some(Writes::Out(out)) => (&out.database, &out.collection),
        Some(Writes::Merge(merge)) => (&merge.database, &merge.collection),
    };
    let database = database
        .as_ref()
        .map_or(shown.database.as_str(), |name| name);
    let target = Target::Collection(database.to_owned(), collection.to_string());
    match &asked.writes {
        None => {}
        Some(Writes::Out(_)) => {
            rights.push((Action::Insert, target.clone()));
            rights.push((Action::Remove, target.clone()));
        }
        Some(Writes::Merge(merge)) => {
            rights.extend(merges(merge).map(|action| (action, target.clone())));
        }
    }
    if bypass {
        rights.push((Action::BypassDocumentValidation, target));
    }
}

fn merges(merge: &Merge) -> impl Iterator<Item = Action> {
    let insert = match merge.when_not_matched {
        WhenNotMatched::Insert => true,
        WhenNotMatched::Discard | WhenNotMatched::Fail => false,
    };
    let update = match &merge.when_matched {
        WhenMatched::Replace | WhenMatched::Merge | WhenMatched::Pipeline { .. } => true,
        WhenMatched::KeepExisting | WhenMatched::Fail => false,
    };
    // A merge that changes nothing still tells what is there.
    let insert = (insert || !update).then_some(Action::Insert);
    insert.into_iter().chain(update.then_some(Action::Update))
}

fn target_of(namespace: &Namespace) -> Target {
    let database = namespace.database.clone();
    match namespace.collection.starts_with(WHOLE_DATABASE) {
        true => Target::Database(database),
        false => Target::Collection(database, namespace.collection.clone()),
    }
}
