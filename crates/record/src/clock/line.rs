//! The line that engine time follows: the wall while it is believable, else the monotonic clock.
//!
//! An *offset* is wall minus monotonic time. It is constant while nobody sets the wall clock, so a change of it is a step.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::iso::format_signed;
use super::saved::{ClockKind, Saved};
use super::{ClockRefused, NOW_MS_MAX, START_LEAD_MS_MAX, Source, WallOptions};
use crate::time::Millis;

/// A wall further ahead of the monotonic projection than this is suspect.
pub(super) const STEP_MS_MAX: i64 = 60_000;
/// A suspect wall that has not moved for so long is believed.
pub(super) const HOLD_MS: i64 = 15 * 60_000;
/// A wall this far ahead of the store's last time at start makes purging wait.
pub(super) const PURGE_LEAD_MS_MAX: i64 = 24 * 3_600_000;
/// How long purging then waits.
pub(super) const PURGE_HOLD_MS: i64 = 60 * 60_000;
/// An offset that stays within this is steady.
const STEADY_SLACK_MS: u64 = 250;
/// A small step that has been steady for so long is the new base from which the next step is measured.
const SETTLE_MS: i64 = 3_000;
/// Two clocks are not read in one instant; a difference up to this is no step.
const READ_SLACK_MS: u64 = 20;
/// While the wall is behind, engine time loses one part in so many against it, until they meet again. Otherwise a machine
/// whose clock is set back a little every day would run away from the wall for ever.
const SLEW_PARTS: i64 = 1_000;
/// Events that nobody fetches are dropped beyond this number.
const EVENTS_MAX: usize = 64;

/// Why a step of the wall was believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The kernel reports a synchronised clock.
    Synchronised,
    /// An operator said so.
    Trusted,
    /// It has been steady long enough.
    Steady,
}

/// What has happened to the wall clock: for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockEvent {
    /// The wall has jumped ahead and is not believed.
    Suspect {
        /// By how much it is ahead of engine time.
        ahead_ms: i64,
    },
    /// The suspect wall came back; nothing has happened.
    Returned,
    /// A jump ahead was taken over.
    Taken {
        /// By how much engine time moved.
        ahead_ms: i64,
        /// Why.
        reason: Reason,
    },
    /// The wall was set back; engine time goes on by the monotonic clock.
    Behind {
        /// By how much the wall is behind engine time.
        behind_ms: i64,
    },
}

/// A time that is ahead of what a crash would leave: see [`super::Clock::leapt`].
#[derive(Clone, Copy, Debug)]
pub struct Leap(i64);

/// The clock that follows the wall.
#[derive(Debug)]
pub(super) struct Line {
    source: Box<dyn Source>,
    boot: u64,
    /// The offset of the wall when it was last judged.
    seen: AtomicI64,
    /// The offset of engine time. Equal to `seen` while the wall is followed.
    offset: AtomicI64,
    /// The latest time shown to anybody.
    latest: AtomicU64,
    suspect: AtomicBool,
    /// The offset that a start after a crash in this boot would find by itself.
    durable: AtomicI64,
    /// The monotonic time until which purging waits.
    purge_after: AtomicI64,
    judge: Mutex<Judge>,
}

/// What judging remembers between samples.
#[derive(Debug)]
struct Judge {
    /// The believed offset from which a step is measured; never above the line's offset.
    base: i64,
    /// The present run of an unmoving wall: its offset, and since when.
    steady: (i64, i64),
    /// Until when the slew has been applied.
    slewed: i64,
    /// Whether the wall is known to be behind, so that it is told once.
    behind: bool,
    events: Vec<ClockEvent>,
}

impl Judge {
    fn tell(&mut self, event: ClockEvent) {
        if self.events.len() < EVENTS_MAX {
            self.events.push(event);
        }
    }
}

