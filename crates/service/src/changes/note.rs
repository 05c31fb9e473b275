//! What a writer tells streams of a change, kept with its event: how a document became another one, whether streams may
//! have its images, and in which transaction it happened.

use lapsedb_mql::update::{Described, Description};
use lapsedb_store::Collection;
use lapsedb_value::{Object, Value, bson};

use crate::documents::fault::Result;
use crate::sessions::SessionId;

/// Whether a collection keeps the images of documents for streams.
pub(crate) fn keeps_images(mongo: &Object) -> bool {
    let options = mongo.get("options");
    let images = options.map(|options| options.get("changeStreamPreAndPostImages"));
    images.is_some_and(|images| images.get("enabled").as_bool() == Some(true))
}

/// The transaction that a change belongs to.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// The session.
    pub(crate) session: SessionId,
    /// The number of its transaction.
    pub(crate) number: i64,
}

/// A note, read.
#[derive(Debug, Default)]
pub(crate) struct Note {
    /// What operators have changed.
    pub(crate) fields: Option<Object>,
    /// The document was computed from the one before.
    pub(crate) difference: bool,
    /// Parts of the document were changed.
    pub(crate) change: bool,
    /// Streams may have the images.
    pub(crate) images: bool,
    pub(crate) origin: Option<Origin>,
}

const FIELDS: &str = "d";
const DIFFERENCE: &str = "p";
const CHANGE: &str = "c";
const IMAGES: &str = "i";
const SESSION: &str = "l";
const NUMBER: &str = "n";

/// The note of a change of a document, as it is stored; empty where there is nothing to say: a document that was replaced as
/// a whole, or made, or deleted.
pub(crate) fn write(
    collection: &Collection,
    described: &Described,
    origin: Option<&Origin>,
) -> Vec<u8> {
    let Some(mongo) = collection
        .mongo
        .as_deref()
        .filter(|_| collection.history.kept)
    else {
        return Vec::new();
    };
    let mut note = Object::with_capacity(4);
    match described {
        Described::Whole => {}
        Described::Fields(description) => {
            note.push(FIELDS, Value::Object(description.to_stored()));
        }
        Described::Difference => note.push(DIFFERENCE, true),
        Described::Change => note.push(CHANGE, true),
    }
    if keeps_images(mongo) {
        note.push(IMAGES, true);
    }
    if let Some(origin) = origin {
        note.push(
            SESSION,
            Value::Binary {
                subtype: 0,
                bytes: origin.session.bytes(),
            },
        );
        note.push(NUMBER, Value::Int64(origin.number));
    }
    if note.is_empty() {
        return Vec::new();
    }
    let mut bytes = Vec::with_capacity(64);
    bson::write_document(&note, &mut bytes);
    bytes
}

impl Note {
    /// Reads a stored note.
    ///
    /// # Errors
    /// When the bytes are damaged.
    pub(crate) fn read(bytes: &[u8]) -> Result<Note> {
        if bytes.is_empty() {
            return Ok(Note::default());
        }
        let mut note = bson::read_document(bytes)?;
        let flag =
            |note: &Object, name: &str| note.get(name).and_then(Value::as_bool) == Some(true);
        let origin = match (note.get(SESSION), note.get(NUMBER)) {
            (Some(Value::Binary { bytes, .. }), Some(number)) => {
                let (id, user) = bytes.split_last_chunk().unwrap_or((bytes, &[0; 32]));
                Some(Origin {
                    session: SessionId {
                        id: id.to_vec(),
                        user: *user,
                    },
                    number: number.as_i64().unwrap_or_default(),
                })
            }
            _ => None,
        };
        Ok(Note {
            difference: flag(&note, DIFFERENCE),
            change: flag(&note, CHANGE),
            images: flag(&note, IMAGES),
            origin,
            fields: note.remove(FIELDS).and_then(Value::into_object),
        })
    }

    /// What changed between two versions; none, if the new one is to be told as a whole.
    pub(crate) fn description(&self, before: &Object, after: &Object) -> Option<Description> {
        match &self.fields {
            Some(fields) => Some(Description::of_stored(fields, before, after)),
            None if self.difference => Description::between(before, after),
            None if self.change => Some(Description::of_change(before, after)),
            None => None,
        }
    }
}
