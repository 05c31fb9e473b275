//! A Rust file with its comments and literals blanked, so that a rule may look for words and braces.
//! Not a parser: it knows just enough of the grammar not to be fooled by text.

use std::ops::Range;

/// The code of one file; `code` and `comments` have as many lines and bytes as the file itself.
pub struct Source {
    /// Comments and the insides of literals replaced by spaces.
    pub code: String,
    /// Everything but the comments replaced by spaces.
    pub comments: String,
    /// Byte ranges of `#[cfg(test)]` modules.
    tests: Vec<Range<usize>>,
}

/// Tests that are files of their own: below `tests/`, or a module called `tests`.
pub fn is_test_path(path: &str) -> bool {
    path.split('/')
        .any(|part| part == "tests" || part == "tests.rs" || part.ends_with("_tests.rs"))
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

impl Source {
    /// Blanks `text` and finds its test modules.
    pub fn read(text: &str) -> Self {
        let kinds = classify(text.as_bytes());
        let code = keep(text, &kinds, Kind::Code);
        let comments = keep(text, &kinds, Kind::Comment);
        let tests = test_modules(&code);
        Self {
            code,
            comments,
            tests,
        }
    }

    /// Whether the byte at `offset` lies in a `#[cfg(test)]` module.
    pub fn in_tests(&self, offset: usize) -> bool {
        self.tests.iter().any(|range| range.contains(&offset))
    }

    /// Number of lines that are not in test modules.
    pub fn lines_without_tests(&self) -> usize {
        let mut offset = 0;
        let mut count = 0;
        for line in self.code.split_inclusive('\n') {
            if !self.in_tests(offset) {
                count += 1;
            }
            offset += line.len();
        }
        count
    }

    /// The line of a byte, counted from one.
    pub fn line_of(&self, offset: usize) -> usize {
        self.code.as_bytes()[..offset]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count()
            + 1
    }

    /// Where `word` stands in the code, not as a part of a longer name.
    pub fn find_word(&self, word: &str) -> Vec<usize> {
        let bytes = self.code.as_bytes();
        let is_free = |at: usize| !bytes.get(at).copied().is_some_and(is_name_byte);
        self.code
            .match_indices(word)
            .map(|(at, _)| at)
            .filter(|&at| (at == 0 || is_free(at - 1)) && is_free(at + word.len()))
            .collect()
    }

    /// The byte after the brace that closes the one at `open`; the end of the file if there is none.
    pub fn closing_brace(&self, open: usize) -> usize {
        closing_brace(self.code.as_bytes(), open)
    }
}

fn closing_brace(code: &[u8], open: usize) -> usize {
    let mut depth = 0usize;
    for (at, byte) in code.iter().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return at + 1;
        }
    }
    code.len()
}

fn test_modules(code: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (at, attribute) in code.match_indices("#[cfg(test)]") {
        let rest = &code[at + attribute.len()..];
        // Between the attribute and the module stand at most further attributes and `pub`.
        let Some(brace) = rest.find(['{', ';']) else {
            continue;
        };
        let head = &rest[..brace];
        let names_module = head.split_whitespace().any(|word| word == "mod");
        if names_module && rest[brace..].starts_with('{') {
            let open = at + attribute.len() + brace;
            found.push(at..closing_brace(code.as_bytes(), open));
        }
    }
    found
}

fn keep(text: &str, kinds: &[Kind], wanted: Kind) -> String {
    let bytes = text.bytes().zip(kinds).map(|(byte, &kind)| {
        // Beyond ASCII only comments and literals matter to nobody, so every such byte may become a space.
        let is_kept = byte == b'\n' || (kind == wanted && byte.is_ascii());
        char::from(if is_kept { byte } else { b' ' })
    });
    bytes.collect()
}

fn is_name_byte(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric()
}

fn classify(text: &[u8]) -> Vec<Kind> {
    let mut kinds = vec![Kind::Code; text.len()];
    let mut at = 0;
    while at < text.len() {
        let (end, kind) = match &text[at..] {
            [b'/', b'/', ..] => (line_end(text, at), Kind::Comment),
            [b'/', b'*', ..] => (block_comment_end(text, at), Kind::Comment),
            [b'"', ..] => (string_end(text, at), Kind::Literal),
            [b'r', b'"' | b'#', ..] | [b'b' | b'c', b'r', b'"' | b'#', ..]
                if starts_name(text, at) =>
            {
                raw_string_end(text, at)
            }
            [b'\'', ..] => char_end(text, at),
            _ => (at + 1, Kind::Code),
        };
        kinds[at..end].fill(kind);
        at = end;
    }
    kinds
}

