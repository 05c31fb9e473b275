//! What it takes to read classes whose case is to be ignored.
//!
//! The `regex-syntax` crate looks at each character of a range for others that differ from it by case only, which takes
//! milliseconds for all of Unicode, and does so for each range that is named.

use regex_syntax::ast::{self, Ast, ClassSetItem, Flag, GroupKind, Span};
use regex_syntax::hir::{Class, HirKind};

/// Characters that there are.
const CHARS: usize = char::MAX as usize + 1;

/// What the classes of a pattern name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Folding {
    /// Characters, each as often as it is named.
    pub chars: usize,
    /// Whether the pattern itself says somewhere that case is to be ignored.
    pub ignores_case: bool,
}

/// What the classes of a pattern name; nothing where it is no pattern, which whoever reads it says.
#[must_use]
pub fn folding(source: &str, ignore_whitespace: bool) -> Folding {
    let mut parser = ast::parse::ParserBuilder::new();
    match parser
        .ignore_whitespace(ignore_whitespace)
        .build()
        .parse(source)
    {
        Ok(tree) => {
            let found = Folding::default();
            ast::visit(&tree, Reader { source, found }).unwrap_or_default()
        }
        Err(_) => Folding::default(),
    }
}

struct Reader<'a> {
    source: &'a str,
    found: Folding,
}

impl Reader<'_> {
    fn add(&mut self, chars: usize) {
        self.found.chars = self.found.chars.saturating_add(chars);
    }

    /// Characters of a class that has a name; all, if those are meant that it does not have.
    fn named(&self, span: &Span, negated: bool) -> usize {
        if negated {
            return CHARS;
        }
        let name = self.source.get(span.start.offset..span.end.offset);
        let class = name.and_then(|name| regex_syntax::parse(name).ok());
        match class.as_ref().map(|class| class.kind()) {
            Some(HirKind::Class(Class::Unicode(class))) => {
                class.iter().map(|part| part.len()).sum()
            }
            _ => 0,
        }
    }
}

impl ast::Visitor for Reader<'_> {
    type Output = Folding;
    type Err = std::convert::Infallible;

    fn finish(self) -> Result<Folding, Self::Err> {
        Ok(self.found)
    }

    fn visit_pre(&mut self, part: &Ast) -> Result<(), Self::Err> {
        let flags = match part {
            Ast::Flags(set) => Some(&set.flags),
            Ast::Group(group) => match &group.kind {
                GroupKind::NonCapturing(flags) => Some(flags),
                GroupKind::CaptureIndex(_) | GroupKind::CaptureName { .. } => None,
            },
            Ast::ClassUnicode(class) => {
                let chars = self.named(&class.span, class.is_negated());
                self.add(chars);
                None
            }
            Ast::ClassPerl(class) => {
                let chars = self.named(&class.span, false);
                self.add(chars);
                None
            }
            _ => None,
        };
        let ignores = flags.and_then(|flags| flags.flag_state(Flag::CaseInsensitive));
        self.found.ignores_case |= ignores == Some(true);
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Self::Err> {
        let chars = match item {
            ClassSetItem::Empty(_) | ClassSetItem::Union(_) => 0,
            ClassSetItem::Literal(_) => 1,
            ClassSetItem::Range(range) => {
                (range.end.c as usize).saturating_sub(range.start.c as usize) + 1
            }
            ClassSetItem::Ascii(class) if class.negated => CHARS,
            ClassSetItem::Ascii(_) => 128,
            ClassSetItem::Unicode(class) => self.named(&class.span, class.is_negated()),
            ClassSetItem::Perl(class) => self.named(&class.span, false),
            ClassSetItem::Bracketed(class) if class.negated => CHARS,
            ClassSetItem::Bracketed(_) => 0,
        };
        self.add(chars);
        Ok(())
    }
}
