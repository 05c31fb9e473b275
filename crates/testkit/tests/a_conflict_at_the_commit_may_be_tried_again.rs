//! A transaction that has changed a document which expires before the commit is told so in a way that drivers try it again.

use lapsedb_testkit::{Engine, MongoClient, Options, Server};
use serde_json::{Value, json};

const SESSION: &str = r#""lsid":{"id":{"$uuid":"00000000-0000-4000-8000-000000000001"}},"txnNumber":{"$numberLong":"1"},"autocommit":false"#;

/// Runs a command, given without its last brace, in the transaction.
fn run(client: &mut MongoClient, database: &str, command: &str) -> Value {
    let whole = format!("{command},{SESSION}}}");
    client.command(database, &whole).unwrap()
}

#[test]
fn when_a_changed_document_has_expired() {
    let options = Options::new(Engine::Memory).flag("--mongo-port").flag("0");
    let server = Server::start(&options);
    let mut client = MongoClient::new(server.mongo_address().unwrap());
    let index =
        r#"{"createIndexes":"c","indexes":[{"key":{"_ts":1},"name":"t","expireAfterSeconds":10}]}"#;
    assert_eq!(client.command("d", index).unwrap()["ok"], 1.0);
    let insert = r#"{"insert":"c","documents":[{"_id":1,"v":0}]}"#;
    assert_eq!(client.command("d", insert).unwrap()["n"], 1);
    let update =
        r#"{"update":"c","updates":[{"q":{"_id":1},"u":{"$set":{"v":1}}}],"startTransaction":true"#;
    assert_eq!(run(&mut client, "d", update)["n"], 1);
    server.advance_ms(10_000);
    for find in [
        r#"{"find":"c","filter":{"_id":1}"#,
        r#"{"find":"c","filter":{}"#,
    ] {
        let found = run(&mut client, "d", find);
        assert_eq!(found["cursor"]["firstBatch"], json!([]), "{found}");
    }
    let committed = run(&mut client, "admin", r#"{"commitTransaction":1"#);
    assert_eq!(committed["code"], 112, "{committed}");
    assert_eq!(
        committed["errorLabels"],
        json!(["TransientTransactionError"])
    );
    let found = client.command("d", r#"{"find":"c"}"#).unwrap();
    assert_eq!(found["cursor"]["firstBatch"], json!([]), "{found}");
}
