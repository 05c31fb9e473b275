//! Operators, by precedence climbing.
//!
//! From the tightest: unary operators, `* / %`, `+ - & ^ |` and `||`, shifts with comparisons, then `IN` and `LIKE`, `AND`,
//! `OR`. `BETWEEN` stands alone or in parentheses, for its `AND` is not told from the operator. `??` and `? :` are loosest.

use lapsedb_value::Value;

use super::{Parser, literal};
use crate::ast::{BinaryOp, Expr, ExprKind, Name, UnaryOp};
use crate::error::SqlError;
use crate::keyword::Keyword;
use crate::lexer::Kind;

/// How tightly an operator binds; larger is tighter.
type Level = u8;

const COMPARISON: Level = 1;
const SUM: Level = 2;
const PRODUCT: Level = 3;

/// The operator of a symbol.
fn binary(symbol: &str) -> Option<BinaryOp> {
    Some(match symbol {
        "*" => BinaryOp::Multiply,
        "/" => BinaryOp::Divide,
        "%" => BinaryOp::Modulo,
        "+" => BinaryOp::Add,
        "-" => BinaryOp::Subtract,
        "&" => BinaryOp::BitAnd,
        "^" => BinaryOp::BitXor,
        "|" => BinaryOp::BitOr,
        "||" => BinaryOp::Concat,
        "<<" => BinaryOp::ShiftLeft,
        ">>" => BinaryOp::ShiftRight,
        ">>>" => BinaryOp::ShiftRightZero,
        "<" => BinaryOp::Less,
        "<=" => BinaryOp::LessOrEqual,
        ">" => BinaryOp::Greater,
        ">=" => BinaryOp::GreaterOrEqual,
        "=" => BinaryOp::Equal,
        "!=" | "<>" => BinaryOp::NotEqual,
        _ => return None,
    })
}

/// What `AND` and `OR` have in common.
#[derive(Clone, Copy)]
struct Junction {
    word: Keyword,
    make: fn(Vec<Expr>) -> ExprKind,
}

const OR: Junction = Junction {
    word: Keyword::Or,
    make: ExprKind::Or,
};
const AND: Junction = Junction {
    word: Keyword::And,
    make: ExprKind::And,
};

