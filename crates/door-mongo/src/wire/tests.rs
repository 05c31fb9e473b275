#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lapsedb_value::{Value, bson, order};

use super::*;

/// Reads a message for which there is always room.
fn read(header: &Header, payload: &[u8]) -> Result<Incoming, Malformed> {
    super::read(header, payload, &|_| Ok(()))
}

fn document(members: &[(&str, Value)]) -> (lapsedb_value::Object, Vec<u8>) {
    let mut object = lapsedb_value::Object::new();
    for (name, value) in members {
        object.push(*name, value.clone());
    }
    let mut bytes = Vec::new();
    bson::write_document(&object, &mut bytes);
    (object, bytes)
}

fn header(op_code: i32, payload: &[u8]) -> Header {
    let whole = frame::whole(7, 0, op_code, payload);
    Header::read(whole.first_chunk().unwrap(), MESSAGE_BYTES_MAX).unwrap()
}

fn msg(flags: u32, sections: &[&[u8]]) -> Vec<u8> {
    let mut bytes = flags.to_le_bytes().to_vec();
    sections
        .iter()
        .for_each(|section| bytes.extend_from_slice(section));
    bytes
}

fn body_section() -> Vec<u8> {
    let (_, bytes) = document(&[("ping", Value::Int32(1)), ("$db", Value::from("admin"))]);
    [&[0], bytes.as_slice()].concat()
}

fn sequence_section(name: &str, documents: &[Vec<u8>]) -> Vec<u8> {
    let mut inner = name.as_bytes().to_vec();
    inner.push(0);
    documents
        .iter()
        .for_each(|document| inner.extend_from_slice(document));
    let size = i32::try_from(inner.len() + 4).unwrap().to_le_bytes();
    [&[1], &size[..], &inner].concat()
}

#[test]
fn lengths_that_cannot_be_are_refused() {
    for length in [i32::MIN, -1, 0, 15, 48_000_001, i32::MAX] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        assert!(Header::read(&bytes, MESSAGE_BYTES_MAX).is_err(), "{length}");
    }
    let mut bytes = [0; HEADER_BYTES];
    bytes[..4].copy_from_slice(&16_385i32.to_le_bytes());
    assert!(Header::read(&bytes, 16_384).is_err());
}

#[test]
fn a_command_with_sequences_is_read() {
    let (_, one) = document(&[("a", Value::Int32(1))]);
    let (_, two) = document(&[("a", Value::Int32(2))]);
    let payload = msg(
        2,
        &[&sequence_section("documents", &[one, two]), &body_section()],
    );
    let read = read(&header(OP_MSG, &payload), &payload).unwrap();
    let Message::Msg(msg) = read.message else {
        panic!("not a command");
    };
    assert!(msg.more_to_come && !msg.exhaust_allowed);
    assert_eq!(msg.sequences.len(), 1);
    assert_eq!(msg.sequences[0].0, "documents");
    assert_eq!(msg.sequences[0].1.len(), 2);
}

#[test]
fn flags_are_understood_or_refused() {
    let read_with = |flags: u32| {
        let payload = msg(flags, &[&body_section()]);
        read(&header(OP_MSG, &payload), &payload)
    };
    assert!(read_with(0).is_ok());
    for bit in 2..16 {
        assert!(read_with(1 << bit).is_err(), "bit {bit}");
    }
    for bit in 16..32 {
        assert!(read_with(1 << bit).is_ok(), "bit {bit}");
    }
}

#[test]
fn a_checksum_must_be_right() {
    let mut payload = msg(1, &[&body_section()]);
    let raw = header(OP_MSG, &[payload.as_slice(), &[0; 4]].concat())
        .raw()
        .unwrap();
    let sum = crc32c::checksum(&[&raw, &payload]);
    payload.extend_from_slice(&sum.to_le_bytes());
    assert!(read(&header(OP_MSG, &payload), &payload).is_ok());
    let last = payload.len() - 1;
    payload[last] ^= 1;
    assert!(read(&header(OP_MSG, &payload), &payload).is_err());
}

#[test]
fn every_shortened_message_is_refused() {
    let (_, one) = document(&[("a", Value::from("text"))]);
    let payload = msg(
        0,
        &[&body_section(), &sequence_section("documents", &[one])],
    );
    let body_ends = 4 + body_section().len();
    for length in 0..payload.len() {
        let short = &payload[..length];
        let read = read(&header(OP_MSG, short), short);
        // Cut between the sections it is another whole message.
        assert_eq!(read.is_ok(), length == body_ends, "{length}");
    }
}

