//! What is stored, and whether it may be seen.
//!
//! Pure but for [`clock`]: time, policy and record come in as arguments. Knows no engine, no key layout and no protocol.

pub mod clock;
pub mod dates;
pub mod eras;
pub mod header;
pub mod mark;
pub mod settled;
pub mod stored;
pub mod time;
pub mod ttl;

pub use clock::Clock;
pub use dates::{DateRule, DateRules, DateSource, Dated, Dates, EraSpan};
pub use eras::{Era, Eras};
pub use header::{HEADER_BYTES, Header};
pub use mark::{MARK_BYTES, Mark};
pub use settled::Settled;
pub use stored::{Corrupt, Live, Stored};
pub use time::{Millis, Secs};
pub use ttl::{Expiry, ItemTtl, Lens, Policy, Setting, TTL_SECS_MAX};
