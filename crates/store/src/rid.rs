//! Resource ids (`_rid`): a few fixed bytes that say what a resource is and whose child it is, as text.
//!
//! The text is base64 with `-` in place of `/`, padding kept. Knows no catalog: whether a resource of
//! that id exists is for others to say.

use compact_str::CompactString;

/// Container numbers and user numbers leave the top bit free: it tells the two apart.
pub const CHILD_OF_DATABASE_MAX: u32 = 0x7FFF_FFFF;
/// Ordinals leave the four top bits free: they tell the kinds of children apart.
pub const ORDINAL_MAX: u64 = (1 << 60) - 1;
/// Offer numbers fill three bytes.
pub const OFFER_MAX: u32 = 0x00FF_FFFF;
/// The longest text of a resource id (an attachment, 20 bytes), in characters.
pub const RID_TEXT_CHARS_MAX: usize = 28;

const RID_BYTES_MAX: usize = 20;
const COLLECTION_BIT: u32 = 0x8000_0000;
const KIND_SHIFT: u32 = 60;

/// A database: four bytes, big-endian. Zero is never handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DatabaseRid(pub u32);

/// A container: its database, then four bytes with the top bit set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CollectionRid {
    /// The number of the database.
    pub db: u32,
    /// The number of the container, at most [`CHILD_OF_DATABASE_MAX`]; higher bits are not written.
    pub coll: u32,
}

/// A user: its database, then four bytes with the top bit clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserRid {
    /// The number of the database.
    pub db: u32,
    /// The number of the user, at most [`CHILD_OF_DATABASE_MAX`]; higher bits are not written.
    pub user: u32,
}

/// An item: its container, then the creation ordinal in eight little-endian bytes.
///
/// Clients break ties of ORDER BY by the ordinal, so it grows with creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocumentRid {
    /// The number of the database.
    pub db: u32,
    /// The number of the container, at most [`CHILD_OF_DATABASE_MAX`]; higher bits are not written.
    pub coll: u32,
    /// The ordinal of the item, at most [`ORDINAL_MAX`]; higher bits are not written.
    pub ordinal: u64,
}

/// What a child of a container is, other than an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChildKind {
    /// A conflict.
    Conflict,
    /// A partition key range.
    PartitionKeyRange,
    /// A user-defined function.
    UserDefinedFunction,
    /// A trigger.
    Trigger,
    /// A stored procedure.
    StoredProcedure,
}

impl ChildKind {
    /// Every kind, in the order of the nibbles.
    pub const ALL: [ChildKind; 5] = [
        ChildKind::Conflict,
        ChildKind::PartitionKeyRange,
        ChildKind::UserDefinedFunction,
        ChildKind::Trigger,
        ChildKind::StoredProcedure,
    ];

    /// The high nibble of the last byte.
    fn nibble(self) -> u64 {
        match self {
            ChildKind::Conflict => 4,
            ChildKind::PartitionKeyRange => 5,
            ChildKind::UserDefinedFunction => 6,
            ChildKind::Trigger => 7,
            ChildKind::StoredProcedure => 8,
        }
    }
}

/// A script, conflict or partition key range of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChildRid {
    /// The number of the database.
    pub db: u32,
    /// The number of the container, at most [`CHILD_OF_DATABASE_MAX`]; higher bits are not written.
    pub coll: u32,
    /// What it is.
    pub kind: ChildKind,
    /// Its ordinal among its kind, at most [`ORDINAL_MAX`]; higher bits are not written.
    pub ordinal: u64,
}

/// A permission: its user, then eight little-endian bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PermissionRid {
    /// The number of the database.
    pub db: u32,
    /// The number of the user, at most [`CHILD_OF_DATABASE_MAX`]; higher bits are not written.
    pub user: u32,
    /// The number of the permission.
    pub permission: u64,
}

/// A client encryption key of a database.
///
/// Clients know it as the database, four zero bytes where a user would be, then its number and what it is in four
/// little-endian bytes each: as a permission of a user who does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientEncryptionKeyRid {
    /// The number of the database.
    pub db: u32,
    /// The number of the key.
    pub key: u32,
}

impl ClientEncryptionKeyRid {
    /// What stands behind the number of a client encryption key.
    const KIND: u64 = 2 << 32;

    /// The text of the id.
    pub fn text(self) -> CompactString {
        PermissionRid {
            db: self.db,
            user: 0,
            permission: Self::KIND | u64::from(self.key),
        }
        .text()
    }

