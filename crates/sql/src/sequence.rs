//! What decides in which order rows come, whatever the filter lets through.

use crate::ast::{Expr, OrderBy, Query, SelectList};
use crate::span::Span;

impl Query {
    /// The parts of the query's text that decide in which order its rows come and which of them are one: what `DISTINCT`
    /// compares, what rows are grouped by and what they are sorted by. Empty where rows come as they are found.
    ///
    /// A place between two rows means the same in two queries only if this is the same in both. The filter is left out:
    /// clients that go on behind a place of their own narrow it from page to page.
    #[must_use]
    pub fn sequence(&self, text: &str) -> Vec<u16> {
        let mut parts: Vec<(char, Span)> = Vec::new();
        if self.select.distinct {
            match &self.select.list {
                SelectList::Star(span) => parts.push(('d', *span)),
                SelectList::Value(value) => parts.push(('d', value.span)),
                SelectList::Items(items) => {
                    parts.extend(items.iter().map(|item| ('d', item.expr.span)));
                }
            }
        }
        parts.extend(self.group_by.keys.iter().map(|by: &Expr| ('g', by.span)));
        match &self.order_by {
            OrderBy::None => {}
            OrderBy::Items(items, _) => parts.extend(items.iter().map(|item| {
                let falls = item.descending == Some(true);
                (if falls { '>' } else { '<' }, item.expr.span)
            })),
            OrderBy::Rank(by) => parts.push(('r', by.call.span)),
        }
        if parts.is_empty() {
            return Vec::new();
        }
        let units: Vec<u16> = text.encode_utf16().collect();
        let mut sequence = Vec::new();
        for (kind, span) in parts {
            let (start, end) = (span.start as usize, span.end as usize);
            sequence.push(kind as u16);
            sequence.extend_from_slice(units.get(start..end).unwrap_or_default());
        }
        sequence
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::parse;

    fn sequence(text: &str) -> String {
        String::from_utf16(&parse(text).unwrap().sequence(text)).unwrap()
    }

    #[test]
    fn the_filter_and_what_is_shown_decide_no_order() {
        for text in [
            "SELECT * FROM c",
            "SELECT TOP 5 c.a FROM c WHERE c.b > 'ü' OFFSET 1 LIMIT 2",
            "SELECT VALUE COUNT(1) FROM c",
        ] {
            assert_eq!(sequence(text), "", "{text}");
        }
        for text in [
            "SELECT * FROM c WHERE (true) ORDER BY c.n DESC",
            "SELECT c._rid, c AS payload FROM c WHERE ((c.s = '😀') AND (c.n < 5)) ORDER BY c.n DESC",
        ] {
            assert_eq!(sequence(text), ">c.n", "{text}");
        }
    }

    #[test]
    fn what_is_compared_grouped_and_sorted_by_does() {
        for (text, expected) in [
            ("SELECT DISTINCT VALUE c.a FROM c", "dc.a"),
            (
                "SELECT DISTINCT c.a, c.b FROM c ORDER BY c.b",
                "dc.adc.b<c.b",
            ),
            ("SELECT DISTINCT * FROM c", "d*"),
            ("SELECT c.a FROM c GROUP BY c.a, c.b", "gc.agc.b"),
            ("SELECT * FROM c ORDER BY c.a ASC, c.b DESC", "<c.a>c.b"),
        ] {
            assert_eq!(sequence(text), expected, "{text}");
        }
    }
}