impl Line {
    pub fn start(
        source: Box<dyn Source>,
        saved: Option<&Saved>,
        options: &WallOptions,
    ) -> Result<Line, ClockRefused> {
        let (wall, mono, boot) = (source.wall_ms(), source.monotonic_ms(), source.boot_id());
        let build = signed(options.build_date);
        if wall < build && !options.accept {
            return Err(ClockRefused::BeforeBuild {
                wall: format_signed(wall),
                build: format_signed(build),
            });
        }
        let (mut start, mut purge_hold, mut durable) = (wall.max(0), 0, i64::MIN);
        if let Some(saved) = saved {
            // In the same boot the machine knows how long this program was away, whatever has become of the wall.
            let away = if saved.boot == boot && boot != 0 {
                (mono - saved.mono).max(0)
            } else {
                0
            };
            let floor = signed(saved.floor).saturating_add(away);
            if wall.saturating_sub(floor) > signed(Millis(START_LEAD_MS_MAX)) && !options.accept {
                return Err(ClockRefused::TooFarAhead {
                    wall: format_signed(wall),
                    floor: format_signed(floor),
                });
            }
            start = start.max(floor);
            if saved.boot == boot {
                durable = floor.saturating_sub(mono);
            }
            purge_hold = signed(Millis(saved.purge_hold_ms))
                .saturating_sub(away)
                .clamp(0, PURGE_HOLD_MS);
            if wall.saturating_sub(signed(saved.floor)) > PURGE_LEAD_MS_MAX {
                purge_hold = PURGE_HOLD_MS;
            }
        }
        let (seen, offset) = (wall.saturating_sub(mono), start.saturating_sub(mono));
        Ok(Line {
            source,
            boot,
            seen: AtomicI64::new(seen),
            offset: AtomicI64::new(offset),
            latest: AtomicU64::new(unsigned(start)),
            suspect: AtomicBool::new(false),
            durable: AtomicI64::new(durable),
            purge_after: AtomicI64::new(mono.saturating_add(purge_hold)),
            judge: Mutex::new(Judge {
                base: offset,
                steady: (seen, mono),
                slewed: mono,
                behind: false,
                events: Vec::new(),
            }),
        })
    }

    /// Reads two clocks and three atomics; takes the lock only when the wall has moved since it was last judged.
    pub fn now(&self) -> Millis {
        let (wall, mono) = (self.source.wall_ms(), self.source.monotonic_ms());
        let (seen, offset) = (
            self.seen.load(Ordering::Acquire),
            self.offset.load(Ordering::Acquire),
        );
        let time = if wall.saturating_sub(mono).abs_diff(seen) > READ_SLACK_MS {
            self.judge_now(&mut self.judge.lock())
        } else if seen == offset {
            wall
        } else {
            mono.saturating_add(offset)
        };
        self.show(time)
    }

    pub fn sample(&self) -> Vec<ClockEvent> {
        let mut judge = self.judge.lock();
        let time = self.judge_now(&mut judge);
        self.show(time);
        std::mem::take(&mut judge.events)
    }

    pub fn leapt(&self) -> Option<Leap> {
        let offset = self.offset.load(Ordering::Acquire);
        let durable = self.durable.load(Ordering::Acquire);
        let ahead = offset.saturating_sub(durable);
        (ahead > 0 && ahead.unsigned_abs() > READ_SLACK_MS).then_some(Leap(offset))
    }

    pub fn leap_saved(&self, leap: Leap) {
        self.durable.fetch_max(leap.0, Ordering::AcqRel);
    }

    pub fn suspect(&self) -> bool {
        self.suspect.load(Ordering::Acquire)
    }

    pub fn purge_held(&self) -> bool {
        self.suspect() || self.source.monotonic_ms() < self.purge_after.load(Ordering::Acquire)
    }

    pub fn trust(&self) {
        let mut judge = self.judge.lock();
        self.judge_now(&mut judge);
        if self.suspect() {
            self.take(
                &mut judge,
                self.seen.load(Ordering::Acquire),
                Reason::Trusted,
            );
        }
        self.purge_after.store(i64::MIN, Ordering::Release);
    }

    pub fn raise_floor(&self, floor: Millis) {
        self.latest.fetch_max(floor.0, Ordering::AcqRel);
        let mut judge = self.judge.lock();
        let offset = signed(floor).saturating_sub(self.source.monotonic_ms());
        if offset > self.offset.load(Ordering::Acquire) {
            // Time goes on from the floor by the monotonic clock, instead of standing still until the wall arrives.
            self.offset.store(offset, Ordering::Release);
            judge.base = offset;
        }
    }

