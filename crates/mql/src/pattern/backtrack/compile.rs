//! From the tree of a pattern to its instructions.

use std::collections::HashMap;
use std::ptr;

use fancy_regex::{BacktrackingControlVerb, Expr, LookAround};
use lapsedb_value::Budget;
use lapsedb_value::pattern::{COMPILED_BYTES_MAX, fold};

use super::facts::{self, Facts};
use super::program::{Control, Program, Step};
use super::set::Set;
use super::visits::{Refused, Visits};

/// Characters of a class whose case is to be ignored that are looked at within one visit.
const FOLDED_CHARS_PER_VISIT: usize = 16;

/// Characters that a look-behind goes back.
const LOOK_BEHIND_CHARS_MAX: usize = 65_535;

impl Program {
    /// The reason is told if there is no program.
    pub(super) fn new(expr: &Expr, budget: &Budget) -> Result<Program, Refused> {
        let mut visits = Visits::new(budget);
        let mut groups = vec![(expr, 1)];
        facts::number(expr, &mut 1, &mut groups, &mut visits)?;
        let groups_len = groups.len();
        let mut compiler = Compiler {
            visits,
            facts: Facts::default(),
            steps: Vec::new(),
            bytes: 0,
            group: 1,
            groups,
            places_len: 2 * groups_len,
            sets: HashMap::new(),
            sets_of_parts: HashMap::new(),
            calls: Vec::new(),
        };
        compiler.expr(expr)?;
        compiler.push(Step::Match)?;
        compiler.routines()?;
        let first = compiler.first(expr)?;
        let at_start = facts::begins_text(expr, &mut compiler.visits)?;
        Ok(Program {
            groups_len,
            places_len: compiler.places_len,
            first,
            at_start,
            bytes: compiler.bytes,
            steps: compiler.steps,
        })
    }
}

struct Compiler<'a> {
    visits: Visits<'a>,
    facts: Facts,
    steps: Vec<Step>,
    bytes: usize,
    /// The number of the next group.
    group: usize,
    groups: Vec<(&'a Expr, usize)>,
    places_len: usize,
    sets: HashMap<(String, bool), Set>,
    /// The same by the place of a part in memory: to look a long source up once more for each copy would take its length.
    sets_of_parts: HashMap<*const Expr, Set>,
    /// Calls, and the groups they name.
    calls: Vec<(usize, usize)>,
}

type Compiled<T = ()> = Result<T, Refused>;

impl<'a> Compiler<'a> {
    fn push(&mut self, step: Step) -> Compiled<usize> {
        let owned = match &step {
            Step::Text(text) => text.len(),
            _ => 0,
        };
        self.grow(size_of::<Step>() + owned)?;
        self.steps.push(step);
        Ok(self.steps.len() - 1)
    }

    fn grow(&mut self, bytes: usize) -> Compiled {
        self.bytes += bytes;
        if self.bytes > COMPILED_BYTES_MAX {
            return Err(Refused::Invalid(format!(
                "compiled it is larger than {COMPILED_BYTES_MAX} bytes"
            )));
        }
        Ok(())
    }

    fn here(&self) -> u32 {
        self.steps.len() as u32
    }

    fn place(&mut self) -> u32 {
        self.places_len += 1;
        self.places_len as u32 - 1
    }

    /// Sets the target of a jump that was written before it was known.
    fn aim(&mut self, at: usize, target: u32) {
        if let Some(
            Step::Jump(open)
            | Step::IfNothing(_, open)
            | Step::Unless(_, open)
            | Step::UnlessGroup(_, open)
            | Step::Call(open),
        ) = self.steps.get_mut(at)
        {
            *open = target;
        }
    }

    fn set(&mut self, source: &str, case_insensitive: bool) -> Compiled<Set> {
        let key = (source.to_owned(), case_insensitive);
        if let Some(known) = self.sets.get(&key) {
            return Ok(known.clone());
        }
        self.visits.count(source.len())?;
        if case_insensitive {
            let chars = fold::folding(source, false).chars;
            self.visits.count(1 + chars / FOLDED_CHARS_PER_VISIT)?;
        }
        let set = Set::parse(source, case_insensitive)
            .ok_or_else(|| Refused::Invalid(format!("{source} is not a set of characters")))?;
        self.grow(set.bytes() + key.0.len())?;
        self.sets.insert(key, set.clone());
        Ok(set)
    }

