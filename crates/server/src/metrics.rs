//! What is counted, as Prometheus text. Counting costs a few atomic additions per request.

mod verb;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;
use lapsedb_door_mongo::Counted;
use lapsedb_service::{Error, Gauges, Service, WorkState};

pub use verb::{Part, Verb};

/// The statuses that are counted by themselves; all others together are `other`.
const STATUSES: [u16; 25] = [
    200, 201, 204, 207, 304, 400, 401, 403, 404, 405, 408, 409, 410, 412, 413, 424, 429, 431, 449,
    500, 501, 502, 503, 507, 0,
];
/// The upper ends of the histogram's buckets, in microseconds.
const BUCKETS_US: [u64; 16] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000, 10_000_000,
];

/// The counters of this server.
#[derive(Debug, Default)]
pub struct Metrics {
    requests: [Statuses; Verb::COUNT],
    buckets: [AtomicU64; BUCKETS_US.len() + 1],
    micros: AtomicU64,
    /// Hundredths of a request unit.
    centi_units: AtomicU64,
    /// Commands of the Mongo door by name and code; 0 is success.
    commands: Mutex<BTreeMap<(&'static str, i32), u64>>,
}

#[derive(Debug, Default)]
struct Statuses([AtomicU64; STATUSES.len()]);

impl Metrics {
    /// Counts one answered request and what it was charged.
    pub fn count(&self, verb: Verb, status: StatusCode, charge: f64, took: Duration) {
        let status = status.as_u16();
        let other = STATUSES.len() - 1;
        let slot = STATUSES
            .iter()
            .position(|known| *known == status)
            .unwrap_or(other);
        add(&self.requests[verb.index()].0[slot], 1);
        self.time(took);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float cast saturates"
        )]
        add(&self.centi_units, (charge * 100.0).round() as u64);
    }

    /// Counts one answered command of the Mongo door.
    pub fn count_mongo(&self, counted: Counted) {
        self.time(counted.took);
        let key = (counted.command, counted.code.unwrap_or(0));
        // A thread that panicked while counting has left a number that still counts.
        let mut commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        *commands.entry(key).or_default() += 1;
    }

    fn time(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BUCKETS_US.partition_point(|end| *end < micros);
        add(&self.buckets[bucket], 1);
        add(&self.micros, micros);
    }

    /// Everything as Prometheus text.
    pub async fn text(&self, service: &Service) -> Result<String, Error> {
        let mut out = String::with_capacity(8 * 1024);
        self.write_requests(&mut out);
        self.write_seconds(&mut out);
        let units = read(&self.centi_units);
        let units = format!("{}.{:02}", units / 100, units % 100);
        let name = "lapsedb_request_units_total";
        family(&mut out, name, "counter", "Request units charged.");
        line(&mut out, name, &units);
        write_gauges(&mut out, &service.gauges().await?);
        Ok(out)
    }

    fn write_requests(&self, out: &mut String) {
        let name = "lapsedb_requests_total";
        family(out, name, "counter", "Requests answered.");
        for verb in Verb::ALL {
            for (status, counter) in STATUSES.iter().zip(&self.requests[verb.index()].0) {
                let count = read(counter);
                if count == 0 {
                    continue;
                }
                let status = if *status == 0 {
                    "other".to_owned()
                } else {
                    status.to_string()
                };
                line(
                    out,
                    &format!(
                        "{name}{{door=\"{}\",verb=\"{}\",status=\"{status}\"}}",
                        verb.door(),
                        verb.name()
                    ),
                    &count.to_string(),
                );
            }
        }
        let commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        for ((command, status), count) in commands.iter() {
            let labels = format!("{{door=\"mongo\",verb=\"{command}\",status=\"{status}\"}}");
            line(out, &format!("{name}{labels}"), &count.to_string());
        }
    }

    fn write_seconds(&self, out: &mut String) {
        let name = "lapsedb_request_seconds";
        family(
            out,
            name,
            "histogram",
            "Time from the request's headers to its answer.",
        );
        let mut sum = 0;
        for (counter, end) in self
            .buckets
            .iter()
            .zip(BUCKETS_US.map(Some).into_iter().chain([None]))
        {
            sum += read(counter);
            let end = end.map_or("+Inf".to_owned(), seconds);
            line(
                out,
                &format!("{name}_bucket{{le=\"{end}\"}}"),
                &sum.to_string(),
            );
        }
        line(out, &format!("{name}_sum"), &seconds(read(&self.micros)));
        line(out, &format!("{name}_count"), &sum.to_string());
    }
}

