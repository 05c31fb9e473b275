//! What a client gives a batch of a change stream is how long it may wait: a batch that comes late is empty, and no failure.

use std::time::Duration;

use lapsedb_service::cursors::{self, GetMore};
use lapsedb_service::documents::{self, Aggregate, Namespace, Work};
use lapsedb_service::sessions::{self, Asked};
use lapsedb_value::Value;

use crate::support::{Bench, object};

/// Work that is out of time from its first moment on, as if the machine had been busy with others.
async fn late(bench: &Bench) -> Work {
    let work = sessions::begin(bench.ctx.clone(), &Asked::default()).await;
    let wait = Some(Duration::from_millis(5));
    work.unwrap().within(wait).running_out(true)
}

#[test]
fn a_late_batch_is_empty_and_the_stream_goes_on() {
    lapsedb_testkit::run(async {
        let bench = Bench::new().await;
        let namespace = Namespace::pseudo("d", "c");
        let mut work = Work::new(bench.ctx.clone());
        let aggregate = Aggregate {
            pipeline: vec![Value::Object(object(r#"{"$changeStream":{}}"#))],
            ..Aggregate::default()
        };
        let opened = documents::aggregate(&mut work, &namespace, &aggregate).await;
        let more = GetMore {
            cursor: opened.unwrap().cursor,
            batch_size: None,
            is_timed: true,
        };
        for _ in 0..3 {
            let mut work = late(&bench).await;
            let batch = cursors::get_more(&mut work, &namespace, &more)
                .await
                .unwrap();
            assert_eq!((batch.cursor, batch.documents.len()), (more.cursor, 0));
        }
    });
}