    /// The set of a part that matches exactly one character.
    fn one(&mut self, expr: &Expr) -> Compiled<Option<Set>> {
        let is_one = match expr {
            Expr::Any { .. } | Expr::Delegate { .. } => true,
            Expr::Literal { val, .. } => val.chars().take(2).count() == 1,
            _ => false,
        };
        if !is_one {
            return Ok(None);
        }
        if let Some(known) = self.sets_of_parts.get(&ptr::from_ref(expr)) {
            return Ok(Some(known.clone()));
        }
        let set = match expr {
            Expr::Any { newline: true, .. } => Set::any_but(&[]),
            Expr::Any { crlf: true, .. } => Set::any_but(&['\n', '\r']),
            Expr::Any { .. } => Set::any_but(&['\n']),
            Expr::Delegate { inner, casei } => self.set(inner, *casei)?,
            Expr::Literal { val, casei } => self.set(&regex_syntax::escape(val), *casei)?,
            _ => return Ok(None),
        };
        self.sets_of_parts.insert(ptr::from_ref(expr), set.clone());
        Ok(Some(set))
    }

    /// The characters that a match of the part begins with, if they can be told.
    fn first(&mut self, expr: &Expr) -> Compiled<Option<Set>> {
        self.visits.count(1)?;
        match expr {
            Expr::Any { .. } | Expr::Delegate { .. } => self.one(expr),
            Expr::Literal { val, casei } => {
                let Some(sign) = val.chars().next() else {
                    return Ok(None);
                };
                let sign = sign.to_string();
                Ok(Some(self.set(&regex_syntax::escape(&sign), *casei)?))
            }
            Expr::Group(inner) => self.first(inner),
            Expr::AtomicGroup(inner) => self.first(inner),
            Expr::Repeat { child, lo, .. } if *lo > 0 => self.first(child),
            Expr::Concat(parts) => {
                for part in parts {
                    match part {
                        Expr::Assertion(_) | Expr::LookAround(..) | Expr::Empty => {
                            self.visits.count(1)?;
                        }
                        consumes => return self.first(consumes),
                    }
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn expr(&mut self, expr: &'a Expr) -> Compiled {
        self.visits.count(1)?;
        if let Some(set) = self.one(expr)? {
            self.push(Step::One(set))?;
            return Ok(());
        }
        match expr {
            Expr::Empty => {}
            Expr::Assertion(assertion) => {
                self.push(Step::Assert(*assertion))?;
            }
            Expr::Literal { val, casei: false } => {
                self.push(Step::Text(val.as_str().into()))?;
            }
            Expr::Literal { val, .. } => {
                for sign in val.chars() {
                    let set = self.set(&regex_syntax::escape(&sign.to_string()), true)?;
                    self.push(Step::One(set))?;
                }
            }
            Expr::Concat(parts) => self.concat(parts)?,
            Expr::Alt(ways) => self.alternatives(ways)?,
            Expr::Group(inner) => {
                let number = self.group as u32;
                self.group += 1;
                self.push(Step::Save(2 * number))?;
                self.expr(inner)?;
                self.push(Step::Save(2 * number + 1))?;
            }
            Expr::LookAround(inner, kind) => self.look_around(inner, *kind)?,
            Expr::AtomicGroup(inner) => self.atomic(inner)?,
            Expr::Repeat {
                child,
                lo,
                hi,
                greedy,
            } => self.repeat(child, (*lo, *hi), *greedy)?,
            Expr::GeneralNewline { .. } => self.line_break()?,
            Expr::Conditional {
                condition,
                true_branch,
                false_branch,
            } => self.conditional(condition, true_branch, false_branch)?,
            Expr::DefineGroup { definitions } => {
                self.group += self.facts.of(definitions, &mut self.visits)?.groups;
            }
            Expr::SubroutineCall(group) => {
                self.known(*group)?;
                let at = self.push(Step::Call(0))?;
                self.calls.push((at, *group));
            }
            other => self.leaf(other)?,
        }
        Ok(())
    }

    /// Parts without others inside.
    fn leaf(&mut self, expr: &Expr) -> Compiled {
        let step = match expr {
            Expr::Backref { group, casei } => Step::Same {
                group: self.known(*group)?,
                case_insensitive: *casei,
            },
            Expr::BackrefExistsCondition {
                group,
                relative_recursion_level: None,
            } => {
                let group = self.known(*group)?;
                let at = self.push(Step::UnlessGroup(group, 0))?;
                let over = self.push(Step::Jump(0))?;
                self.aim(at, over as u32 + 1);
                self.push(Step::Fail)?;
                self.aim(over, self.here());
                return Ok(());
            }
            Expr::KeepOut => Step::Save(0),
            Expr::ContinueFromPreviousMatchEnd => Step::SearchStart,
            Expr::BacktrackingControlVerb(verb) => match verb {
                BacktrackingControlVerb::Fail => Step::Fail,
                BacktrackingControlVerb::Accept => Step::Match,
                BacktrackingControlVerb::Commit => Step::Control(Control::Commit),
                BacktrackingControlVerb::Skip => Step::Control(Control::Skip),
                BacktrackingControlVerb::Prune => Step::Control(Control::Prune),
            },
            _ => {
                let why = "it has a part that is not supported";
                return Err(Refused::Invalid(why.to_owned()));
            }
        };
        self.push(step)?;
        Ok(())
    }

    /// The number of a group that exists.
    fn known(&self, group: usize) -> Compiled<u32> {
        match group < self.groups.len() {
            true => Ok(group as u32),
            false => Err(Refused::Invalid(format!("there is no group {group}"))),
        }
    }

    fn concat(&mut self, parts: &'a [Expr]) -> Compiled {
        let mut text = String::new();
        for part in parts {
            if let Expr::Literal { val, casei: false } = part {
                self.visits.count(1)?;
                text.push_str(val);
                continue;
            }
            if !text.is_empty() {
                let text = std::mem::take(&mut text);
                self.push(Step::Text(text.into()))?;
            }
            self.expr(part)?;
        }
        if !text.is_empty() {
            self.push(Step::Text(text.into()))?;
        }
        Ok(())
    }

    fn alternatives(&mut self, ways: &'a [Expr]) -> Compiled {
        let mut ends = Vec::with_capacity(ways.len());
        let Some((last, others)) = ways.split_last() else {
            return Ok(());
        };
        for way in others {
            let split = self.push(Step::Fail)?;
            self.expr(way)?;
            ends.push(self.push(Step::Jump(0))?);
            self.steps[split] = Step::Split(split as u32 + 1, self.here());
        }
        self.expr(last)?;
        for end in ends {
            self.aim(end, self.here());
        }
        Ok(())
    }

    fn line_break(&mut self) -> Compiled {
        let set = self.set("[\\n\\x0B\\f\\r\\x{85}\\x{2028}\\x{2029}]", false)?;
        let split = self.here();
        self.push(Step::Split(split + 1, split + 3))?;
        self.push(Step::Text("\r\n".into()))?;
        self.push(Step::Jump(split + 4))?;
        self.push(Step::One(set))?;
        Ok(())
    }

    fn atomic(&mut self, inner: &'a Expr) -> Compiled {
        let mark = self.place();
        self.push(Step::Mark(mark))?;
        self.expr(inner)?;
        self.push(Step::Cut(mark))?;
        Ok(())
    }

    fn look_around(&mut self, inner: &'a Expr, kind: LookAround) -> Compiled {
        let (behind, negative) = match kind {
            LookAround::LookAhead => (false, false),
            LookAround::LookAheadNeg => (false, true),
            LookAround::LookBehind => (true, false),
            LookAround::LookBehindNeg => (true, true),
        };
        let (mark, place) = (self.place(), self.place());
        let enter = match negative {
            true => self.push(Step::Unless(mark, 0))?,
            false => self.push(Step::Mark(mark))?,
        };
        self.push(Step::Save(place))?;
        if behind {
            let width = self.facts.of(inner, &mut self.visits)?.width;
            let most = width.most.filter(|most| *most <= LOOK_BEHIND_CHARS_MAX);
            let Some(most) = most else {
                return Err(Refused::Invalid(format!(
                    "a look-behind must have a length of at most {LOOK_BEHIND_CHARS_MAX} characters"
                )));
            };
            let (least, most) = (width.least as u32, most as u32);
            self.push(Step::Back { least, most })?;
        }
        self.expr(inner)?;
        if behind {
            self.push(Step::Here(place))?;
        }
        if negative {
            self.push(Step::Contradict(mark))?;
            self.aim(enter, self.here());
        } else {
            self.push(Step::Cut(mark))?;
            self.push(Step::Return(place))?;
        }
        Ok(())
    }

    fn repeat(&mut self, child: &'a Expr, (lo, hi): (usize, usize), greedy: bool) -> Compiled {
        if hi < lo {
            let why = "the numbers of a quantifier are out of order";
            return Err(Refused::Invalid(why.to_owned()));
        }
        if let Some(set) = self.one(child)? {
            let short = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
            self.push(Step::Many {
                set,
                least: short(lo),
                most: short(hi),
                greedy,
            })?;
            return Ok(());
        }
        let group = self.group;
        let forever = hi == usize::MAX;
        let copies = if forever { lo.max(1) - 1 } else { lo };
        for _ in 0..copies {
            self.copy(child, group)?;
        }
        let mut leave = Vec::new();
        if forever {
            self.endless(child, group, lo == 0, greedy)?;
        } else {
            for _ in lo..hi {
                leave.push(self.push(Step::Fail)?);
                self.copy(child, group)?;
            }
        }
        let out = self.here();
        for at in leave {
            self.steps[at] = split(at as u32 + 1, out, greedy);
        }
        self.group = group + self.facts.of(child, &mut self.visits)?.groups;
        Ok(())
    }

    /// The same part once more, with the same groups. It is visited even if it is nothing, so that no copy is made for free.
    fn copy(&mut self, child: &'a Expr, group: usize) -> Compiled {
        self.group = group;
        self.expr(child)
    }

    /// The part at least once, or, if it may be missing, not at all.
    fn endless(&mut self, child: &'a Expr, group: usize, missing: bool, greedy: bool) -> Compiled {
        let enter = match missing {
            true => Some(self.push(Step::Fail)?),
            false => None,
        };
        let body = self.here();
        let may_be_empty = self.facts.of(child, &mut self.visits)?.width.least == 0;
        let place = self.place();
        if may_be_empty {
            self.push(Step::Save(place))?;
        }
        self.copy(child, group)?;
        // An iteration that has matched nothing is the last one.
        let stop = match may_be_empty {
            true => Some(self.push(Step::IfNothing(place, 0))?),
            false => None,
        };
        let again = self.push(Step::Fail)?;
        let out = self.here();
        self.steps[again] = split(body, out, greedy);
        if let Some(stop) = stop {
            self.aim(stop, out);
        }
        if let Some(enter) = enter {
            self.steps[enter] = split(body, out, greedy);
        }
        Ok(())
    }

    fn conditional(&mut self, condition: &'a Expr, yes: &'a Expr, no: &'a Expr) -> Compiled {
        let group = match condition {
            Expr::BackrefExistsCondition {
                group,
                relative_recursion_level: None,
            } => Some(self.known(*group)?),
            _ => None,
        };
        let mark = self.place();
        let test = match group {
            Some(group) => self.push(Step::UnlessGroup(group, 0))?,
            None => {
                self.push(Step::Mark(mark))?;
                let test = self.push(Step::Fail)?;
                self.expr(condition)?;
                self.push(Step::Cut(mark))?;
                test
            }
        };
        self.expr(yes)?;
        let over = self.push(Step::Jump(0))?;
        let otherwise = self.here();
        match group {
            Some(_) => self.aim(test, otherwise),
            None => self.steps[test] = Step::Split(test as u32 + 1, otherwise),
        }
        self.expr(no)?;
        self.aim(over, self.here());
        Ok(())
    }

    /// Writes the groups that are called, each once, behind the rest.
    fn routines(&mut self) -> Compiled {
        let mut known: HashMap<usize, u32> = HashMap::new();
        while let Some((at, group)) = self.calls.pop() {
            let start = match known.get(&group) {
                Some(start) => *start,
                None => {
                    let start = self.here();
                    known.insert(group, start);
                    let (expr, first) = self.groups[group];
                    self.group = first;
                    self.expr(expr)?;
                    self.push(Step::End)?;
                    start
                }
            };
            self.aim(at, start);
        }
        Ok(())
    }
}

/// The one way first, or the other.
fn split(body: u32, out: u32, greedy: bool) -> Step {
    match greedy {
        true => Step::Split(body, out),
        false => Step::Split(out, body),
    }
}