fn add(counter: &AtomicU64, number: u64) {
    counter.fetch_add(number, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// Microseconds as seconds in decimal, without the error of a binary fraction.
fn seconds(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The figures of the store; one line each.
fn write_gauges(out: &mut String, gauges: &Gauges) {
    for (name, kind, help, value) in [
        (
            "lapsedb_items_live",
            "gauge",
            "Items that may be seen.",
            gauges.items_live,
        ),
        (
            "lapsedb_items_expired_unpurged",
            "gauge",
            "Items that are dead and still stored.",
            gauges.items_expired,
        ),
        (
            "lapsedb_purged_items_total",
            "counter",
            "Items removed since the start.",
            gauges.purged_items,
        ),
        (
            "lapsedb_purged_bytes_total",
            "counter",
            "Bytes of items removed since the start.",
            gauges.purged_bytes,
        ),
        (
            "lapsedb_purge_lag_seconds",
            "gauge",
            "How long the longest dead has been waiting.",
            gauges.purge_lag_secs,
        ),
        (
            "lapsedb_query_items_read_total",
            "counter",
            "Items that queries have loaded.",
            gauges.query_items_read,
        ),
        (
            "lapsedb_query_index_entries_read_total",
            "counter",
            "Index entries that queries have looked at.",
            gauges.query_index_entries_read,
        ),
        (
            "lapsedb_clock_suspect",
            "gauge",
            "1 while the wall clock has jumped and is not believed.",
            u64::from(gauges.clock_suspect),
        ),
    ] {
        family(out, name, kind, help);
        line(out, name, &value.to_string());
    }
    write_disk(out, gauges);
    write_memory(out, gauges);
    write_background(out, &gauges.background);
}

/// The store on disk, and whether it can be written.
fn write_disk(out: &mut String, gauges: &Gauges) {
    for (name, kind, help, value) in [
        (
            "lapsedb_writing_halted",
            "gauge",
            "1 while the store takes no writes, or none that add data: after a failure of the disk, or while it is full.",
            u64::from(gauges.writing_halted),
        ),
        (
            "lapsedb_damaged_tables",
            "gauge",
            "Tables on disk that a compaction found to be damaged; what they hold cannot be read.",
            gauges.damaged_tables,
        ),
        (
            "lapsedb_disk_bytes",
            "gauge",
            "Bytes of the store on disk.",
            gauges.disk_bytes,
        ),
    ] {
        family(out, name, kind, help);
        line(out, name, &value.to_string());
    }
}

/// The memory of all requests.
fn write_memory(out: &mut String, gauges: &Gauges) {
    for (name, kind, help, value) in [
        (
            "lapsedb_request_memory_bytes",
            "gauge",
            "Bytes of memory that requests hold.",
            gauges.request_memory_bytes,
        ),
        (
            "lapsedb_request_memory_max_bytes",
            "gauge",
            "Bytes of memory that all requests together may hold.",
            gauges.request_memory_max_bytes,
        ),
        (
            "lapsedb_requests_stopped_for_memory_total",
            "counter",
            "Requests, cursors and connections stopped because all together would have held too much memory.",
            gauges.requests_stopped_for_memory,
        ),
    ] {
        family(out, name, kind, help);
        line(out, name, &value.to_string());
    }
}

/// How work between requests fares, by kind.
fn write_background(out: &mut String, states: &[WorkState]) {
    for (name, kind, help, value) in [
        (
            "lapsedb_background_failures_total",
            "counter",
            "Pieces of work between requests that have failed.",
            (|state| state.failures) as fn(&WorkState) -> u64,
        ),
        (
            "lapsedb_background_failing",
            "gauge",
            "Pieces of work between requests whose last attempt has failed.",
            |state| state.failing,
        ),
    ] {
        family(out, name, kind, help);
        for state in states {
            let labels = format!("{{work=\"{}\"}}", state.work.name());
            line(out, &format!("{name}{labels}"), &value(state).to_string());
        }
    }
}

fn family(out: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn line(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "{name} {value}");
}

#[cfg(test)]
mod tests {
    use lapsedb_service::Work;

    use super::*;

    fn metrics() -> Metrics {
        let metrics = Metrics::default();
        let created = StatusCode::CREATED;
        metrics.count(Verb::CreateItem, created, 6.29, Duration::from_micros(100));
        metrics.count(Verb::CreateItem, created, 6.29, Duration::from_micros(101));
        metrics.count(
            Verb::Other,
            StatusCode::IM_A_TEAPOT,
            0.0,
            Duration::from_secs(60),
        );
        metrics
    }

    #[test]
    fn requests_are_counted_by_verb_and_status() {
        let mut text = String::new();
        metrics().write_requests(&mut text);
        for row in [
            "verb=\"create_item\",status=\"201\"} 2",
            "verb=\"other\",status=\"other\"} 1",
        ] {
            let row = format!("lapsedb_requests_total{{door=\"nosql\",{row}\n");
            assert!(text.contains(&row), "{row}: {text}");
        }
    }

    #[test]
    fn the_histogram_is_cumulative_and_its_ends_are_inclusive() {
        let mut text = String::new();
        metrics().write_seconds(&mut text);
        for row in [
            "_bucket{le=\"0.0001\"} 1",
            "_bucket{le=\"0.00025\"} 2",
            "_bucket{le=\"10\"} 2",
            "_bucket{le=\"+Inf\"} 3",
            "_count 3",
            "_sum 60.000201",
        ] {
            let row = format!("lapsedb_request_seconds{row}\n");
            assert!(text.contains(&row), "{row}: {text}");
        }
    }

    #[test]
    fn charges_are_summed_exactly() {
        assert_eq!(read(&metrics().centi_units), 1258);
    }

    #[test]
    fn every_figure_is_there_with_its_own_value() {
        let mut text = String::new();
        let background = Work::ALL.map(|work| WorkState {
            work,
            failures: 20 + work as u64,
            failing: 40 + work as u64,
        });
        write_gauges(
            &mut text,
            &Gauges {
                items_live: 1,
                items_expired: 2,
                purge_lag_secs: 3,
                purged_items: 4,
                purged_bytes: 5,
                query_items_read: 6,
                query_index_entries_read: 7,
                clock_suspect: true,
                disk_bytes: 8,
                writing_halted: true,
                request_memory_bytes: 9,
                request_memory_max_bytes: 10,
                requests_stopped_for_memory: 11,
                damaged_tables: 12,
                background: background.to_vec(),
            },
        );
        let mut expected = vec![
            ("lapsedb_items_live".to_owned(), 1),
            ("lapsedb_items_expired_unpurged".to_owned(), 2),
            ("lapsedb_purge_lag_seconds".to_owned(), 3),
            ("lapsedb_purged_items_total".to_owned(), 4),
            ("lapsedb_purged_bytes_total".to_owned(), 5),
            ("lapsedb_query_items_read_total".to_owned(), 6),
            ("lapsedb_query_index_entries_read_total".to_owned(), 7),
            ("lapsedb_clock_suspect".to_owned(), 1),
            ("lapsedb_disk_bytes".to_owned(), 8),
            ("lapsedb_writing_halted".to_owned(), 1),
            ("lapsedb_request_memory_bytes".to_owned(), 9),
            ("lapsedb_request_memory_max_bytes".to_owned(), 10),
            ("lapsedb_requests_stopped_for_memory_total".to_owned(), 11),
            ("lapsedb_damaged_tables".to_owned(), 12),
        ];
        for work in Work::ALL {
            let label = format!("{{work=\"{}\"}}", work.name());
            let number = work as u64;
            expected.push((
                format!("lapsedb_background_failures_total{label}"),
                20 + number,
            ));
            expected.push((format!("lapsedb_background_failing{label}"), 40 + number));
        }
        let mut lines: Vec<_> = text.lines().filter(|row| !row.starts_with('#')).collect();
        let mut expected: Vec<_> = expected
            .iter()
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        lines.sort_unstable();
        expected.sort_unstable();
        assert_eq!(lines, expected);
    }
}
