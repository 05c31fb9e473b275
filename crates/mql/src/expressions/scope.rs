//! What an expression sees while it is computed: the document, the variables, the time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lapsedb_value::budget::{Held, MEMBER_BYTES, owned_bytes};
use lapsedb_value::{Budget, Object, Str, Value};

use super::Expr;
use super::path::{check_constant_name, check_let_name};
use crate::collation::Collation;
use crate::{MqlError, Result};

/// What one run of a command knows besides the documents. Everything random or timely comes in here.
#[derive(Debug, Default)]
pub struct Env {
    now: i64,
    cluster_time: Option<u64>,
    keeps_empty_stamps: bool,
    variables: Vec<(Str, Value)>,
    seed: AtomicU64,
    beside: Mutex<Beside>,
    budget: Arc<Budget>,
    /// What the variables take.
    held: Option<Held>,
}

/// What the search for a document has left beside it: what `$meta` tells.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// How well its texts answer `$text`.
    pub score: Option<f64>,
    /// How far its place is.
    pub distance: Option<f64>,
    /// Its place.
    pub point: Option<Value>,
}

impl Beside {
    /// Whether there is nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.score.is_none() && self.distance.is_none() && self.point.is_none()
    }
}

/// Which of these are known where an expression stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metas {
    /// Whether a `$text` is before it.
    pub text_score: bool,
    /// Whether a `$geoNear` or `$near` is before it.
    pub distance: bool,
}

/// The step of the counter behind the random numbers: 2^64 divided by the golden ratio.
const SEED_STEP: u64 = 0x9E37_79B9_7F4A_7C15;

impl Env {
    /// The surroundings of a command that began at `now`, in milliseconds since 1970; the seed feeds `$rand` and `$sample`.
    pub fn new(now: i64, seed: u64) -> Env {
        Env {
            now,
            cluster_time: None,
            keeps_empty_stamps: false,
            variables: Vec::new(),
            seed: AtomicU64::new(seed),
            beside: Mutex::default(),
            budget: Arc::default(),
            held: None,
        }
    }

    /// The same within a request's budget.
    #[must_use]
    pub fn within(mut self, budget: Arc<Budget>) -> Env {
        self.budget = budget;
        self
    }

    /// What the request may use.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// The same with what `$$CLUSTER_TIME` answers.
    pub fn with_cluster_time(mut self, stamp: u64) -> Env {
        self.cluster_time = Some(stamp);
        self
    }

    /// The same, leaving empty time stamps in replacements as they are if that is wanted.
    pub const fn keeping_empty_stamps(mut self, keeps: bool) -> Env {
        self.keeps_empty_stamps = keeps;
        self
    }

    /// The same with one more variable; a later one hides an earlier one of its name.
    pub fn with_variable(mut self, name: impl Into<Str>, value: Value) -> Env {
        self.variables.push((name.into(), value));
        self
    }

    /// The same with the variables of a command, whose values are expressions over no document. Later ones may use earlier ones.
    pub fn with_computed(mut self, variables: &Object) -> Result<Env> {
        let root = Object::new();
        for (name, value) in variables {
            check_let_name(name)?;
            if reads_document(value) {
                return Err(MqlError::new(
                    4_890_500,
                    "Command let Expression tried to access a field, but this is not allowed because Command let Expressions run before the query examines any documents.",
                ));
            }
            let value = Expr::parse(value, &self.names())?.eval(&Scope::new(&root, &self))?;
            self.hold(&value);
            self = self.with_variable(name.clone(), value);
        }
        Ok(self)
    }

    /// The same with the constants of an update, whose values are taken as they are.
    pub fn with_constants(mut self, constants: &Object) -> Result<Env> {
        for (name, value) in constants {
            check_constant_name(name)?;
            self.hold(value);
            self = self.with_variable(name.clone(), value.clone());
        }
        Ok(self)
    }

    /// Counts the value of a variable as long as these surroundings last.
    fn hold(&mut self, value: &Value) {
        let held = self.held.get_or_insert_with(|| Held::new(&self.budget));
        held.put(MEMBER_BYTES + owned_bytes(value));
    }

    /// A copy for a pipeline inside this one, with further variables.
    pub fn nested(&self, variables: Vec<(Str, Value)>) -> Env {
        let mut all = self.variables.clone();
        all.extend(variables);
        let mut env = Env {
            now: self.now,
            cluster_time: self.cluster_time,
            keeps_empty_stamps: self.keeps_empty_stamps,
            variables: Vec::new(),
            seed: AtomicU64::new(self.random_bits()),
            beside: Mutex::default(),
            budget: Arc::clone(&self.budget),
            held: None,
        };
        for (_, value) in &all {
            env.hold(value);
        }
        env.variables = all;
        env
    }

    /// Says what is beside the document that is looked at next.
    pub(crate) fn set_beside(&self, beside: Beside) {
        *self.beside.lock().unwrap_or_else(PoisonError::into_inner) = beside;
    }

    /// What is beside the document that is looked at.
    pub(crate) fn beside(&self) -> Beside {
        let beside = self.beside.lock().unwrap_or_else(PoisonError::into_inner);
        beside.clone()
    }

    /// The time of the command, in milliseconds since 1970.
    pub fn now(&self) -> i64 {
        self.now
    }

    /// What `$$CLUSTER_TIME` answers, where there is one.
    pub fn cluster_time(&self) -> Option<u64> {
        self.cluster_time
    }

    /// Whether empty time stamps in replacements stay as they are.
    pub(crate) const fn keeps_empty_stamps(&self) -> bool {
        self.keeps_empty_stamps
    }

