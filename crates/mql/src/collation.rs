//! Collations: text compared as a language does, not by bytes.
//!
//! Text is folded to a key whose bytes are in the order wanted: first the letters without case and accents, then the accents,
//! then the case, as far as the strength goes. What is known: the order of ASCII signs of the root collation, the Latin
//! letters with their accents, digits by value. Rules of single languages beyond that (such as Swedish `å` behind `z`) are
//! not known; every locale orders as the root does.

use lapsedb_value::{Object, Str, Value};

use crate::{MqlError, Result};

mod letters;

/// The languages whose codes are accepted, with or without a region behind them.
const LANGUAGES: [&str; 75] = [
    "af", "am", "ar", "as", "az", "be", "bg", "bn", "bo", "bs", "ca", "chr", "cs", "cy", "da",
    "de", "dsb", "dz", "ee", "el", "en", "eo", "es", "et", "fa", "fi", "fil", "fo", "fr", "ga",
    "gl", "gu", "ha", "haw", "he", "hi", "hr", "hsb", "hu", "hy", "id", "ig", "is", "it", "ja",
    "ka", "kk", "kl", "km", "kn", "ko", "kok", "lt", "lv", "mk", "ml", "mr", "ms", "mt", "nb",
    "nl", "nn", "pl", "pt", "ro", "ru", "sk", "sl", "sq", "sr", "sv", "ta", "th", "tr", "zh",
];

/// More languages, whose list is long.
const MORE_LANGUAGES: [&str; 22] = [
    "ak", "ckb", "gsw", "ky", "lb", "lkt", "ln", "lo", "mn", "ne", "om", "or", "pa", "ps", "se",
    "si", "sw", "te", "to", "uk", "ur", "vi",
];

/// How text is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collation {
    spec: Spec,
}

/// What a collation document says, with its defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Spec {
    locale: Str,
    strength: i64,
    case_level: bool,
    case_first: Str,
    numeric: bool,
    shifted: bool,
    max_variable: Str,
    normalization: bool,
    backwards: bool,
}

/// Between the levels of a key; below every weight.
const LEVEL_END: char = '\u{1}';

impl Collation {
    /// Reads a collation document; `simple` is the absence of one.
    pub fn parse(document: &Object) -> Result<Option<Collation>> {
        let spec = Spec::parse(document)?;
        Ok((spec.locale != "simple").then_some(Collation { spec }))
    }

    /// The whole document, defaults included, as it is shown and stored.
    pub fn to_object(&self) -> Object {
        let spec = &self.spec;
        let mut object = Object::new();
        object.push("locale", Value::String(spec.locale.clone()));
        object.push("caseLevel", spec.case_level);
        object.push("caseFirst", Value::String(spec.case_first.clone()));
        object.push("strength", Value::Int32(spec.strength as i32));
        object.push("numericOrdering", spec.numeric);
        let alternate = if spec.shifted {
            "shifted"
        } else {
            "non-ignorable"
        };
        object.push("alternate", alternate);
        object.push("maxVariable", Value::String(spec.max_variable.clone()));
        object.push("normalization", spec.normalization);
        object.push("backwards", spec.backwards);
        object.push("version", "57.1");
        object
    }

    /// Whether the value holds text, so that folding may change it.
    pub fn matters(value: &Value) -> bool {
        matches!(
            value,
            Value::String(_) | Value::Symbol(_) | Value::Array(_) | Value::Object(_)
        )
    }

    /// The value with every text in it replaced by its key: comparing such values by bytes is comparing by this collation.
    pub fn fold(&self, value: &Value) -> Value {
        match value {
            Value::String(text) | Value::Symbol(text) => Value::String(self.key(text)),
            Value::Array(elements) => {
                Value::Array(elements.iter().map(|element| self.fold(element)).collect())
            }
            Value::Object(object) => {
                let members = object.iter();
                let members = members.map(|(name, value)| (name.clone(), self.fold(value)));
                Value::Object(members.collect())
            }
            other => other.clone(),
        }
    }