    /// Reads the text of an id of this kind; `None` if it is of another kind or not an id.
    pub fn parse(text: &str) -> Option<Self> {
        let rid = PermissionRid::parse(text).filter(|rid| rid.user == 0)?;
        let key = u32::try_from(rid.permission.checked_sub(Self::KIND)?).ok()?;
        Some(ClientEncryptionKeyRid { db: rid.db, key })
    }
}

/// An offer: three bytes, big-endian, at most [`OFFER_MAX`]; higher bits are not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OfferRid(pub u32);

/// An attachment: its item, then four bytes. Attachments do not exist here, but their ids are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AttachmentRid {
    /// The item it hangs on.
    pub document: DocumentRid,
    /// The number of the attachment.
    pub attachment: u32,
}

/// Any resource id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rid {
    /// An offer.
    Offer(OfferRid),
    /// A database.
    Database(DatabaseRid),
    /// A container.
    Collection(CollectionRid),
    /// A user.
    User(UserRid),
    /// An item.
    Document(DocumentRid),
    /// A script, conflict or partition key range.
    Child(ChildRid),
    /// A permission.
    Permission(PermissionRid),
    /// An attachment.
    Attachment(AttachmentRid),
}

/// The bytes of an id before they become text.
struct Raw {
    bytes: [u8; RID_BYTES_MAX],
    len: usize,
}

impl Raw {
    fn new() -> Self {
        Raw {
            bytes: [0; RID_BYTES_MAX],
            len: 0,
        }
    }

    fn with(mut self, part: &[u8]) -> Self {
        let end = (self.len + part.len()).min(RID_BYTES_MAX);
        self.bytes[self.len..end].copy_from_slice(&part[..end - self.len]);
        self.len = end;
        self
    }

    fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

fn collection_raw(db: u32, coll: u32) -> Raw {
    Raw::new()
        .with(&db.to_be_bytes())
        .with(&(coll | COLLECTION_BIT).to_be_bytes())
}

fn user_raw(db: u32, user: u32) -> Raw {
    Raw::new()
        .with(&db.to_be_bytes())
        .with(&(user & CHILD_OF_DATABASE_MAX).to_be_bytes())
}

fn document_raw(rid: DocumentRid) -> Raw {
    collection_raw(rid.db, rid.coll).with(&(rid.ordinal & ORDINAL_MAX).to_le_bytes())
}

impl Rid {
    fn raw(self) -> Raw {
        match self {
            Rid::Offer(offer) => Raw::new().with(&(offer.0 & OFFER_MAX).to_be_bytes()[1..]),
            Rid::Database(database) => Raw::new().with(&database.0.to_be_bytes()),
            Rid::Collection(collection) => collection_raw(collection.db, collection.coll),
            Rid::User(user) => user_raw(user.db, user.user),
            Rid::Document(document) => document_raw(document),
            Rid::Child(child) => {
                let tail = (child.ordinal & ORDINAL_MAX) | (child.kind.nibble() << KIND_SHIFT);
                collection_raw(child.db, child.coll).with(&tail.to_le_bytes())
            }
            Rid::Permission(permission) => {
                user_raw(permission.db, permission.user).with(&permission.permission.to_le_bytes())
            }
            Rid::Attachment(attachment) => {
                document_raw(attachment.document).with(&attachment.attachment.to_be_bytes())
            }
        }
    }

    /// Appends the text of the id.
    pub fn write(self, out: &mut Vec<u8>) {
        let (text, len) = encode(self.raw().as_slice());
        out.extend_from_slice(&text[..len]);
    }

    /// The text of the id; all but an attachment's fits without an allocation.
    pub fn text(self) -> CompactString {
        let (text, len) = encode(self.raw().as_slice());
        // The alphabet is ASCII, so nothing is lost here.
        CompactString::from_utf8_lossy(&text[..len])
    }

