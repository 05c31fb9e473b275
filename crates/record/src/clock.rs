//! The engine clock: the only place that asks the machine for the time.
//!
//! It never goes back, and it believes no sudden jump of the wall clock without a reason: see [`Clock::sample`].
//! Nothing here decides what has expired; that is [`crate::ttl`].

mod iso;
mod line;
mod saved;
mod source;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::time::Millis;

pub use iso::{format_iso, parse_iso};
pub use line::{ClockEvent, Leap, Reason};
pub use saved::{ClockKind, kind_of};
pub use source::{Source, SystemSource};

use line::Line;
use saved::Saved;

/// A wall clock before this moment is wrong, because this program did not exist yet: 2026-11-01T00:00:00Z.
pub const BUILD_DATE: Millis = Millis(1_793_491_200_000);

/// The last moment the clock can show: 9999-12-31T23:59:59.999Z.
pub const NOW_MS_MAX: u64 = 253_402_300_799_999;

/// How far ahead of the store's last time the wall may be at start before it is refused: 400 days.
pub const START_LEAD_MS_MAX: u64 = 400 * 24 * 3600 * 1000;

/// How the wall clock is taken at start.
#[derive(Clone, Copy, Debug)]
pub struct WallOptions {
    /// Start although the wall clock is far from the store's last time (`--accept-clock`).
    pub accept: bool,
    /// The wall clock is wrong if it shows an earlier time; usually [`BUILD_DATE`].
    pub build_date: Millis,
}

impl Default for WallOptions {
    fn default() -> Self {
        WallOptions {
            accept: false,
            build_date: BUILD_DATE,
        }
    }
}

/// Why the clock cannot be used with this store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClockRefused {
    /// The wall is too far ahead of the last time the store has seen.
    #[error(
        "the clock says {} but this store was last used at {}; if the clock is right, start with --accept-clock",
        .wall, .floor
    )]
    TooFarAhead {
        /// What the wall says.
        wall: String,
        /// The last time of the store.
        floor: String,
    },
    /// The wall is earlier than this program.
    #[error(
        "the clock says {} which is before this program was made ({}); set the clock, or start with --accept-clock",
        .wall, .build
    )]
    BeforeBuild {
        /// What the wall says.
        wall: String,
        /// When the program was made.
        build: String,
    },
    /// The store was made with the other kind of clock.
    #[error("{}", match .saved {
        ClockKind::Virtual => "this store was created with --virtual-clock and opens only with it",
        ClockKind::Wall => "this store was created without --virtual-clock and cannot be opened with it",
    })]
    OtherKind {
        /// The kind of clock the store was made with.
        saved: ClockKind,
    },
    /// The saved bytes are not what was written.
    #[error("the saved clock of this store is damaged")]
    Damaged,
}

/// Why the clock was not moved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClockError {
    /// Only a virtual clock can be moved.
    #[error("the clock can be moved only in a store created with --virtual-clock")]
    NotVirtual,
    /// A virtual clock has nothing to trust.
    #[error("a virtual clock is never suspect; there is nothing to trust")]
    NotWall,
    /// Time does not go back.
    #[error("the clock cannot go back from {} to {}", format_iso(*.now), format_iso(*.asked))]
    Backwards {
        /// The present time.
        now: Millis,
        /// The time asked for.
        asked: Millis,
    },
    /// Past the end of the calendar.
    #[error("the clock cannot go beyond {}", format_iso(Millis(NOW_MS_MAX)))]
    TooFar,
}

/// The engine clock. Shared as `Arc<Clock>`; reading it takes no lock.
#[derive(Debug)]
pub struct Clock {
    kind: Inner,
}

#[derive(Debug)]
enum Inner {
    Wall(Line),
    Virtual {
        now: AtomicU64,
        /// The time that a move under way is about to show; checkpoints must not fall behind it.
        planned: AtomicU64,
    },
}

/// A move of a virtual clock that is not shown yet: make a [`Clock::checkpoint`] durable, then [`Clock::show`] it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Move {
    to: Millis,
}

impl Clock {
    /// A clock that follows the machine's, continuing from what [`Clock::checkpoint`] last saved.
    pub fn wall(saved: Option<&[u8]>, options: &WallOptions) -> Result<Clock, ClockRefused> {
        Clock::wall_from(Box::new(SystemSource::new()), saved, options)
    }