    /// The variable of that name, the innermost one.
    pub fn variable(&self, name: &str) -> Option<&Value> {
        let found = self.variables.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, value)| value)
    }

    /// The names of the variables, as a parser needs them.
    pub fn names(&self) -> Names {
        let mut names = Names::default();
        names
            .known
            .extend(self.variables.iter().map(|(name, _)| name.clone()));
        names.budget = Some(Arc::clone(&self.budget));
        names
    }

    /// The next 64 random bits, by the mixing function SplitMix64.
    pub fn random_bits(&self) -> u64 {
        let before = self.seed.fetch_add(SEED_STEP, Ordering::Relaxed);
        let mut bits = before.wrapping_add(SEED_STEP);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// The next random number, at least 0 and less than 1.
    pub fn random(&self) -> f64 {
        (self.random_bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The variables a parser may meet; using another one is an error at once, not when documents come.
#[derive(Clone, Debug, Default)]
pub struct Names {
    known: Vec<Str>,
    metas: Metas,
    collation: Option<Arc<Collation>>,
    budget: Option<Arc<Budget>>,
    late_mistakes: bool,
}

impl Names {
    /// What computing constants may use.
    pub(crate) fn budget(&self) -> Arc<Budget> {
        self.budget.clone().unwrap_or_default()
    }

    /// Counts constants that have been computed, for as long as the request lasts.
    pub(crate) fn keep(&self, bytes: usize) -> Result<()> {
        match &self.budget {
            Some(budget) => {
                budget.set_scratch(0);
                Ok(budget.keep(bytes)?)
            }
            None => Ok(()),
        }
    }

    /// The same names and one more.
    pub fn with(&self, name: impl Into<Str>) -> Names {
        let mut names = self.clone();
        names.known.push(name.into());
        names
    }

    /// The same where this is known of documents.
    #[must_use]
    pub fn with_metas(mut self, metas: Metas) -> Names {
        self.metas = metas;
        self
    }

    /// The same where a constant that cannot be computed is a mistake only once a document comes: in updates.
    #[must_use]
    pub(crate) fn with_late_mistakes(mut self, late: bool) -> Names {
        self.late_mistakes = late;
        self
    }

    /// Whether a constant may fail to be computed until a document comes.
    pub(crate) fn are_mistakes_late(&self) -> bool {
        self.late_mistakes
    }

    /// The same where texts are compared so.
    #[must_use]
    pub fn with_collation(mut self, collation: Option<Arc<Collation>>) -> Names {
        self.collation = collation;
        self
    }

    /// How texts are compared, unless by their bytes.
    pub(crate) fn collation(&self) -> Option<&Arc<Collation>> {
        self.collation.as_ref()
    }

    /// What `$meta` can tell.
    pub fn metas(&self) -> Metas {
        self.metas
    }

    /// Whether there is such a variable.
    pub fn contains(&self, name: &str) -> bool {
        self.known.iter().any(|known| known == name)
    }
}

/// A variable of `$let`, `$map` and their like, and those around it.
#[derive(Debug)]
pub(crate) struct Local<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: &'a Value,
    pub(crate) outer: Option<&'a Local<'a>>,
}

/// Whether an expression names a field of a document.
fn reads_document(value: &Value) -> bool {
    match value {
        Value::String(text) => {
            let whole = ["$$ROOT", "$$CURRENT"]
                .iter()
                .any(|name| text.starts_with(name));
            whole || (text.starts_with('$') && !text.starts_with("$$"))
        }
        Value::Array(elements) => elements.iter().any(reads_document),
        Value::Object(object) => object
            .iter()
            .any(|(name, value)| name != "$literal" && reads_document(value)),
        _ => false,
    }
}

/// What one evaluation sees.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    root: &'a Object,
    current: Option<&'a Value>,
    locals: Option<&'a Local<'a>>,
    env: &'a Env,
}

impl<'a> Scope<'a> {
    /// The scope of a whole document. What is computed in it is counted from zero.
    pub fn new(root: &'a Object, env: &'a Env) -> Scope<'a> {
        env.budget.set_scratch(0);
        Scope {
            root,
            current: None,
            locals: None,
            env,
        }
    }

    /// The document.
    pub(crate) fn root(&self) -> &'a Object {
        self.root
    }

    /// What field paths start from, unless it is the document.
    pub(crate) fn current(&self) -> Option<&'a Value> {
        self.current
    }

    pub(crate) fn env(&self) -> &'a Env {
        self.env
    }

    /// What the request may use.
    pub(crate) fn budget(&self) -> &'a Budget {
        &self.env.budget
    }

    /// The same scope with field paths starting elsewhere.
    pub(crate) fn at(&self, current: &'a Value) -> Scope<'a> {
        Scope {
            current: Some(current),
            ..*self
        }
    }

    /// A variable that hides outer ones of its name, to be handed to [`Scope::inside`].
    pub(crate) fn local(&self, name: &'a str, value: &'a Value) -> Local<'a> {
        Local {
            name,
            value,
            outer: self.locals,
        }
    }

    /// The same scope with that variable. Binding CURRENT moves where field paths start.
    pub(crate) fn inside<'b>(&self, local: &'b Local<'b>) -> Scope<'b>
    where
        'a: 'b,
    {
        Scope {
            root: self.root,
            current: match local.name {
                "CURRENT" => Some(local.value),
                _ => self.current,
            },
            locals: Some(local),
            env: self.env,
        }
    }

    /// The variable of that name, or the absence of a value.
    pub(crate) fn variable(&self, name: &str) -> &'a Value {
        let mut next = self.locals;
        while let Some(local) = next {
            if local.name == name {
                return local.value;
            }
            next = local.outer;
        }
        self.env.variable(name).unwrap_or(Value::undefined())
    }
}
