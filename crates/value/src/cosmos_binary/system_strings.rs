//! Strings so common that a marker stands for each, and no length or text is sent.

/// The marker of the first; the others follow.
const FIRST: u8 = 0x20;

/// In the order of their markers.
const SYSTEM_STRINGS: [&str; 32] = [
    "$s",
    "$t",
    "$v",
    "_attachments",
    "_etag",
    "_rid",
    "_self",
    "_ts",
    "attachments/",
    "coordinates",
    "geometry",
    "GeometryCollection",
    "id",
    "url",
    "Value",
    "label",
    "LineString",
    "link",
    "MultiLineString",
    "MultiPoint",
    "MultiPolygon",
    "name",
    "Name",
    "Type",
    "Point",
    "Polygon",
    "properties",
    "type",
    "value",
    "Feature",
    "FeatureCollection",
    "_id",
];

/// For each first byte, which strings begin with it: a bit for each.
const BY_FIRST_BYTE: [u32; 256] = {
    let mut bits = [0; 256];
    let mut at = 0;
    while at < SYSTEM_STRINGS.len() {
        bits[SYSTEM_STRINGS[at].as_bytes()[0] as usize] |= 1 << at;
        at += 1;
    }
    bits
};

/// The text of one of the markers; of any other the first, which no caller asks for.
pub(super) const fn text(marker: u8) -> &'static str {
    SYSTEM_STRINGS[(marker.wrapping_sub(FIRST) as usize) % SYSTEM_STRINGS.len()]
}

/// The marker that stands for a text, if one does.
pub(super) fn marker(text: &str) -> Option<u8> {
    let first = text.as_bytes().first()?;
    let mut candidates = BY_FIRST_BYTE[usize::from(*first)];
    while candidates != 0 {
        let at = candidates.trailing_zeros();
        if SYSTEM_STRINGS[at as usize] == text {
            #[expect(clippy::cast_possible_truncation, reason = "it is below 32")]
            return Some(FIRST + at as u8);
        }
        candidates &= candidates - 1;
    }
    None
}
