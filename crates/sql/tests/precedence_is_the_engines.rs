//! Operators group as in the service's own engine: every pair and every triple of them, against the table of levels in
//! `docs/decisions/0030-sql-as-the-service-reads-it.md`, and what query plans show.
//!
//! The table is read by splitting at the loosest operator, so that it shares nothing with the parser, which climbs from the
//! tightest.

use lapsedb_sql::ast::{Expr, Query, SelectList};
use lapsedb_sql::parse;

use crate::corpus;

/// One level and left to right each, from the tightest.
const LEVELS: [&[&str]; 3] = [
    &["*", "/", "%"],
    &["+", "-", "&", "^", "|", "||"],
    &["<<", ">>", ">>>", "<", "<=", ">", ">=", "=", "!=", "<>"],
];
const UNARY: [&str; 4] = ["NOT", "-", "+", "~"];
const OPERANDS: [&str; 9] = ["p", "q", "r", "s", "t", "u", "v", "w", "x"];

/// What stands in an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Token {
    Operand(&'static str),
    Unary(&'static str),
    Binary(&'static str),
    /// `IN (1)`, which ends an operand.
    In(&'static str),
    Like(&'static str),
    Between(&'static str),
    /// The `AND` of `BETWEEN`.
    BetweenAnd,
    And,
    Or,
    Coalesce,
    Question,
    Colon,
}

/// How an operator is put into a text.
#[derive(Clone, Copy, Debug)]
enum Operator {
    /// Before the next operand.
    Unary(&'static str),
    /// Between two operands.
    Infix(Token),
    /// After an operand.
    In(&'static str),
    /// `BETWEEN q AND`
    Between(&'static str),
    /// `? q :`
    Conditional,
}

fn operators() -> Vec<Operator> {
    let mut all: Vec<Operator> = UNARY.map(Operator::Unary).to_vec();
    for level in LEVELS {
        all.extend(
            level
                .iter()
                .map(|symbol| Operator::Infix(Token::Binary(symbol))),
        );
    }
    all.extend([Token::And, Token::Or, Token::Coalesce].map(Operator::Infix));
    all.extend(["LIKE", "NOT LIKE"].map(|word| Operator::Infix(Token::Like(word))));
    all.extend(["IN", "NOT IN"].map(Operator::In));
    all.extend(["BETWEEN", "NOT BETWEEN"].map(Operator::Between));
    all.push(Operator::Conditional);
    all
}

/// The operators in this order, with operands where they are wanted. None where a unary operator would follow an operand.
fn tokens(operators: &[Operator]) -> Option<Vec<Token>> {
    let mut names = OPERANDS.iter();
    let mut out = Vec::new();
    let mut is_complete = false;
    for operator in operators {
        match operator {
            Operator::Unary(symbol) => {
                if is_complete {
                    return None;
                }
                out.push(Token::Unary(symbol));
                continue;
            }
            Operator::Infix(_) | Operator::In(_) | Operator::Between(_) | Operator::Conditional => {
            }
        }
        if !is_complete {
            out.push(Token::Operand(names.next()?));
        }
        is_complete = false;
        match operator {
            Operator::Unary(_) => {}
            Operator::Infix(token) => out.push(*token),
            Operator::In(word) => {
                out.push(Token::In(word));
                is_complete = true;
            }
            Operator::Between(word) => {
                out.extend([
                    Token::Between(word),
                    Token::Operand(names.next()?),
                    Token::BetweenAnd,
                ]);
            }
            Operator::Conditional => {
                out.extend([Token::Question, Token::Operand(names.next()?), Token::Colon]);
            }
        }
    }
    if !is_complete {
        out.push(Token::Operand(names.next()?));
    }
    Some(out)
}

fn text(tokens: &[Token]) -> String {
    let words: Vec<String> = tokens
        .iter()
        .map(|token| match token {
            Token::Operand(text) | Token::Unary(text) | Token::Binary(text) => (*text).to_owned(),
            Token::Like(text) | Token::Between(text) => (*text).to_owned(),
            Token::In(word) => format!("{word} (1)"),
            Token::BetweenAnd | Token::And => "AND".to_owned(),
            Token::Or => "OR".to_owned(),
            Token::Coalesce => "??".to_owned(),
            Token::Question => "?".to_owned(),
            Token::Colon => ":".to_owned(),
        })
        .collect();
    words.join(" ")
}

/// The text with every operator in parentheses; none if it is refused.
fn conditional(tokens: &[Token]) -> Option<String> {
    let Some(question) = tokens.iter().position(|token| *token == Token::Question) else {
        return coalesce(tokens);
    };
    let (condition, rest) = (&tokens[..question], &tokens[question + 1..]);
    let mut open = 0;
    let colon = rest.iter().position(|token| {
        open += i32::from(*token == Token::Question);
        open -= i32::from(*token == Token::Colon);
        open < 0
    })?;
    let (condition, then) = (coalesce(condition)?, conditional(&rest[..colon])?);
    let otherwise = conditional(&rest[colon + 1..])?;
    Some(format!("({condition} ? {then} : {otherwise})"))
}

/// Right to left.
fn coalesce(tokens: &[Token]) -> Option<String> {
    match tokens.iter().position(|token| *token == Token::Coalesce) {
        Some(at) => {
            let (left, right) = (between(&tokens[..at])?, coalesce(&tokens[at + 1..])?);
            Some(format!("({left} ?? {right})"))
        }
        None => between(tokens),
    }
}

/// `BETWEEN` stands alone: next to `AND`, `OR` and other tests it needs parentheses.
fn between(tokens: &[Token]) -> Option<String> {
    let found = tokens
        .iter()
        .enumerate()
        .find_map(|(at, token)| match token {
            Token::Between(word) => Some((at, *word)),
            _ => None,
        });
    let Some((at, word)) = found else {
        return joined(tokens, Token::Or, "OR");
    };
    let and = tokens
        .iter()
        .position(|token| *token == Token::BetweenAnd)?;
    let value = binary(&tokens[..at], LEVELS.len())?;
    let low = binary(&tokens[at + 1..and], LEVELS.len())?;
    let high = binary(&tokens[and + 1..], LEVELS.len())?;
    Some(format!("({value} {word} {low} AND {high})"))
}

/// Left to right.
fn joined(tokens: &[Token], by: Token, word: &str) -> Option<String> {
    let terms = tokens.split(|token| *token == by).map(|term| match by {
        Token::Or => joined(term, Token::And, "AND"),
        _ => test(term),
    });
    let mut whole: Option<String> = None;
    for term in terms {
        let term = term?;
        whole = Some(match whole {
            Some(left) => format!("({left} {word} {term})"),
            None => term,
        });
    }
    whole
}

/// `IN` and `LIKE` over comparisons; one of them.
fn test(tokens: &[Token]) -> Option<String> {
    let found = tokens
        .iter()
        .position(|token| matches!(token, Token::In(_) | Token::Like(_)));
    let Some(at) = found else {
        return binary(tokens, LEVELS.len());
    };
    let (operand, rest) = (binary(&tokens[..at], LEVELS.len())?, &tokens[at + 1..]);
    match tokens[at] {
        Token::In(word) if rest.is_empty() => Some(format!("({operand} {word} (1))")),
        Token::Like(word) => {
            let pattern = binary(rest, LEVELS.len())?;
            Some(format!("({operand} {word} {pattern})"))
        }
        _ => None,
    }
}

/// Operators of that level and the tighter ones.
fn binary(tokens: &[Token], levels: usize) -> Option<String> {
    let Some(level) = levels.checked_sub(1) else {
        return unary(tokens);
    };
    let last = tokens
        .iter()
        .enumerate()
        .rev()
        .find_map(|(at, token)| match token {
            Token::Binary(symbol) if LEVELS[level].contains(symbol) => Some((at, *symbol)),
            _ => None,
        });
    let Some((at, symbol)) = last else {
        return binary(tokens, level);
    };
    let (left, right) = (
        binary(&tokens[..at], levels)?,
        binary(&tokens[at + 1..], level)?,
    );
    let symbol = if symbol == "<>" { "!=" } else { symbol };
    Some(format!("({left} {symbol} {right})"))
}

fn unary(tokens: &[Token]) -> Option<String> {
    match tokens {
        [Token::Operand(name)] => Some((*name).to_owned()),
        [Token::Unary(symbol), rest @ ..] => Some(format!("({symbol} {})", unary(rest)?)),
        _ => None,
    }
}

/// Whether the table leaves open that the text is accepted: `BETWEEN` behind `??`.
fn is_open(tokens: &[Token]) -> bool {
    let coalesce = tokens.iter().position(|token| *token == Token::Coalesce);
    let between = tokens
        .iter()
        .rposition(|token| matches!(token, Token::Between(_)));
    coalesce.is_some_and(|at| between.is_some_and(|between| at < between))
}

/// The only expression of `SELECT VALUE …`.
fn selected(query: &Query) -> &Expr {
    match &query.select.list {
        SelectList::Value(expr) => expr,
        SelectList::Items(items) => &items[0].expr,
        SelectList::Star(_) => panic!("nothing is selected"),
    }
}

/// What is wrong with how the tokens are grouped.
fn complaint(tokens: &[Token]) -> Option<String> {
    let text = text(tokens);
    let wanted = conditional(tokens);
    let got = parse(&format!("SELECT VALUE {text}"));
    let got = got.as_ref().map(|query| selected(query).to_string());
    let fits = match (&wanted, &got) {
        (None, Err(_)) => true,
        (Some(_), Err(_)) => is_open(tokens),
        (wanted, Ok(got)) => wanted.as_ref() == Some(got),
    };
    (!fits).then(|| format!("{text}: wanted {wanted:?}, got {got:?}"))
}

fn check(all: impl Iterator<Item = Vec<Token>>) {
    let (mut count, mut wrong) = (0, Vec::new());
    for tokens in all {
        count += 1;
        wrong.extend(complaint(&tokens));
    }
    let shown = wrong
        .iter()
        .take(100)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    assert!(
        wrong.is_empty(),
        "{} of {count} group differently:\n{shown}",
        wrong.len()
    );
    assert!(count > 0);
}

#[test]
fn pairs_group_by_their_levels() {
    let all = operators();
    let pairs = all
        .iter()
        .flat_map(|a| all.iter().filter_map(|b| tokens(&[*a, *b])));
    check(pairs);
}

#[test]
fn triples_group_by_their_levels() {
    let all = operators();
    let pairs = all.iter().flat_map(|a| all.iter().map(|b| [*a, *b]));
    check(pairs.flat_map(|[a, b]| all.iter().filter_map(move |c| tokens(&[a, b, *c]))));
}

/// An operator inside of another: the lower bound of `BETWEEN` takes what `IN` takes, the middle of `? :` anything.
#[test]
fn operators_group_inside_of_others() {
    let mut all = Vec::new();
    for operator in operators() {
        let Some(inner) = tokens(&[operator]) else {
            continue;
        };
        let [p, q] = [Token::Operand("o"), Token::Operand("y")];
        let before = |first: &[Token], last: &[Token]| [first, &inner[..], last].concat();
        all.push(before(&[p, Token::Question], &[Token::Colon, q]));
        if !matches!(operator, Operator::Infix(Token::And)) {
            all.push(before(
                &[p, Token::Between("BETWEEN")],
                &[Token::BetweenAnd, q],
            ));
        }
    }
    check(all.into_iter());
}

/// What a plan sends to the partitions shows by its parentheses how the engine groups the query.
#[test]
fn plans_show_the_same_grouping() {
    let mut compared = 0;
    for plan in corpus::plans() {
        let text = &plan.question.text;
        let Ok(query) = parse(text) else { continue };
        for rewritten in &plan.rewritten {
            let Ok(theirs) = parse(&corpus::filled(rewritten)) else {
                continue;
            };
            if let (Some(ours), Some(theirs)) = (&query.filter, &theirs.filter) {
                compared += 1;
                // The engine writes the double 1 without its fraction.
                let ours = ours.to_string().replace(".0)", ")");
                let theirs = theirs.to_string();
                assert!(
                    theirs.contains(&ours),
                    "{text}: wanted {theirs}, got {ours}"
                );
            }
            if text.ends_with(" AS v FROM c ORDER BY c.z") {
                compared += 1;
                let (ours, theirs) = (selected(&query).to_string(), theirs.to_string());
                assert!(
                    theirs.contains(&ours),
                    "{text}: wanted {theirs}, got {ours}"
                );
            }
        }
    }
    assert!(compared > 80, "only {compared} groupings were found");
}