    pub fn save(&self, floor: Millis) -> Saved {
        let mono = self.source.monotonic_ms();
        let left = self
            .purge_after
            .load(Ordering::Acquire)
            .saturating_sub(mono)
            .clamp(0, PURGE_HOLD_MS);
        // A restart follows the wall, even one that was suspect: then at least nothing may be purged by it at once.
        let hold = if self.suspect() { PURGE_HOLD_MS } else { left };
        Saved {
            kind: ClockKind::Wall,
            floor,
            boot: self.boot,
            mono,
            purge_hold_ms: unsigned(hold),
        }
    }

    /// Shows a time, unless a later one has been shown already.
    fn show(&self, time: i64) -> Millis {
        let time = unsigned(time).min(NOW_MS_MAX);
        let latest = self.latest.load(Ordering::Acquire);
        // Within one millisecond nothing is written, so readers do not fight for the cache line.
        if time <= latest {
            return Millis(latest);
        }
        Millis(self.latest.fetch_max(time, Ordering::AcqRel).max(time))
    }

    /// The wall and the monotonic clock, read close enough together to be compared.
    fn read(&self) -> (i64, i64) {
        const TRIES: usize = 4;
        let mut before = self.source.monotonic_ms();
        let mut wall = self.source.wall_ms();
        for _ in 0..TRIES {
            let after = self.source.monotonic_ms();
            if after.abs_diff(before) <= 1 {
                break;
            }
            before = after;
            wall = self.source.wall_ms();
        }
        (wall, before)
    }

    /// Compares the wall with the monotonic projection, decides which to follow, and gives the time.
    fn judge_now(&self, judge: &mut Judge) -> i64 {
        let (wall, mono) = self.read();
        let seen = wall.saturating_sub(mono);
        if seen.abs_diff(judge.steady.0) > STEADY_SLACK_MS {
            judge.steady = (seen, mono);
        }
        let steady_ms = mono.saturating_sub(judge.steady.1);
        if seen.saturating_sub(judge.base) > STEP_MS_MAX {
            if self.source.synchronised() {
                self.take(judge, seen, Reason::Synchronised);
            } else if self.suspect() && steady_ms >= HOLD_MS {
                self.take(judge, seen, Reason::Steady);
            } else if !self.suspect.swap(true, Ordering::AcqRel) {
                judge.tell(ClockEvent::Suspect {
                    ahead_ms: seen.saturating_sub(self.offset.load(Ordering::Acquire)),
                });
            }
        } else {
            if self.suspect.swap(false, Ordering::AcqRel) {
                judge.tell(ClockEvent::Returned);
            }
            self.follow(judge, seen, mono, steady_ms);
        }
        self.seen.store(seen, Ordering::Release);
        mono.saturating_add(self.offset.load(Ordering::Acquire))
    }

    /// Believes a step.
    fn take(&self, judge: &mut Judge, seen: i64, reason: Reason) {
        let before = self.offset.fetch_max(seen, Ordering::AcqRel);
        judge.base = before.max(seen);
        self.suspect.store(false, Ordering::Release);
        judge.tell(ClockEvent::Taken {
            ahead_ms: seen.saturating_sub(before),
            reason,
        });
    }

    /// Follows a believable wall forwards; behind a wall that was set back, goes on a little slower than monotonic time.
    fn follow(&self, judge: &mut Judge, seen: i64, mono: i64, steady_ms: i64) {
        let offset = self.offset.load(Ordering::Acquire);
        let behind_ms = offset.saturating_sub(seen);
        if behind_ms <= 0 {
            self.offset.store(seen, Ordering::Release);
            judge.slewed = mono;
        } else {
            let slew = mono.saturating_sub(judge.slewed) / SLEW_PARTS;
            if slew > 0 {
                self.offset
                    .store(offset.saturating_sub(slew).max(seen), Ordering::Release);
                judge.slewed = mono;
            }
        }
        let behind = behind_ms.unsigned_abs() > STEADY_SLACK_MS && behind_ms > 0;
        if behind && !judge.behind {
            judge.tell(ClockEvent::Behind { behind_ms });
        }
        judge.behind = behind;
        let offset = self.offset.load(Ordering::Acquire);
        judge.base = if steady_ms >= SETTLE_MS {
            offset
        } else {
            judge.base.min(offset)
        };
    }
}

fn signed(time: Millis) -> i64 {
    i64::try_from(time.0).unwrap_or(i64::MAX)
}

fn unsigned(time: i64) -> u64 {
    u64::try_from(time).unwrap_or(0)
}
