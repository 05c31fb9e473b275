//! Operators, by precedence climbing.

use super::{Parser, literal};
use crate::ast::{BinaryOp, Expr, ExprKind, UnaryOp};
use crate::error::SqlError;
use crate::keyword::Keyword;
use crate::lexer::Kind;

/// How tightly an operator binds; larger is tighter.
type Level = u8;

const COALESCE: Level = 2;
const OR: Level = 3;
const AND: Level = 4;
const NOT: Level = 5;
const PREDICATE: Level = 6;
const LOOSEST_BINARY: Level = 7;
const TIGHTEST: Level = 16;

/// What may follow an operand.
enum Infix {
    Binary(BinaryOp),
    And,
    Or,
    Coalesce,
    In,
    Between,
    Like,
}

fn binary(symbol: &str) -> Option<(Level, BinaryOp)> {
    Some(match symbol {
        "*" => (15, BinaryOp::Multiply),
        "/" => (15, BinaryOp::Divide),
        "%" => (15, BinaryOp::Modulo),
        "+" => (14, BinaryOp::Add),
        "-" => (14, BinaryOp::Subtract),
        "<<" => (13, BinaryOp::ShiftLeft),
        ">>" => (13, BinaryOp::ShiftRight),
        ">>>" => (13, BinaryOp::ShiftRightZero),
        "<" => (12, BinaryOp::Less),
        "<=" => (12, BinaryOp::LessOrEqual),
        ">" => (12, BinaryOp::Greater),
        ">=" => (12, BinaryOp::GreaterOrEqual),
        "=" => (11, BinaryOp::Equal),
        "!=" | "<>" => (11, BinaryOp::NotEqual),
        "&" => (10, BinaryOp::BitAnd),
        "^" => (9, BinaryOp::BitXor),
        "|" => (8, BinaryOp::BitOr),
        "||" => (LOOSEST_BINARY, BinaryOp::Concat),
        _ => return None,
    })
}

impl Parser<'_> {
    /// Any expression.
    pub(super) fn expr(&mut self) -> Result<Expr, SqlError> {
        self.enter()?;
        let condition = self.climb(COALESCE)?;
        let expr = if self.take_symbol("?") {
            self.branches(condition)?
        } else {
            condition
        };
        self.leave();
        Ok(expr)
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

    /// An operand and every operator after it that binds at least so tightly.
    fn climb(&mut self, least: Level) -> Result<Expr, SqlError> {
        let mut left = self.prefix(least)?;
        // What was just built may only be an operand of something looser: `a IN (1) = b` is refused.
        let mut most = TIGHTEST;
        while let Some((level, infix, negated)) = self.infix() {
            if level < least || level > most {
                break;
            }
            self.at += 1 + usize::from(negated);
            left = self.apply(left, level, infix, negated)?;
            most = if level == PREDICATE { AND } else { level };
        }
        Ok(left)
    }

    /// The operator that comes next, and whether a `NOT` stands before it.
    fn infix(&self) -> Option<(Level, Infix, bool)> {
        let negated = self.is_keyword(Keyword::Not);
        match self.ahead(usize::from(negated)).kind {
            Kind::Keyword(Keyword::In) => Some((PREDICATE, Infix::In, negated)),
            Kind::Keyword(Keyword::Between) => Some((PREDICATE, Infix::Between, negated)),
            Kind::Keyword(Keyword::Like) => Some((PREDICATE, Infix::Like, negated)),
            _ if negated => None,
            Kind::Keyword(Keyword::And) => Some((AND, Infix::And, false)),
            Kind::Keyword(Keyword::Or) => Some((OR, Infix::Or, false)),
            Kind::Symbol("??") => Some((COALESCE, Infix::Coalesce, false)),
            Kind::Symbol(symbol) => {
                binary(symbol).map(|(level, op)| (level, Infix::Binary(op), false))
            }
            _ => None,
        }
    }

    #[inline(never)]
    fn apply(
        &mut self,
        left: Expr,
        level: Level,
        infix: Infix,
        negated: bool,
    ) -> Result<Expr, SqlError> {
        match infix {
            Infix::Binary(op) => {
                let right = self.climb(level + 1)?;
                let span = left.span.to(right.span);
                self.node(ExprKind::Binary(op, Box::new(left), Box::new(right)), span)
            }
            Infix::Coalesce => {
                let right = self.climb(level + 1)?;
                let span = left.span.to(right.span);
                self.node(ExprKind::Coalesce(Box::new(left), Box::new(right)), span)
            }
            Infix::And => {
                self.count_and()?;
                let right = self.climb(level + 1)?;
                let span = left.span.to(right.span);
                let terms = match left.kind {
                    ExprKind::And(terms) => joined(terms, right),
                    _ => vec![left, right],
                };
                self.node(ExprKind::And(terms), span)
            }
            Infix::Or => {
                self.count_or()?;
                let right = self.climb(level + 1)?;
                let span = left.span.to(right.span);
                let terms = match left.kind {
                    ExprKind::Or(terms) => joined(terms, right),
                    _ => vec![left, right],
                };
                self.node(ExprKind::Or(terms), span)
            }
            Infix::In => self.in_list(left, negated),
            Infix::Between => self.between(left, negated),
            Infix::Like => self.like(left, negated),
        }
    }

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

    fn between(&mut self, value: Expr, negated: bool) -> Result<Expr, SqlError> {
        let low = self.climb(LOOSEST_BINARY)?;
        self.expect_keyword(Keyword::And)?;
        let high = self.climb(LOOSEST_BINARY)?;
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

    fn like(&mut self, value: Expr, negated: bool) -> Result<Expr, SqlError> {
        let pattern = self.climb(LOOSEST_BINARY)?;
        let escape = if self.take_keyword(Keyword::Escape) {
            Some(self.escape_char()?)
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

    fn escape_char(&mut self) -> Result<char, SqlError> {
        let token = self.peek();
        if token.kind != Kind::String {
            return Err(self.unexpected());
        }
        let text = literal::string(token)?;
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (Some(c), None) => {
                self.next();
                Ok(c)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// An operand with the operators before it.
    fn prefix(&mut self, least: Level) -> Result<Expr, SqlError> {
        let token = self.peek();
        let (op, level) = match token.kind {
            Kind::Symbol("-") => (UnaryOp::Minus, TIGHTEST),
            Kind::Symbol("+") => (UnaryOp::Plus, TIGHTEST),
            Kind::Symbol("~") => (UnaryOp::BitNot, TIGHTEST),
            // Among comparisons `NOT` reaches over them; after an operator it takes one operand.
            Kind::Keyword(Keyword::Not) => {
                (UnaryOp::Not, if least <= NOT { NOT } else { TIGHTEST })
            }
            _ => return self.postfix(),
        };
        self.enter()?;
        self.next();
        let operand = self.climb(level)?;
        let span = token.span.to(operand.span);
        let expr = self.node(ExprKind::Unary(op, Box::new(operand)), span)?;
        self.leave();
        Ok(expr)
    }
}

fn joined(mut terms: Vec<Expr>, last: Expr) -> Vec<Expr> {
    terms.push(last);
    terms
}