    /// The key of a text: keys compare by bytes as the texts do by this collation.
    pub fn key(&self, text: &str) -> Str {
        let spec = &self.spec;
        let mut key = Str::with_capacity(text.len() * 2);
        let (mut accents, mut cases) = (Vec::new(), String::new());
        let mut signs = text.chars().peekable();
        while let Some(sign) = signs.next() {
            if spec.numeric && sign.is_ascii_digit() {
                let mut digits = String::from(sign);
                while let Some(next) = signs.next_if(char::is_ascii_digit) {
                    digits.push(next);
                }
                letters::push_number(&digits, &mut key);
            } else if !(spec.shifted && letters::is_ignorable(sign, &spec.max_variable)) {
                let letter = letters::split(sign);
                let case = letters::case_weight(letter.upper, spec.case_first == "upper");
                for base in letter.bases {
                    key.push(base);
                    cases.push(case);
                }
                accents.push(letter.accent);
            }
        }
        if spec.strength >= 2 {
            key.push(LEVEL_END);
            if spec.backwards {
                accents.reverse();
            }
            accents.iter().for_each(|accent| key.push(*accent));
        }
        if spec.strength >= 3 || spec.case_level {
            key.push(LEVEL_END);
            key.push_str(&cases);
        }
        if spec.strength >= 5 || (spec.shifted && spec.strength >= 4) {
            key.push(LEVEL_END);
            key.push_str(text);
        }
        key
    }
}

impl Spec {
    fn parse(document: &Object) -> Result<Spec> {
        let locale = match document.get("locale") {
            Some(Value::String(locale)) => locale.clone(),
            Some(_) => {
                return Err(MqlError::type_mismatch(
                    "\"locale\" had the wrong type. Expected string",
                ));
            }
            None => {
                return Err(MqlError::new(
                    40414,
                    "BSON field 'collation.locale' is missing but a required field",
                ));
            }
        };
        if !is_known(&locale) {
            return Err(MqlError::bad_value(format!(
                "Field 'locale' is invalid in: {}",
                crate::show::show_object(document)
            )));
        }
        let mut spec = Spec {
            locale,
            strength: 3,
            case_level: false,
            case_first: "off".into(),
            numeric: false,
            shifted: false,
            max_variable: "punct".into(),
            normalization: false,
            backwards: false,
        };
        for (name, value) in document {
            spec.read(name, value)?;
        }
        Ok(spec)
    }

    fn read(&mut self, name: &str, value: &Value) -> Result<()> {
        match name {
            "locale" | "version" => {}
            "strength" => {
                self.strength = value.as_i64().filter(|n| (1..=5).contains(n)).ok_or_else(|| {
                    MqlError::bad_value("Enumeration value for field 'collation.strength' is not a valid value: 1 to 5")
                })?;
            }
            "caseLevel" => self.case_level = truth(name, value)?,
            "numericOrdering" => self.numeric = truth(name, value)?,
            "normalization" => self.normalization = truth(name, value)?,
            "backwards" => self.backwards = truth(name, value)?,
            "caseFirst" => self.case_first = one_of(name, value, &["off", "upper", "lower"])?,
            "alternate" => {
                self.shifted = one_of(name, value, &["non-ignorable", "shifted"])? == "shifted";
            }
            "maxVariable" => self.max_variable = one_of(name, value, &["punct", "space"])?,
            _ => {
                return Err(MqlError::new(
                    40415,
                    format!("BSON field 'collation.{name}' is an unknown field."),
                ));
            }
        }
        Ok(())
    }
}

fn truth(name: &str, value: &Value) -> Result<bool> {
    value.as_bool().ok_or_else(|| {
        MqlError::type_mismatch(format!(
            "BSON field 'collation.{name}' is the wrong type, expected type 'bool'"
        ))
    })
}

fn one_of(name: &str, value: &Value, allowed: &[&str]) -> Result<Str> {
    match value.as_str() {
        Some(text) if allowed.contains(&text) => Ok(Str::new(text)),
        _ => Err(MqlError::bad_value(format!(
            "Enumeration value for field 'collation.{name}' is not a valid value"
        ))),
    }
}

fn is_known(locale: &str) -> bool {
    let language = locale.split(['_', '@']).next().unwrap_or_default();
    locale == "simple" || LANGUAGES.contains(&language) || MORE_LANGUAGES.contains(&language)
}
