//! Regular expressions. Their options are letters of `imsx`; what is no expression or no option makes a function undefined.

use std::ops::Range;

use lapsedb_value::Value;
use lapsedb_value::budget::{VALUE_BYTES, text_bytes};
use lapsedb_value::pattern::{Found, Pattern};

use crate::error::SqlError;
use crate::eval::{Ctx, Dialect};
use crate::functions::args::{self, Args};
use crate::limits::STRING_BYTES_MAX;

/// `REGEXMATCH`: text, expression, options.
pub(crate) fn is_match(ctx: &Ctx<'_>, args: &Args<'_>) -> Result<Option<Value>, SqlError> {
    let Some((text, regex)) = compiled(ctx, args, 2)? else {
        return Ok(None);
    };
    let found = regex.is_match(text, ctx.budget())?;
    Ok(Some(Value::Bool(found)))
}

/// `RegexExtract`: text, expression, options, number of the group that is wanted, 0 being the whole.
pub(crate) fn extract(ctx: &Ctx<'_>, args: &Args<'_>) -> Result<Option<Value>, SqlError> {
    let (Some((text, regex)), Some(group)) = (compiled(ctx, args, 2)?, group(args)) else {
        return Ok(None);
    };
    let found = regex.find_at(text, 0, ctx.budget())?;
    let part = found.and_then(|found| text.get(range_of(&found, group)?));
    Ok(part.map(Value::from))
}

/// `RegexExtractAll`: as `RegexExtract`, but an array. Where the group took no part, there is no element.
pub(crate) fn extract_all(ctx: &Ctx<'_>, args: &Args<'_>) -> Result<Option<Value>, SqlError> {
    let (Some((text, regex)), Some(group)) = (compiled(ctx, args, 2)?, group(args)) else {
        return Ok(None);
    };
    let mut parts = Vec::new();
    let mut matches = Matches::new(text, &regex);
    while let Some(found) = matches.next(ctx)? {
        if let Some(part) = range_of(&found, group).and_then(|range| text.get(range)) {
            ctx.charge((VALUE_BYTES + text_bytes(part.len())) as u64)?;
            parts.push(Value::from(part));
        }
    }
    Ok(Some(Value::Array(parts)))
}

/// `RegexReplace`: text, expression, what replaces the first occurrence, options.
pub(crate) fn replace(ctx: &Ctx<'_>, args: &Args<'_>) -> Result<Option<Value>, SqlError> {
    replaced(ctx, args, 1)
}

/// `RegexReplaceAll`: as `RegexReplace`, for every occurrence.
pub(crate) fn replace_all(ctx: &Ctx<'_>, args: &Args<'_>) -> Result<Option<Value>, SqlError> {
    replaced(ctx, args, usize::MAX)
}

fn replaced(ctx: &Ctx<'_>, args: &Args<'_>, times: usize) -> Result<Option<Value>, SqlError> {
    let (Some((text, regex)), Some(with)) = (compiled(ctx, args, 3)?, args::text(args, 2)) else {
        return Ok(None);
    };
    let mut matches = Matches::new(text, &regex);
    let (mut all, mut end) = (String::new(), 0);
    for _ in 0..times {
        let Some(found) = matches.next(ctx)? else {
            break;
        };
        all.push_str(text.get(end..found.range.start).unwrap_or_default());
        if !substitute(text, &found, with, &mut all) {
            return Ok(None);
        }
        end = found.range.end;
    }
    all.push_str(text.get(end..).unwrap_or_default());
    let fits = all.len() <= STRING_BYTES_MAX;
    Ok(fits.then(|| Value::from(all)))
}

/// Text and expression; nothing if one of them or the options at that place are no such thing.
fn compiled<'a>(
    ctx: &Ctx<'_>,
    args: &'a Args<'_>,
    options_at: usize,
) -> Result<Option<(&'a str, Pattern)>, SqlError> {
    let (Some(text), Some(source), Some(options)) = (
        args::text(args, 0),
        args::text(args, 1),
        args::text_or(args, options_at, ""),
    ) else {
        return Ok(None);
    };
    let regex = ctx.pattern(source, Dialect::Regex(options))?;
    Ok(regex.map(|regex| (text, regex)))
}

/// The number of the group that is wanted.
fn group(args: &Args<'_>) -> Option<usize> {
    match args.len() {
        0..=3 => Some(0),
        _ => usize::try_from(args::integer(args, 3)?).ok(),
    }
}

fn range_of(found: &Found, group: usize) -> Option<Range<usize>> {
    match group.checked_sub(1) {
        None => Some(found.range.clone()),
        Some(at) => found.groups.get(at)?.clone(),
    }
}

/// Occurrences from left to right. An empty one right behind another is none.
struct Matches<'a> {
    text: &'a str,
    regex: &'a Pattern,
    at: usize,
    end: Option<usize>,
}

impl<'a> Matches<'a> {
    fn new(text: &'a str, regex: &'a Pattern) -> Matches<'a> {
        Matches {
            text,
            regex,
            at: 0,
            end: None,
        }
    }

    fn next(&mut self, ctx: &Ctx<'_>) -> Result<Option<Found>, SqlError> {
        while let Some(found) = self.regex.find_at(self.text, self.at, ctx.budget())? {
            let range = &found.range;
            if range.is_empty() && self.end == Some(range.end) {
                let rest = self.text.get(self.at..).unwrap_or_default();
                let Some(skipped) = rest.chars().next() else {
                    break;
                };
                self.at += skipped.len_utf8();
                continue;
            }
            (self.at, self.end) = (range.end, Some(range.end));
            return Ok(Some(found));
        }
        Ok(None)
    }
}

/// Adds what replaces an occurrence: `$1` and `${1}` are groups, `$$` is a dollar sign, and what is no group stays as it is
/// written. False if the text grows too long.
fn substitute(text: &str, found: &Found, with: &str, all: &mut String) -> bool {
    let mut rest = with;
    while let Some((before, after)) = rest.split_once('$') {
        all.push_str(before);
        let (part, behind) = match (after.strip_prefix('$'), reference(after)) {
            (Some(behind), _) => ("$", behind),
            (None, Some((group, behind))) if group <= found.groups.len() => {
                let range = range_of(found, group).unwrap_or_default();
                (text.get(range).unwrap_or_default(), behind)
            }
            (None, _) => ("$", after),
        };
        all.push_str(part);
        rest = behind;
        if all.len() > STRING_BYTES_MAX {
            return false;
        }
    }
    all.push_str(rest);
    all.len() <= STRING_BYTES_MAX
}

/// The number of a group that a text begins with, and what is behind it.
fn reference(text: &str) -> Option<(usize, &str)> {
    if let Some(braced) = text.strip_prefix('{') {
        let (number, behind) = braced.split_once('}')?;
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        return Some((number.parse().ok().filter(|_| is_number)?, behind));
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, behind) = text.split_at_checked(digits)?;
    Some((number.parse().ok()?, behind))
}
