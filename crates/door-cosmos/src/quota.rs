//! What a collection may hold and what it holds, in the words of the wire: two lists with the same members in the same
//! order, since clients read the one by the places of the other.

use std::sync::LazyLock;

use http::HeaderValue;
use lapsedb_service::limits::{
    BODY_BYTES_MAX, STORED_PROCEDURES_MAX, TRIGGERS_MAX, USER_DEFINED_FUNCTIONS_MAX,
};
use lapsedb_service::{Collection, Figure};
use lapsedb_value::number;

use crate::answer::Answer;
use crate::call::Call;
use crate::headers;

/// Sizes are counted in so many bytes.
pub const KILOBYTE: u64 = 1024;
/// What a collection may take, as the service says it, in kilobytes. Nothing is refused for it.
const COLLECTION_KILOBYTES: u64 = 10 * KILOBYTE * KILOBYTE;

/// What a collection may hold; -1 where there is no limit.
static QUOTA: LazyLock<HeaderValue> = LazyLock::new(|| {
    let text = format!(
        "functions={USER_DEFINED_FUNCTIONS_MAX};storedProcedures={STORED_PROCEDURES_MAX};triggers={TRIGGERS_MAX};documentSize={};documentsSize={COLLECTION_KILOBYTES};documentsCount=-1;collectionSize={COLLECTION_KILOBYTES};",
        BODY_BYTES_MAX as u64 / KILOBYTE,
    );
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""))
});

/// Sets both for an answer about something in a collection.
pub async fn set_about(call: &Call<'_>, answer: &mut Answer, collection: &Collection) {
    if let Some(figure) = call.ctx.service().figure(collection).await {
        set(answer, &figure);
    }
}

/// Sets both.
pub fn set(answer: &mut Answer, figure: &Figure) {
    answer.set_value(headers::RESOURCE_QUOTA, QUOTA.clone());
    answer.set_bytes(headers::RESOURCE_USAGE, usage(figure));
}

/// What a collection holds: the living only.
fn usage(figure: &Figure) -> Vec<u8> {
    let kilobytes = figure.live.bytes.div_ceil(KILOBYTE);
    let mut text = Vec::with_capacity(144);
    for (name, count) in [
        ("functions", figure.functions as u64),
        ("storedProcedures", figure.stored_procedures as u64),
        ("triggers", figure.triggers as u64),
        ("documentSize", 0),
        ("documentsSize", kilobytes),
        ("documentsCount", figure.live.items),
        ("collectionSize", kilobytes),
    ] {
        text.extend_from_slice(name.as_bytes());
        text.push(b'=');
        number::write_u64(count, &mut text);
        text.push(b';');
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn both_lists_have_the_same_members_in_the_same_order() {
        let names = |text: &str| {
            let members = text.split_terminator(';');
            let names = members.map(|member| member.split_once('=').unwrap().0.to_owned());
            names.collect::<Vec<_>>()
        };
        let usage = String::from_utf8(usage(&Figure::default())).unwrap();
        assert_eq!(names(QUOTA.to_str().unwrap()), names(&usage));
        assert!(
            QUOTA
                .to_str()
                .unwrap()
                .contains(";collectionSize=10485760;")
        );
    }
}