    /// The same on another source of time: for tests.
    pub fn wall_from(
        source: Box<dyn Source>,
        saved: Option<&[u8]>,
        options: &WallOptions,
    ) -> Result<Clock, ClockRefused> {
        let saved = saved.map(Saved::decode).transpose()?;
        if let Some(Saved {
            kind: ClockKind::Virtual,
            ..
        }) = saved
        {
            return Err(ClockRefused::OtherKind {
                saved: ClockKind::Virtual,
            });
        }
        Ok(Clock {
            kind: Inner::Wall(Line::start(source, saved.as_ref(), options)?),
        })
    }

    /// A clock that stands still until it is moved; it starts at the saved time, or the wall's in a new store.
    pub fn virtual_clock(saved: Option<&[u8]>) -> Result<Clock, ClockRefused> {
        let start = match saved.map(Saved::decode).transpose()? {
            None => Clock::wall_now(),
            Some(Saved {
                kind: ClockKind::Virtual,
                floor,
                ..
            }) => floor,
            Some(Saved {
                kind: ClockKind::Wall,
                ..
            }) => {
                return Err(ClockRefused::OtherKind {
                    saved: ClockKind::Wall,
                });
            }
        };
        Ok(Clock::virtual_at(start))
    }

    /// A virtual clock that starts at a given time: for tests.
    #[must_use]
    pub fn virtual_at(start: Millis) -> Clock {
        Clock {
            kind: Inner::Virtual {
                now: AtomicU64::new(start.0.min(NOW_MS_MAX)),
                planned: AtomicU64::new(0),
            },
        }
    }

    /// The engine time. It never goes back.
    #[must_use]
    pub fn now(&self) -> Millis {
        match &self.kind {
            Inner::Wall(line) => line.now(),
            Inner::Virtual { now, .. } => Millis(now.load(Ordering::Acquire)),
        }
    }

    /// Judges the wall clock, and tells what has happened to it since the last call. The server calls this every second, so
    /// that a step is noticed although no request comes.
    pub fn sample(&self) -> Vec<ClockEvent> {
        match &self.kind {
            Inner::Wall(line) => line.sample(),
            Inner::Virtual { .. } => Vec::new(),
        }
    }

    /// From now on no earlier time than this is shown: for a time that somebody has already seen.
    pub fn raise_floor(&self, floor: Millis) {
        let floor = Millis(floor.0.min(NOW_MS_MAX));
        match &self.kind {
            Inner::Wall(line) => line.raise_floor(floor),
            Inner::Virtual { now, .. } => {
                now.fetch_max(floor.0, Ordering::AcqRel);
            }
        }
    }

    /// What to persist, so that a later start finds no time behind `now`.
    #[must_use]
    pub fn checkpoint(&self, now: Millis) -> Vec<u8> {
        let floor = now.max(self.now());
        match &self.kind {
            Inner::Wall(line) => line.save(floor).encode(),
            Inner::Virtual { planned, .. } => Saved {
                kind: ClockKind::Virtual,
                floor: floor.max(Millis(planned.load(Ordering::Acquire))),
                boot: 0,
                mono: 0,
                purge_hold_ms: 0,
            }
            .encode(),
        }
    }

    /// Whether time has leapt ahead of what was last saved: then a start after a crash, with the wall set back, would find
    /// an earlier time than was shown. Nothing may be shown by it before a [`Clock::checkpoint`] is durable, which is told
    /// by [`Clock::leap_saved`]. The moves of a virtual clock are saved by whoever moves it.
    #[must_use]
    pub fn leapt(&self) -> Option<Leap> {
        match &self.kind {
            Inner::Wall(line) => line.leapt(),
            Inner::Virtual { .. } => None,
        }
    }

    /// A checkpoint made after the leap was noticed is durable now.
    pub fn leap_saved(&self, leap: Leap) {
        match &self.kind {
            Inner::Wall(line) => line.leap_saved(leap),
            Inner::Virtual { .. } => {}
        }
    }

    /// Whether this is the clock that is moved by hand.
    #[must_use]
    pub fn is_virtual(&self) -> bool {
        match self.kind {
            Inner::Wall(_) => false,
            Inner::Virtual { .. } => true,
        }
    }