#[test]
fn compressed_messages_come_out_as_they_went_in() {
    let inner = msg(0, &[&body_section()]);
    for compressor in [
        Compressor::Noop,
        Compressor::Snappy,
        Compressor::Zlib,
        Compressor::Zstd,
    ] {
        let payload = op_compressed::write(OP_MSG, compressor, &inner);
        let read = read(&header(OP_COMPRESSED, &payload), &payload).unwrap();
        assert_eq!(read.compressor, Some(compressor));
        let Message::Msg(msg) = read.message else {
            panic!("not a command");
        };
        let (wanted, _) = document(&[("ping", Value::Int32(1)), ("$db", Value::from("admin"))]);
        assert!(order::deep_equal(
            &Value::Object(msg.body),
            &Value::Object(wanted)
        ));
    }
}

#[test]
fn a_claimed_length_is_not_believed() {
    let inner = msg(0, &[&body_section()]);
    for compressor in [Compressor::Snappy, Compressor::Zlib, Compressor::Zstd] {
        let good = op_compressed::write(OP_MSG, compressor, &inner);
        let length = i32::try_from(inner.len()).unwrap();
        for claim in [-1, 0, length - 1, length + 1, 48_000_000, i32::MAX] {
            let mut payload = good.clone();
            payload[4..8].copy_from_slice(&claim.to_le_bytes());
            assert!(
                read(&header(OP_COMPRESSED, &payload), &payload).is_err(),
                "{claim}"
            );
        }
    }
}

#[test]
fn the_old_greeting_is_read_wrapped_or_not() {
    let (plain, _) = document(&[("isMaster", Value::Int32(1))]);
    for members in [
        vec![("isMaster", Value::Int32(1))],
        vec![("$query", Value::Object(plain.clone()))],
    ] {
        let (_, bytes) = document(&members);
        let payload = [&0i32.to_le_bytes()[..], b"admin.$cmd\0", &[0; 8], &bytes].concat();
        let read = read(&header(OP_QUERY, &payload), &payload).unwrap();
        let Message::Query(query) = read.message else {
            panic!("not a query");
        };
        assert_eq!(query.database(), Some("admin"));
        assert!(query.body.contains_key("isMaster"));
    }
}

#[test]
fn removed_operations_are_refused() {
    for op_code in [0, 1, 1000, 2001, 2002, 2005, 2006, 2007, 2010, 2011] {
        assert!(
            read(&header(op_code, &[0; 32]), &[0; 32]).is_err(),
            "{op_code}"
        );
    }
}

#[test]
fn a_reply_is_put_into_the_room_before_its_document() {
    let (_, document) = document(&[("ok", Value::Double(1.0))]);
    let with_room = [&[0; REPLY_ROOM], document.as_slice()].concat();
    let plain = reply(7, 9, None, false, with_room.clone());
    let head = Header::read(plain.first_chunk().unwrap(), MESSAGE_BYTES_MAX).unwrap();
    assert_eq!(
        (head.request_id, head.response_to, head.op_code),
        (9, 7, OP_MSG)
    );
    assert_eq!(head.payload_bytes, 5 + document.len());
    assert_eq!(plain[HEADER_BYTES..REPLY_ROOM], [0; 5]);
    assert_eq!(plain[REPLY_ROOM..], document);
    let packed = reply(7, 9, Some(Compressor::Zlib), false, with_room.clone());
    let (op_code, _, inner) =
        op_compressed::read(&packed[HEADER_BYTES..], MESSAGE_BYTES_MAX).unwrap();
    assert_eq!((op_code, &inner[5..]), (OP_MSG, document.as_slice()));
    let old = old_reply(7, 9, false, with_room);
    assert_eq!(old[HEADER_BYTES + 20..], document);
    let more = reply(
        7,
        9,
        None,
        true,
        [&[0; REPLY_ROOM], document.as_slice()].concat(),
    );
    assert_eq!(more[HEADER_BYTES..REPLY_ROOM], [2, 0, 0, 0, 0]);
}

#[test]
fn a_message_unpacks_to_no_more_than_it_may_be() {
    let inner = msg(0, &[&body_section()]);
    let payload = op_compressed::write(OP_MSG, Compressor::Zlib, &inner);
    let whole = frame::whole(7, 0, OP_COMPRESSED, &payload);
    let allowed = |bytes: usize| {
        let header = Header {
            message_bytes_max: bytes,
            ..header(OP_COMPRESSED, &payload)
        };
        read(&header, &payload)
    };
    assert!(whole.len() < 16_384);
    assert!(allowed(inner.len() + HEADER_BYTES).is_ok());
    assert!(allowed(inner.len() + HEADER_BYTES - 1).is_err());
}

