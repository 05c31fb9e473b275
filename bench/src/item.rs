//! Items of exactly one kibibyte, and the check that an answer carries the very item asked for.

use bytes::Bytes;

/// What one item weighs as sent.
pub const ITEM_BYTES: usize = 1024;

/// An item with its address on the wire.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its id.
    pub id: String,
    /// Its partition key, as the header wants it.
    pub partition_key: String,
    /// The JSON sent.
    pub body: Bytes,
    /// The part of the body that must come back unchanged, letter by letter.
    payload: std::ops::Range<usize>,
}

impl Item {
    /// The item with this id; `seed` decides its payload, so that two items seldom look alike.
    pub fn new(id: String, seed: u64) -> Self {
        let partition = format!("p{}", seed % 100);
        let mut body = format!("{{\"id\":\"{id}\",\"pk\":\"{partition}\",\"payload\":\"");
        let start = body.len();
        let mut random = Random(seed | 1);
        while body.len() < ITEM_BYTES - 2 {
            // Half of the letters vary, so that the store's compression finds text and not noise.
            body.push(if body.len() % 2 == 0 {
                'e'
            } else {
                random.letter()
            });
        }
        let payload = start..body.len();
        body.push_str("\"}");
        Self {
            id,
            partition_key: format!("[\"{partition}\"]"),
            body: Bytes::from(body),
            payload,
        }
    }

    /// What is wrong with an answer that should carry this item; none if nothing is.
    pub fn fault(&self, answer: &[u8]) -> Option<String> {
        let id = format!("\"id\":\"{}\"", self.id);
        if find(answer, id.as_bytes()).is_none() {
            return Some(format!("no {id} in the answer"));
        }
        const KEY: &[u8] = b"\"payload\":\"";
        let Some(at) = find(answer, KEY) else {
            return Some("no payload in the answer".to_owned());
        };
        if !answer[at + KEY.len()..].starts_with(&self.body[self.payload.clone()]) {
            return Some(format!("the payload of {} came back changed", self.id));
        }
        None
    }
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}

/// A small xorshift generator: the same numbers in every run.
pub struct Random(pub u64);

impl Random {
    /// Another sequence for each worker of each turn.
    pub fn of_worker(turn_id: usize, number: usize) -> Self {
        Self(0x9E37_79B9_7F4A_7C15 ^ ((turn_id as u64) << 32) ^ (number as u64 + 1))
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap_or(0) % bound.max(1)
    }

    /// A small letter.
    pub fn letter(&mut self) -> char {
        char::from(b'a' + u8::try_from(self.below(26)).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_weighs_one_kibibyte_and_recognises_itself_alone() {
        let one = Item::new("item-1".to_owned(), 11);
        let two = Item::new("item-2".to_owned(), 12);
        assert_eq!(one.body.len(), ITEM_BYTES);
        assert_eq!(one.fault(&one.body), None);
        assert!(one.fault(&two.body).is_some());
        assert!(one.fault(b"{}").is_some());
        let forged = String::from_utf8(two.body.to_vec())
            .unwrap()
            .replace("item-2", "item-1");
        assert!(one.fault(forged.as_bytes()).unwrap().contains("payload"));
    }

    #[test]
    fn one_changed_letter_is_noticed() {
        let item = Item::new("a".to_owned(), 5);
        let mut answer = item.body.to_vec();
        answer[1000] ^= 1;
        assert!(item.fault(&answer).is_some());
    }
}
