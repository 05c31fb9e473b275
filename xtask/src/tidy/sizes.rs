//! A file has one subject, a function fits a screen. Tests are apart. These limits only tighten.

use super::Complaint;
use super::source::Source;

/// Lines of a file, its test modules not counted.
const FILE_LINES_MAX: usize = 800;
/// Lines of a function, from its `fn` to its closing brace.
const FUNCTION_LINES_MAX: usize = 70;

/// Checks the file and every function in it.
pub fn check(path: &str, source: &Source, complaints: &mut Vec<Complaint>) {
    let lines = source.lines_without_tests();
    if lines > FILE_LINES_MAX {
        let message = format!(
            "{lines} lines without tests; {FILE_LINES_MAX} are the limit: make it a folder"
        );
        complaints.push(Complaint::new(path, 0, message));
    }
    for (at, name, lines) in functions(source) {
        if lines > FUNCTION_LINES_MAX && !source.in_tests(at) {
            let message = format!(
                "`{name}` has {lines} lines; {FUNCTION_LINES_MAX} are the limit: split it by idea"
            );
            complaints.push(Complaint::new(path, source.line_of(at), message));
        }
    }
}

/// Every function with a body: where it starts, its name, its lines.
fn functions(source: &Source) -> Vec<(usize, &str, usize)> {
    let mut found = Vec::new();
    for at in source.find_word("fn") {
        let rest = source.code[at + 2..].trim_start();
        let end = rest
            .find(|sign: char| sign != '_' && !sign.is_alphanumeric())
            .unwrap_or(rest.len());
        // Without a name it is a type, such as `fn(u8) -> u8`.
        let name = &rest[..end];
        if !name.is_empty()
            && let Some(open) = body(&source.code, at)
        {
            let close = source.closing_brace(open);
            found.push((at, name, source.line_of(close - 1) - source.line_of(at) + 1));
        }
    }
    found
}

/// The opening brace of the function at `at`; none for a declaration in a trait.
fn body(code: &str, at: usize) -> Option<usize> {
    let mut depth = 0i32;
    for (index, sign) in code[at..].char_indices() {
        match sign {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ';' if depth == 0 => return None,
            '{' if depth == 0 => return Some(at + index),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        check("a.rs", &Source::read(text), &mut found);
        found.iter().map(ToString::to_string).collect()
    }

    fn function(lines: usize) -> String {
        format!(
            "/// Doc.\npub fn long(a: [u8; 4], b: fn(u8) -> u8) -> u8\nwhere\n{}{{\n}}\n",
            "\n".repeat(lines - 4)
        )
    }

    #[test]
    fn a_function_of_the_limit_passes_and_one_more_line_does_not() {
        assert!(complaints(&function(FUNCTION_LINES_MAX)).is_empty());
        let found = complaints(&function(FUNCTION_LINES_MAX + 1));
        assert_eq!(
            found,
            ["a.rs:2: `long` has 71 lines; 70 are the limit: split it by idea"]
        );
    }

    #[test]
    fn a_file_of_the_limit_passes_and_one_more_line_does_not() {
        assert!(complaints(&"//\n".repeat(FILE_LINES_MAX)).is_empty());
        assert_eq!(complaints(&"//\n".repeat(FILE_LINES_MAX + 1)).len(), 1);
    }

    #[test]
    fn tests_are_apart() {
        let body = "\n".repeat(2 * FILE_LINES_MAX);
        assert!(
            complaints(&format!(
                "#[cfg(test)]\nmod tests {{\n fn long() {{{body}}}\n}}\n"
            ))
            .is_empty()
        );
    }

    #[test]
    fn braces_in_text_and_declarations_do_not_count() {
        let lines = "\n".repeat(FUNCTION_LINES_MAX);
        assert!(
            complaints(&format!(
                "trait T {{ fn a(&self); {lines} fn b() {{ let s = \"{{\"; }} {lines} }}"
            ))
            .is_empty()
        );
    }
}