    /// Reads the text of any resource id; `None` if it is not one.
    pub fn parse(text: &str) -> Option<Rid> {
        let raw = decode(text.as_bytes())?;
        let bytes = raw.as_slice();
        match bytes.len() {
            3 => Some(Rid::Offer(OfferRid(u32::from_be_bytes([
                0, bytes[0], bytes[1], bytes[2],
            ])))),
            4 => Some(Rid::Database(DatabaseRid(be32(bytes)))),
            8 => Some(match database_child(bytes) {
                DatabaseChild::Collection(coll) => Rid::Collection(CollectionRid {
                    db: be32(bytes),
                    coll,
                }),
                DatabaseChild::User(user) => Rid::User(UserRid {
                    db: be32(bytes),
                    user,
                }),
            }),
            16 => grandchild(bytes),
            20 => match grandchild(&bytes[..16])? {
                Rid::Document(document) => Some(Rid::Attachment(AttachmentRid {
                    document,
                    attachment: be32(&bytes[16..]),
                })),
                Rid::Offer(_)
                | Rid::Database(_)
                | Rid::Collection(_)
                | Rid::User(_)
                | Rid::Child(_)
                | Rid::Permission(_)
                | Rid::Attachment(_) => None,
            },
            _ => None,
        }
    }
}

/// The four bytes after a database's.
enum DatabaseChild {
    Collection(u32),
    User(u32),
}

fn database_child(bytes: &[u8]) -> DatabaseChild {
    let number = be32(&bytes[4..]);
    if number & COLLECTION_BIT != 0 {
        DatabaseChild::Collection(number & CHILD_OF_DATABASE_MAX)
    } else {
        DatabaseChild::User(number)
    }
}

/// The resource of sixteen bytes, if its kind is known.
fn grandchild(bytes: &[u8]) -> Option<Rid> {
    let db = be32(bytes);
    let tail = bytes[8..]
        .iter()
        .take(8)
        .rev()
        .fold(0u64, |sum, byte| (sum << 8) | u64::from(*byte));
    let coll = match database_child(bytes) {
        DatabaseChild::Collection(coll) => coll,
        DatabaseChild::User(user) => {
            return Some(Rid::Permission(PermissionRid {
                db,
                user,
                permission: tail,
            }));
        }
    };
    let ordinal = tail & ORDINAL_MAX;
    let nibble = tail >> KIND_SHIFT;
    if nibble == 0 {
        return Some(Rid::Document(DocumentRid { db, coll, ordinal }));
    }
    let kind = ChildKind::ALL
        .into_iter()
        .find(|kind| kind.nibble() == nibble)?;
    Some(Rid::Child(ChildRid {
        db,
        coll,
        kind,
        ordinal,
    }))
}

/// The first four bytes as a number; missing ones count as zero, but callers check the length before.
fn be32(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .take(4)
        .fold(0, |sum, byte| (sum << 8) | u32::from(*byte))
}

macro_rules! typed {
    ($($name:ident => $case:ident),* $(,)?) => {$(
        impl $name {
            /// Appends the text of the id.
            pub fn write(self, out: &mut Vec<u8>) {
                Rid::from(self).write(out);
            }

            /// The text of the id.
            pub fn text(self) -> CompactString {
                Rid::from(self).text()
            }

            /// Reads the text of an id of this kind; `None` if it is of another kind or not an id.
            pub fn parse(text: &str) -> Option<Self> {
                match Rid::parse(text)? {
                    Rid::$case(rid) => Some(rid),
                    #[allow(unreachable_patterns)]
                    Rid::Offer(_) | Rid::Database(_) | Rid::Collection(_) | Rid::User(_) | Rid::Document(_)
                    | Rid::Child(_) | Rid::Permission(_) | Rid::Attachment(_) => None,
                }
            }
        }

        impl From<$name> for Rid {
            fn from(rid: $name) -> Rid {
                Rid::$case(rid)
            }
        }
    )*};
}

typed! {
    OfferRid => Offer,
    DatabaseRid => Database,
    CollectionRid => Collection,
    UserRid => User,
    DocumentRid => Document,
    ChildRid => Child,
    PermissionRid => Permission,
    AttachmentRid => Attachment,
}

impl CollectionRid {
    /// The database the container lies in.
    pub fn database(self) -> DatabaseRid {
        DatabaseRid(self.db)
    }

    /// The id of an item of the container.
    pub fn document(self, ordinal: u64) -> DocumentRid {
        DocumentRid {
            db: self.db,
            coll: self.coll,
            ordinal,
        }
    }

