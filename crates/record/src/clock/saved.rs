//! The bytes in which the clock survives a restart.

use super::ClockRefused;
use crate::time::Millis;

const VERSION: u8 = 1;
const BODY_BYTES: usize = 2 + 4 * 8;
const SAVED_BYTES: usize = BODY_BYTES + 4;

/// The two kinds of engine clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockKind {
    /// Follows the machine's clock.
    Wall,
    /// Moved by hand.
    Virtual,
}

/// The kind of clock that saved these bytes: for the store, which lets nobody change it.
pub fn kind_of(saved: &[u8]) -> Result<ClockKind, ClockRefused> {
    Saved::decode(saved).map(|saved| saved.kind)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Saved {
    pub kind: ClockKind,
    /// The latest time anybody may have seen.
    pub floor: Millis,
    /// Names the boot of the machine; 0 if unknown.
    pub boot: u64,
    /// The monotonic clock of that boot when the floor was saved.
    pub mono: i64,
    /// How much longer purging had to wait.
    pub purge_hold_ms: u64,
}

impl Saved {
    pub fn encode(&self) -> Vec<u8> {
        let kind = match self.kind {
            ClockKind::Wall => 0,
            ClockKind::Virtual => 1,
        };
        let mut out = Vec::with_capacity(SAVED_BYTES);
        out.extend_from_slice(&[VERSION, kind]);
        out.extend_from_slice(&self.floor.0.to_be_bytes());
        out.extend_from_slice(&self.boot.to_be_bytes());
        out.extend_from_slice(&self.mono.to_be_bytes());
        out.extend_from_slice(&self.purge_hold_ms.to_be_bytes());
        out.extend_from_slice(&crc32fast::hash(&out).to_be_bytes());
        out
    }

    pub fn decode(bytes: &[u8]) -> Result<Saved, ClockRefused> {
        let Some((body, sum)) = bytes.split_at_checked(BODY_BYTES) else {
            return Err(ClockRefused::Damaged);
        };
        if sum != crc32fast::hash(body).to_be_bytes() {
            return Err(ClockRefused::Damaged);
        }
        let kind = match body {
            [VERSION, 0, ..] => ClockKind::Wall,
            [VERSION, 1, ..] => ClockKind::Virtual,
            _ => return Err(ClockRefused::Damaged),
        };
        let word = |index: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&body[2 + index * 8..][..8]);
            word
        };
        Ok(Saved {
            kind,
            floor: Millis(u64::from_be_bytes(word(0))),
            boot: u64::from_be_bytes(word(1)),
            mono: i64::from_be_bytes(word(2)),
            purge_hold_ms: u64::from_be_bytes(word(3)),
        })
    }
}