    /// Whether the wall has jumped ahead and is not believed yet.
    #[must_use]
    pub fn suspect(&self) -> bool {
        match &self.kind {
            Inner::Wall(line) => line.suspect(),
            Inner::Virtual { .. } => false,
        }
    }

    /// Believes the wall as it stands now, by an operator's word; also ends the hold on purging.
    pub fn trust(&self) -> Result<Millis, ClockError> {
        match &self.kind {
            Inner::Wall(line) => {
                line.trust();
                Ok(line.now())
            }
            Inner::Virtual { .. } => Err(ClockError::NotWall),
        }
    }

    /// Plans to move a virtual clock forward by so many milliseconds. One move at a time.
    pub fn plan_advance(&self, ms: u64) -> Result<Move, ClockError> {
        self.plan(|now| now.checked_add(ms).ok_or(ClockError::TooFar))
    }

    /// Plans to move a virtual clock to a time, which may not lie before the present. One move at a time.
    pub fn plan_set(&self, to: Millis) -> Result<Move, ClockError> {
        self.plan(|_| Ok(to.0))
    }

    fn plan(&self, target: impl Fn(u64) -> Result<u64, ClockError>) -> Result<Move, ClockError> {
        let Inner::Virtual { now, planned } = &self.kind else {
            return Err(ClockError::NotVirtual);
        };
        let now = now.load(Ordering::Acquire);
        let to = checked(now, target(now)?)?;
        planned.store(to, Ordering::Release);
        Ok(Move { to: Millis(to) })
    }

    /// Shows a move whose checkpoint is durable. Says what time it is then.
    pub fn show(&self, planned: Move) -> Millis {
        self.raise_floor(planned.to);
        self.now()
    }

    /// Takes a move back whose checkpoint could not be made durable.
    pub fn take_back(&self, _planned: Move) {
        match &self.kind {
            Inner::Wall(_) => {}
            Inner::Virtual { planned, .. } => planned.store(0, Ordering::Release),
        }
    }

    /// Moves a virtual clock forward at once: for tests of what does not survive the process anyway.
    pub fn advance(&self, ms: u64) -> Result<Millis, ClockError> {
        self.move_to(|now| now.checked_add(ms).ok_or(ClockError::TooFar))
    }

    /// Moves a virtual clock to a time at once: for tests of what does not survive the process anyway.
    pub fn set(&self, to: Millis) -> Result<Millis, ClockError> {
        self.move_to(|_| Ok(to.0))
    }

    fn move_to(
        &self,
        target: impl Fn(u64) -> Result<u64, ClockError>,
    ) -> Result<Millis, ClockError> {
        let Inner::Virtual { now: clock, .. } = &self.kind else {
            return Err(ClockError::NotVirtual);
        };
        let mut now = clock.load(Ordering::Acquire);
        loop {
            let to = checked(now, target(now)?)?;
            // Two movers at once are put one after the other; neither move is lost.
            match clock.compare_exchange_weak(now, to, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Ok(Millis(to)),
                Err(moved) => now = moved,
            }
        }
    }

    /// Whether purging must wait because the time may be wrong.
    #[must_use]
    pub fn purge_horizon_held(&self) -> bool {
        match &self.kind {
            Inner::Wall(line) => line.purge_held(),
            Inner::Virtual { .. } => false,
        }
    }

    /// The plain wall clock: for the dates of request signatures and certificates, and for nothing else.
    #[must_use]
    pub fn wall_now() -> Millis {
        Millis(
            u64::try_from(SystemSource::new().wall_ms())
                .unwrap_or(0)
                .min(NOW_MS_MAX),
        )
    }

    /// A point on the monotonic clock: for durations, never for expiry.
    #[must_use]
    pub fn monotonic() -> Instant {
        source::instant()
    }
}

/// Where a virtual clock may go from a time.
fn checked(now: u64, to: u64) -> Result<u64, ClockError> {
    if to > NOW_MS_MAX {
        return Err(ClockError::TooFar);
    }
    if to < now {
        return Err(ClockError::Backwards {
            now: Millis(now),
            asked: Millis(to),
        });
    }
    Ok(to)
}
