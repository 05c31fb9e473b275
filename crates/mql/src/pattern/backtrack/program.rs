//! A pattern as instructions.

use fancy_regex::Assertion;

use super::set::Set;

/// One instruction. Places are bounds of groups, and behind them what the program keeps for itself.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Text(Box<str>),
    One(Set),
    /// One character again and again.
    Many {
        set: Set,
        least: u32,
        most: u32,
        greedy: bool,
    },
    Assert(Assertion),
    /// Goes on at the first; at the second if that fails.
    Split(u32, u32),
    Jump(u32),
    /// Keeps where in the text it is.
    Save(u32),
    /// Goes back to where it was, or fails unless it is there.
    Return(u32),
    Here(u32),
    /// Jumps if nothing was matched since the place was kept.
    IfNothing(u32, u32),
    /// Keeps how much could be tried yet; all that was added since is given up.
    Mark(u32),
    Cut(u32),
    /// What follows must fail, and then it goes on there.
    Unless(u32, u32),
    /// What must fail has not.
    Contradict(u32),
    /// So many characters back.
    Back {
        least: u32,
        most: u32,
    },
    Same {
        group: u32,
        case_insensitive: bool,
    },
    /// Jumps unless the group took part.
    UnlessGroup(u32, u32),
    SearchStart,
    /// Runs what is there until it ends.
    Call(u32),
    End,
    Fail,
    /// When it comes back to this, the search goes on elsewhere or ends.
    Control(Control),
    Match,
}

/// Where a search goes on when it comes back to a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// Nowhere.
    Commit,
    /// At the next character.
    Prune,
    /// Where the verb stood.
    Skip,
}

/// The instructions of a pattern.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
    pub(super) groups_len: usize,
    pub(super) places_len: usize,
    /// A match begins with one of these.
    pub(super) first: Option<Set>,
    /// A match begins where the text does.
    pub(super) at_start: bool,
    pub(super) bytes: usize,
}
