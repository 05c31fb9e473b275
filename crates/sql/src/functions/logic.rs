//! `AND` and `OR` over many answers, some of which may be missing.

/// False if any is false, true if all are true, else nothing.
pub(crate) fn all(answers: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut known = true;
    for answer in answers {
        match answer {
            Some(false) => return Some(false),
            Some(true) => {}
            None => known = false,
        }
    }
    known.then_some(true)
}

/// True if any is true, false if all are false, else nothing.
pub(crate) fn any(answers: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    all(answers.map(|answer| answer.map(|truth| !truth))).map(|truth| !truth)
}