impl Parser<'_> {
    /// Any expression.
    pub(super) fn expr(&mut self) -> Result<Expr, SqlError> {
        self.nested(Parser::conditional)
    }

    /// `a ? b : c`
    fn conditional(&mut self) -> Result<Expr, SqlError> {
        let condition = self.coalesced()?;
        if self.take_symbol("?") {
            self.branches(condition)
        } else {
            Ok(condition)
        }
    }

    #[inline(never)]
    fn branches(&mut self, condition: Expr) -> Result<Expr, SqlError> {
        let then = self.expr()?;
        self.expect_symbol(":")?;
        let otherwise = self.expr()?;
        let span = condition.span.to(otherwise.span);
        self.node(
            ExprKind::Conditional(Box::new(condition), Box::new(then), Box::new(otherwise)),
            span,
        )
    }

    /// `a ?? b ?? c`, from the right.
    fn coalesced(&mut self) -> Result<Expr, SqlError> {
        let left = self.predicate()?;
        if !self.take_symbol("??") {
            return Ok(left);
        }
        let right = self.nested(Parser::coalesced)?;
        let span = left.span.to(right.span);
        self.node(ExprKind::Coalesce(Box::new(left), Box::new(right)), span)
    }

    /// `a BETWEEN b AND c`, or what `OR`, `AND`, `IN`, `LIKE` and tighter operators make.
    fn predicate(&mut self) -> Result<Expr, SqlError> {
        let first = self.climb(COMPARISON)?;
        let negated = self.is_keyword(Keyword::Not);
        if self.ahead(usize::from(negated)).kind == Kind::Keyword(Keyword::Between) {
            self.at += 1 + usize::from(negated);
            return self.between(first, negated);
        }
        let first = self.in_or_like(first)?;
        let first = self.junction(AND, first)?;
        self.junction(OR, first)
    }

    /// `a AND b AND c`, of which the first operand is read already.
    fn junction(&mut self, junction: Junction, first: Expr) -> Result<Expr, SqlError> {
        if !self.is_keyword(junction.word) {
            return Ok(first);
        }
        let mut span = first.span;
        let mut terms = match (first.kind, junction.word) {
            (ExprKind::And(terms), Keyword::And) | (ExprKind::Or(terms), Keyword::Or) => terms,
            (kind, _) => vec![Expr { kind, ..first }],
        };
        while self.take_keyword(junction.word) {
            self.count_junction(junction.word)?;
            let operand = self.climb(COMPARISON)?;
            let mut term = self.in_or_like(operand)?;
            if junction.word == Keyword::Or {
                term = self.junction(AND, term)?;
            }
            span = span.to(term.span);
            terms.push(term);
        }
        self.node((junction.make)(terms), span)
    }

    /// An operand and every operator after it that binds at least so tightly.
    fn climb(&mut self, least: Level) -> Result<Expr, SqlError> {
        if least > PRODUCT {
            return self.prefix();
        }
        let first = self.climb(least + 1)?;
        let Some(op) = self.operator(least) else {
            return Ok(first);
        };
        self.chain(least, first, op)
    }

    /// The operator that comes next, if it is of that level.
    fn operator(&self, wanted: Level) -> Option<BinaryOp> {
        let Kind::Symbol(symbol) = self.peek().kind else {
            return None;
        };
        binary(symbol).filter(|op| level_of(*op) == wanted)
    }

    #[inline(never)]
    fn chain(&mut self, level: Level, first: Expr, op: BinaryOp) -> Result<Expr, SqlError> {
        let mut rest = Vec::new();
        let mut next = Some(op);
        let mut span = first.span;
        while let Some(op) = next {
            self.at += 1;
            let operand = self.climb(level + 1)?;
            span = span.to(operand.span);
            rest.push((op, operand));
            next = self.operator(level);
        }
        let first = flattened(level, first, &mut rest);
        let first = Box::new(first);
        match (rest.pop(), rest.is_empty()) {
            (Some((op, operand)), true) => {
                self.node(ExprKind::Binary(op, first, Box::new(operand)), span)
            }
            (last, _) => {
                rest.extend(last);
                self.node(ExprKind::Chain(first, rest), span)
            }
        }
    }

    /// `a IN (b)` or `a LIKE b`, of which the first operand is read already.
    fn in_or_like(&mut self, operand: Expr) -> Result<Expr, SqlError> {
        let negated = self.is_keyword(Keyword::Not);
        let word = self.ahead(usize::from(negated));
        // `LET a = b IN c` has an `IN` of its own, which no parenthesis follows.
        let list = self.ahead(usize::from(negated) + 1);
        let belongs_to_let = self.in_let && !negated && list.kind != Kind::Symbol("(");
        match word.kind {
            Kind::Keyword(Keyword::In) if !belongs_to_let => {
                self.at += 1 + usize::from(negated);
                self.in_list(operand, negated)
            }
            Kind::Keyword(Keyword::Like) => {
                self.at += 1 + usize::from(negated);
                self.like(operand, negated)
            }
            _ if negated => {
                self.at += 1;
                Err(self.unexpected())
            }
            _ => Ok(operand),
        }
    }

    #[inline(never)]
    fn in_list(&mut self, needle: Expr, negated: bool) -> Result<Expr, SqlError> {
        self.expect_symbol("(")?;
        let mut list = vec![self.expr()?];
        while self.take_symbol(",") {
            list.push(self.expr()?);
        }
        self.expect_symbol(")")?;
        let span = needle.span.to(self.last_span());
        self.node(
            ExprKind::In {
                needle: Box::new(needle),
                list,
                negated,
            },
            span,
        )
    }

    #[inline(never)]
    fn between(&mut self, value: Expr, negated: bool) -> Result<Expr, SqlError> {
        let low = self.climb(COMPARISON)?;
        self.expect_keyword(Keyword::And)?;
        let high = self.climb(COMPARISON)?;
        let span = value.span.to(high.span);
        let (value, low, high) = (Box::new(value), Box::new(low), Box::new(high));
        self.node(
            ExprKind::Between {
                value,
                low,
                high,
                negated,
            },
            span,
        )
    }

    #[inline(never)]
    fn like(&mut self, value: Expr, negated: bool) -> Result<Expr, SqlError> {
        let pattern = self.climb(COMPARISON)?;
        let escape = if self.take_keyword(Keyword::Escape) {
            Some(self.quoted_name()?)
        } else {
            None
        };
        let span = value.span.to(self.last_span());
        self.node(
            ExprKind::Like {
                value: Box::new(value),
                pattern: Box::new(pattern),
                escape,
                negated,
            },
            span,
        )
    }

    /// A name in quotes.
    pub(super) fn quoted_name(&mut self) -> Result<Name, SqlError> {
        let token = self.peek();
        if token.kind != Kind::String {
            return Err(self.unexpected());
        }
        self.next();
        Ok(Name {
            text: literal::string(token.text),
            span: token.span,
        })
    }

    /// An operand with the operators before it.
    fn prefix(&mut self) -> Result<Expr, SqlError> {
        let op = match self.peek().kind {
            Kind::Symbol("-") => UnaryOp::Minus,
            Kind::Symbol("+") => UnaryOp::Plus,
            Kind::Symbol("~") => UnaryOp::BitNot,
            Kind::Keyword(Keyword::Not) => UnaryOp::Not,
            _ => return self.postfix(),
        };
        let start = self.next().span;
        let operand = self.nested(Parser::prefix)?;
        let span = start.to(operand.span);
        self.node(ExprKind::Unary(op, Box::new(operand)), span)
    }

    /// `LET a = b IN c`, behind its parenthesis.
    #[inline(never)]
    pub(super) fn binding(&mut self) -> Result<Expr, SqlError> {
        let start = self.next().span;
        let name = self.name()?;
        self.expect_symbol("=")?;
        let outer = std::mem::replace(&mut self.in_let, true);
        let value = self.expr();
        self.in_let = outer;
        let value = value?;
        self.expect_keyword(Keyword::In)?;
        let body = self.expr()?;
        let span = start.to(body.span);
        self.node(ExprKind::Let(name, Box::new(value), Box::new(body)), span)
    }

    /// A literal that is no number or string.
    pub(super) fn word_literal(keyword: Keyword) -> Option<Value> {
        Some(match keyword {
            Keyword::True => Value::Bool(true),
            Keyword::False => Value::Bool(false),
            Keyword::Null => Value::Null,
            Keyword::Undefined => Value::Undefined,
            Keyword::NaN => Value::Double(f64::NAN),
            Keyword::Infinity => Value::Double(f64::INFINITY),
            _ => return None,
        })
    }
}

/// The first operand of a chain. If it is a chain of the same level in parentheses, its operators go before the others: that
/// is how they are evaluated, and a query has one tree, with or without such parentheses.
fn flattened(level: Level, first: Expr, rest: &mut Vec<(BinaryOp, Expr)>) -> Expr {
    match first.kind {
        ExprKind::Binary(op, a, b) if level_of(op) == level => {
            rest.insert(0, (op, *b));
            *a
        }
        ExprKind::Chain(a, mut operators)
            if operators
                .first()
                .is_some_and(|(op, _)| level_of(*op) == level) =>
        {
            operators.append(rest);
            *rest = operators;
            *a
        }
        kind => Expr { kind, ..first },
    }
}

/// Operators with two operands of one level bind from left to right.
fn level_of(op: BinaryOp) -> Level {
    match op {
        BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Modulo => PRODUCT,
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::BitAnd
        | BinaryOp::BitXor
        | BinaryOp::BitOr
        | BinaryOp::Concat => SUM,
        BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight
        | BinaryOp::ShiftRightZero
        | BinaryOp::Less
        | BinaryOp::LessOrEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterOrEqual
        | BinaryOp::Equal
        | BinaryOp::NotEqual => COMPARISON,
    }
}