    /// The id of another child of the container.
    pub fn child(self, kind: ChildKind, ordinal: u64) -> ChildRid {
        ChildRid {
            db: self.db,
            coll: self.coll,
            kind,
            ordinal,
        }
    }
}

impl DocumentRid {
    /// The container the item lies in.
    pub fn collection(self) -> CollectionRid {
        CollectionRid {
            db: self.db,
            coll: self.coll,
        }
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";

/// The six bits of every character of the alphabet; `NOT_A_DIGIT` for all others.
const DIGITS: [u8; 256] = digits();
const NOT_A_DIGIT: u8 = 0xFF;

const fn digits() -> [u8; 256] {
    let mut table = [NOT_A_DIGIT; 256];
    let mut i = 0;
    while i < ALPHABET.len() {
        table[ALPHABET[i] as usize] = i as u8;
        i += 1;
    }
    table
}

fn encode(bytes: &[u8]) -> ([u8; RID_TEXT_CHARS_MAX], usize) {
    let mut text = [b'='; RID_TEXT_CHARS_MAX];
    let mut len = 0;
    for group in bytes.chunks(3) {
        let bits = group
            .iter()
            .fold(0u32, |sum, byte| (sum << 8) | u32::from(*byte))
            << (8 * (3 - group.len()));
        for place in 0..=group.len() {
            text[len + place] = ALPHABET[(bits >> (18 - 6 * place) & 0x3F) as usize];
        }
        len += 4;
    }
    (text, len)
}

/// The bytes behind a text, only if it is written just as [`encode`] would write it: one resource, one text.
fn decode(text: &[u8]) -> Option<Raw> {
    if text.is_empty() || text.len() > RID_TEXT_CHARS_MAX || !text.len().is_multiple_of(4) {
        return None;
    }
    let padding = text.iter().rev().take_while(|c| **c == b'=').count();
    if padding > 2 {
        return None;
    }
    let mut raw = Raw::new();
    let mut bits = 0u32;
    for (i, c) in text[..text.len() - padding].iter().enumerate() {
        let digit = DIGITS[usize::from(*c)];
        if digit == NOT_A_DIGIT {
            return None;
        }
        bits = (bits << 6) | u32::from(digit);
        if i % 4 == 3 {
            raw = raw.with(&bits.to_be_bytes()[1..]);
            bits = 0;
        }
    }
    match padding {
        0 => Some(raw),
        1 if bits & 0x3 == 0 => Some(raw.with(&(bits >> 2).to_be_bytes()[2..])),
        2 if bits & 0xF == 0 => Some(raw.with(&(bits >> 4).to_be_bytes()[3..])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    const NUMBERS: [u32; 7] = [
        0,
        1,
        255,
        256,
        0x1234_5678,
        CHILD_OF_DATABASE_MAX - 1,
        CHILD_OF_DATABASE_MAX,
    ];
    const ORDINALS: [u64; 7] = [0, 1, 255, 256, 1 << 32, ORDINAL_MAX - 1, ORDINAL_MAX];

    fn round_trip(rid: Rid) {
        let text = rid.text();
        let mut written = vec![b'x'];
        rid.write(&mut written);
        assert_eq!(&written[1..], text.as_bytes());
        assert_eq!(text.len() % 4, 0);
        assert!(!text.contains('/'));
        assert_eq!(Rid::parse(&text), Some(rid), "{text}");
    }

    #[test]
    fn texts_named_by_the_specification() {
        assert_eq!(DatabaseRid(1).text(), "AAAAAQ==");
        assert_eq!(CollectionRid { db: 1, coll: 1 }.text(), "AAAAAYAAAAE=");
        let collection = CollectionRid::parse("SnxPAOM2VfM=").unwrap();
        assert_eq!(collection.document(1).text(), "SnxPAOM2VfMBAAAAAAAAAA==");
        assert_eq!(
            DocumentRid::parse("SnxPAOM2VfMBAAAAAAAAAA==")
                .unwrap()
                .collection(),
            collection
        );
        assert_eq!(collection.database().text(), "SnxPAA==");
        assert_eq!(UserRid { db: 1, user: 2 }.text(), "AAAAAQAAAAI=");
        assert_eq!(OfferRid(1).text(), "AAAB");
    }

    #[test]
    fn a_client_encryption_key_is_known_by_its_kind() {
        let rid = ClientEncryptionKeyRid { db: 1, key: 2 };
        assert_eq!(rid.text(), "AAAAAQAAAAACAAAAAgAAAA==");
        for key in NUMBERS.into_iter().chain([u32::MAX]) {
            let rid = ClientEncryptionKeyRid { db: 7, key };
            assert_eq!(ClientEncryptionKeyRid::parse(&rid.text()), Some(rid));
        }
        let permission = |user, permission| PermissionRid {
            db: 1,
            user,
            permission,
        };
        for other in [
            permission(1, 2 << 32),
            permission(0, 1 << 32),
            permission(0, 3 << 32),
        ] {
            assert_eq!(ClientEncryptionKeyRid::parse(&other.text()), None);
        }
        assert_eq!(ClientEncryptionKeyRid::parse("AAAAAQ=="), None);
    }

    #[test]
    fn the_slash_of_base64_is_a_dash() {
        assert_eq!(DatabaseRid(u32::MAX).text(), "-----w==");
        assert_eq!(
            Rid::parse("-----w=="),
            Some(Rid::Database(DatabaseRid(u32::MAX)))
        );
        assert_eq!(Rid::parse("/////w=="), None);
    }

    #[test]
    fn every_kind_reads_back_what_it_wrote() {
        for db in NUMBERS.into_iter().chain([u32::MAX]) {
            round_trip(DatabaseRid(db).into());
            for child in NUMBERS {
                let collection = CollectionRid { db, coll: child };
                round_trip(collection.into());
                round_trip(UserRid { db, user: child }.into());
                for ordinal in ORDINALS {
                    let document = collection.document(ordinal);
                    round_trip(document.into());
                    round_trip(
                        AttachmentRid {
                            document,
                            attachment: child,
                        }
                        .into(),
                    );
                    for kind in ChildKind::ALL {
                        round_trip(collection.child(kind, ordinal).into());
                    }
                    round_trip(
                        PermissionRid {
                            db,
                            user: child,
                            permission: ordinal,
                        }
                        .into(),
                    );
                }
                round_trip(
                    PermissionRid {
                        db,
                        user: child,
                        permission: u64::MAX,
                    }
                    .into(),
                );
            }
        }
        for offer in [0, 1, 0xABCD, OFFER_MAX] {
            round_trip(OfferRid(offer).into());
        }
    }

    #[test]
    fn numbers_beyond_their_bits_never_change_the_kind() {
        assert!(
            UserRid::parse(
                &UserRid {
                    db: 1,
                    user: u32::MAX
                }
                .text()
            )
            .is_some()
        );
        let document = DocumentRid {
            db: 1,
            coll: u32::MAX,
            ordinal: u64::MAX,
        };
        assert_eq!(
            DocumentRid::parse(&document.text()).unwrap().ordinal,
            ORDINAL_MAX
        );
    }

    #[test]
    fn an_id_of_another_kind_is_refused() {
        assert_eq!(DatabaseRid::parse("AAAAAYAAAAE="), None);
        assert_eq!(CollectionRid::parse("AAAAAQAAAAI="), None);
        assert_eq!(UserRid::parse("AAAAAYAAAAE="), None);
        assert_eq!(DocumentRid::parse("SnxPAOM2VfMBAAAAAAAAgA=="), None);
        let child = ChildRid::parse("SnxPAOM2VfMBAAAAAAAAgA==").unwrap();
        assert_eq!((child.kind, child.ordinal), (ChildKind::StoredProcedure, 1));
        assert_eq!(
            Rid::parse("SnxPAOM2VfMBAAAAAAAAEA=="),
            None,
            "an unknown kind"
        );
    }

    #[test]
    fn what_is_not_an_id_is_refused() {
        for text in [
            "",
            "A",
            "AA",
            "AAA",
            "====",
            "A===",
            "AAAAAQ",
            "AAAAAQ=",
            "AAAAAQ===",
            "AAAAAR==",
            "AAAAAYAAAAF=",
            "AAAAA Q=",
            "AAAAAé==",
            "AA==AA==",
            "AAAAAAAA",
            "AAAAAAA=",
            "db",
            "mydatabase",
            "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        ] {
            assert_eq!(Rid::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_changed_character_never_reads_as_the_same_id() {
        let text = DocumentRid {
            db: 7,
            coll: 9,
            ordinal: 12345,
        }
        .text();
        for place in 0..text.len() {
            for c in 0u8..128 {
                let mut other = text.as_bytes().to_vec();
                if other[place] == c {
                    continue;
                }
                other[place] = c;
                let parsed = Rid::parse(std::str::from_utf8(&other).unwrap());
                assert_ne!(parsed, Rid::parse(&text));
            }
        }
    }
}
