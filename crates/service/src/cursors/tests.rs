#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

fn cursor(no_timeout: bool) -> Cursor {
    Cursor {
        owner: None,
        namespace: Namespace::pseudo("d", "c"),
        needs: Needs::Nothing,
        feed: Feed::Held(Held::new([], None, &Arc::default())),
        no_timeout,
        place: None,
        kept: None,
        time_left: None,
        budget: Arc::default(),
        usage: Usage::default(),
    }
}

#[test]
fn an_idle_cursor_is_gone_after_ten_minutes() {
    let cursors = Cursors::default();
    let (idle, kept) = (
        cursors.keep(cursor(false)).unwrap(),
        cursors.keep(cursor(true)).unwrap(),
    );
    let start = Clock::monotonic();
    let after = |seconds: u64| start + Duration::from_secs(seconds);
    assert!(cursors.find_at(idle, after(IDLE_SECONDS_MAX - 5)).is_ok());
    // Its time begins anew with every use.
    assert!(
        cursors
            .find_at(idle, after(2 * IDLE_SECONDS_MAX - 10))
            .is_ok()
    );
    cursors.sweep_at(after(2 * IDLE_SECONDS_MAX));
    assert_eq!(cursors.len(), 2);
    let late = after(4 * IDLE_SECONDS_MAX);
    let gone = cursors.find_at(idle, late).err().unwrap();
    assert_eq!(gone.code(), Some(code::CURSOR_NOT_FOUND));
    assert!(cursors.find_at(kept, late).is_ok());
    cursors.keep(cursor(false)).unwrap();
    cursors.sweep_at(after(9 * IDLE_SECONDS_MAX));
    assert_eq!(cursors.len(), 1);
}

#[test]
fn so_many_cursors_and_no_more() {
    let cursors = Cursors::default();
    let first = cursors.keep(cursor(false)).unwrap();
    for _ in 1..CURSORS_MAX {
        cursors.keep(cursor(false)).unwrap();
    }
    let refused = cursors.keep(cursor(false)).unwrap_err();
    assert_eq!(refused.code(), Some(code::BAD_VALUE));
    assert!(cursors.remove(first) && !cursors.remove(first));
    assert!(cursors.keep(cursor(false)).is_ok());
}

#[test]
fn a_cursor_whose_batch_panics_is_closed() {
    let cursors = Cursors::default();
    let id = cursors.keep(cursor(false)).unwrap();
    let guard = || get_more::CloseOnPanic(&cursors, id);
    drop(guard());
    assert!(cursors.find(id).is_ok());
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _guard = guard();
        panic!("on purpose");
    }));
    assert!(panicked.is_err());
    let closed = cursors.find(id).err().unwrap();
    assert_eq!(closed.code(), Some(code::CURSOR_NOT_FOUND));
}