#[test]
fn what_is_too_deep_or_too_large_is_answered() {
    let mut deep = Value::Int32(1);
    for _ in 0..300 {
        deep = Value::Array(vec![deep]);
    }
    let (_, deep) = document(&[("a", deep)]);
    let (_, large) = document(&[(
        "a",
        Value::Binary {
            subtype: 0,
            bytes: vec![0; DOCUMENT_BYTES_MAX],
        },
    )]);
    for (document, code) in [(deep, 15), (large, 10_334)] {
        for (flags, reply) in [(0, ReplyForm::Msg), (2, ReplyForm::Nothing)] {
            let section = sequence_section("documents", std::slice::from_ref(&document));
            let payload = msg(flags, &[&body_section(), &section]);
            let error = read(&header(OP_MSG, &payload), &payload).unwrap_err();
            assert_eq!(error.refusal, Some(Refusal { code, reply }));
        }
    }
}

/// A message with documents beside it, of so many bytes at least.
fn large(bytes_min: usize) -> (Vec<u8>, usize) {
    let (_, one) = document(&[("a", Value::Array(vec![Value::Null; 1000]))]);
    let count = bytes_min / one.len() + 1;
    let section = sequence_section("documents", &vec![one; count]);
    (msg(0, &[&body_section(), &section]), count)
}

#[test]
fn many_documents_are_kept_as_they_came() {
    let (payload, count) = large(1 << 20);
    let read_it = read(&header(OP_MSG, &payload), &payload).unwrap();
    let Message::Msg(msg) = read_it.message else {
        panic!("not a command");
    };
    let Sequence::Raw(documents) = &msg.sequences[0].1 else {
        panic!("read before they are needed");
    };
    assert_eq!(documents.len(), count);
    let whole = lapsedb_service::documents::read_all(documents).unwrap();
    let list = whole[0].as_object().unwrap().get("a").unwrap();
    assert_eq!(list.as_array().unwrap().len(), 1000);
    // What is wrong in one of them is wrong with the message, as in a short one.
    for at in [payload.len() - 1, payload.len() - 2] {
        let mut wrong = payload.clone();
        wrong[at] = 0xEE;
        let refused = read(&header(OP_MSG, &wrong), &wrong);
        assert!(refused.is_err_and(|why| why.refusal.is_none()), "{at}");
    }
}

#[test]
fn a_large_command_is_read_once_there_is_room() {
    let list = Value::Array(vec![Value::Null; 100_000]);
    let (body, bytes) = document(&[("ping", Value::Int32(1)), ("list", list)]);
    let payload = msg(0, &[&[&[0], bytes.as_slice()].concat()]);
    let header = header(OP_MSG, &payload);
    let asked = std::cell::Cell::new(0);
    let admit = |bytes: usize| {
        asked.set(bytes);
        Ok(())
    };
    assert!(super::read(&header, &payload, &admit).is_ok());
    assert_eq!(asked.get(), lapsedb_value::budget::object_bytes(&body));
    let stop = Stop::Account { bytes_max: 7 };
    let refused = super::read(&header, &payload, &|_| Err(stop)).unwrap_err();
    let refusal = Refusal {
        code: codes::EXCEEDED_MEMORY_LIMIT,
        reply: ReplyForm::Msg,
    };
    assert_eq!(refused.refusal, Some(refusal));
}

#[test]
fn texts_that_are_not_utf8_are_answered() {
    let (_, greeting) = document(&[("isMaster", Value::Int32(1)), ("x", Value::from("aXb"))]);
    let broken: Vec<u8> = greeting
        .iter()
        .map(|byte| if *byte == b'X' { 0xFF } else { *byte })
        .collect();
    let query = |namespace: &[u8], document: &[u8]| {
        let numbers = [0; 8];
        [&[0; 4], namespace, &[0], &numbers, document].concat()
    };
    let mut named = sequence_section("aXb", &[]);
    named[6] = 0xFF;
    for (op_code, payload, reply) in [
        (OP_QUERY, query(b"admin.$cmd", &broken), ReplyForm::Old),
        (OP_QUERY, query(b"a\xFF.$cmd", &greeting), ReplyForm::Old),
        (OP_MSG, msg(0, &[&body_section(), &named]), ReplyForm::Msg),
        (
            OP_MSG,
            msg(2, &[&body_section(), &named]),
            ReplyForm::Nothing,
        ),
    ] {
        let packed = op_compressed::write(op_code, Compressor::Zlib, &payload);
        for (op_code, payload) in [(op_code, &payload), (OP_COMPRESSED, &packed)] {
            let error = read(&header(op_code, payload), payload).unwrap_err();
            let code = codes::INVALID_BSON;
            assert_eq!(error.refusal, Some(Refusal { code, reply }), "{error}");
        }
    }
}
