//! `docs/support/mongo.md` is written from the registry of commands; it is never behind it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

#[test]
fn support_page_is_true() {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let path = Path::new(&package).join("../../docs/support/mongo.md");
    let page = format!(
        "# The Mongo door: what works\n\nWritten by `cargo run -p xtask -- gen` from the registry of commands; a test fails when it is stale. \
         What filters, updates and pipelines can do is in `mongo-language.md`.\n\n{}\n\
         Commands that are not listed answer 59, options that are not known 40415. Not served: \
         JavaScript, restrictions of users and roles by address.\n\nTexts are UTF-8: a request with one that is not fails by itself (22), wherever in the message it is, where MongoDB keeps the bytes. \
         The `limit` of a delete statement is a number: MongoDB takes anything else for 0 and deletes all that match, here it is refused (14, or 40414 for null). \
         A change stream shows what is written after it was opened: what was answered before its `aggregate` came is not in it, and in MongoDB neither.\n",
        lapsedb_door_mongo::support_page()
    );
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/support/mongo.md is stale: cargo run -p xtask -- gen"
    );
}