fn starts_name(text: &[u8], at: usize) -> bool {
    at == 0 || !is_name_byte(text[at - 1])
}

fn line_end(text: &[u8], at: usize) -> usize {
    text[at..]
        .iter()
        .position(|&byte| byte == b'\n')
        .map_or(text.len(), |length| at + length)
}

/// Rust's block comments nest.
fn block_comment_end(text: &[u8], at: usize) -> usize {
    let mut depth = 0usize;
    let mut here = at;
    while here < text.len() {
        match &text[here..] {
            [b'/', b'*', ..] => {
                depth += 1;
                here += 2;
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                here += 2;
                if depth == 0 {
                    return here;
                }
            }
            _ => here += 1,
        }
    }
    text.len()
}

fn string_end(text: &[u8], at: usize) -> usize {
    let mut here = at + 1;
    while here < text.len() {
        match text[here] {
            b'\\' => here += 2,
            b'"' => return here + 1,
            _ => here += 1,
        }
    }
    text.len()
}

/// From `r`, `br` or `cr`: a raw string, or a raw name such as `r#type`, which is code.
fn raw_string_end(text: &[u8], at: usize) -> (usize, Kind) {
    let prefix = if text[at] == b'r' { 1 } else { 2 };
    let hashes = text[at + prefix..]
        .iter()
        .take_while(|&&byte| byte == b'#')
        .count();
    let open = at + prefix + hashes;
    if text.get(open) != Some(&b'"') {
        return (open.max(at + 1), Kind::Code);
    }
    let mut close = vec![b'"'];
    close.resize(hashes + 1, b'#');
    let body = &text[open + 1..];
    let end = body
        .windows(close.len())
        .position(|window| window == close.as_slice());
    (
        end.map_or(text.len(), |length| open + 1 + length + close.len()),
        Kind::Literal,
    )
}

/// A character literal, or else the quote of a lifetime.
fn char_end(text: &[u8], at: usize) -> (usize, Kind) {
    match text.get(at + 1) {
        Some(b'\\') => {
            let body = text.get(at + 3..).unwrap_or_default();
            let end = body.iter().position(|&byte| byte == b'\'');
            (
                end.map_or(text.len(), |length| at + 3 + length + 1),
                Kind::Literal,
            )
        }
        Some(&first) => {
            let width = match first {
                0xF0.. => 4,
                0xE0.. => 3,
                0xC0.. => 2,
                _ => 1,
            };
            match text.get(at + 1 + width) {
                Some(b'\'') => (at + 2 + width, Kind::Literal),
                _ => (at + 1, Kind::Code),
            }
        }
        None => (at + 1, Kind::Code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_and_nothing_moves() {
        let text =
            "let a = \"{\\\"\"; // {\nlet b = '{'; /* { /* { */ */ let c: &'a str = r#\"{\"#;\n";
        let source = Source::read(text);
        assert_eq!(source.code.len(), text.len());
        assert!(!source.code.contains('{'), "{}", source.code);
        assert!(source.code.contains("&'a str"));
        assert_eq!(source.code.matches('\n').count(), 2);
        assert!(source.comments.contains("// {"));
    }

    #[test]
    fn odd_literals_do_not_swallow_the_code_after_them() {
        for literal in [
            "'\\''",
            "'\\\\'",
            "'\\u{7b}'",
            "'é'",
            "b'\"'",
            "b\"\\\\\"",
            "br##\"\"#\"##",
            "r#type",
        ] {
            let source = Source::read(&format!("x({literal}); after();"));
            assert!(
                source.code.contains("after();"),
                "{literal}: {}",
                source.code
            );
        }
    }

    #[test]
    fn an_unfinished_file_is_read_to_its_end() {
        for text in [
            "\"open", "/* open", "r#\"open", "'\\", "'", "fn f() {", "r", "b",
        ] {
            assert_eq!(Source::read(text).code.len(), text.len());
        }
    }

    #[test]
    fn lines_of_test_modules_are_not_counted() {
        let source =
            Source::read("fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n");
        assert_eq!(source.lines_without_tests(), 3);
        assert!(source.in_tests(source.code.find("b()").unwrap()));
        assert!(!source.in_tests(source.code.find("c()").unwrap()));
    }

    #[test]
    fn a_word_is_not_found_inside_a_longer_one() {
        let source = Source::read("unsafe_code; my_unsafe; unsafe { } \"unsafe\"");
        assert_eq!(source.find_word("unsafe").len(), 1);
    }
}
