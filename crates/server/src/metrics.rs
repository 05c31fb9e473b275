//! What is counted, as Prometheus text. Counting costs a few atomic additions per request.

mod verb;

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lapsedb_service::Service;

use crate::reply::Reply;
pub use verb::{Part, Verb};

/// The statuses that are counted by themselves; all others together are `other`.
const STATUSES: [u16; 24] = [
    200, 201, 204, 207, 304, 400, 401, 403, 404, 405, 408, 409, 410, 412, 413, 424, 429, 431, 449,
    500, 501, 502, 503, 0,
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
}

#[derive(Debug, Default)]
struct Statuses([AtomicU64; STATUSES.len()]);

impl Metrics {
    /// Counts one answered request.
    pub fn count(&self, verb: Verb, reply: &Reply, took: Duration) {
        let status = reply.status().as_u16();
        let slot = STATUSES
            .iter()
            .position(|known| *known == status)
            .unwrap_or(STATUSES.len() - 1);
        add(&self.requests[verb.index()].0[slot], 1);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        add(
            &self.buckets[BUCKETS_US.partition_point(|end| *end < micros)],
            1,
        );
        add(&self.micros, micros);
        if let Some(charge) = reply.headers().get("x-ms-request-charge") {
            add(&self.centi_units, centi_units(charge.as_bytes()));
        }
    }

    /// How many requests there were.
    pub fn requests(&self) -> u64 {
        self.buckets.iter().map(read).sum()
    }

    /// Everything as Prometheus text.
    pub async fn text(&self, service: &Service) -> String {
        let mut out = String::with_capacity(8 * 1024);
        self.write_requests(&mut out);
        self.write_seconds(&mut out);
        let units = read(&self.centi_units);
        family(
            &mut out,
            "lapsedb_request_units_total",
            "counter",
            "Request units charged.",
        );
        line(
            &mut out,
            "lapsedb_request_units_total",
            &format!("{}.{:02}", units / 100, units % 100),
        );
        family(
            &mut out,
            "lapsedb_clock_suspect",
            "gauge",
            "1 while the wall clock has jumped and is not believed.",
        );
        line(
            &mut out,
            "lapsedb_clock_suspect",
            &u8::from(service.clock().suspect()).to_string(),
        );
        family(
            &mut out,
            "lapsedb_disk_bytes",
            "gauge",
            "Bytes of the store on disk.",
        );
        line(
            &mut out,
            "lapsedb_disk_bytes",
            &service.disk_bytes().to_string(),
        );
        out
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

/// Reads `12.34`, the form in which a door writes a charge; what is not of that form counts as nothing.
fn centi_units(text: &[u8]) -> u64 {
    let mut parts = text.splitn(2, |byte| *byte == b'.');
    let number = |part: Option<&[u8]>, digits: usize| {
        let part = part.unwrap_or_default();
        let padded = part
            .iter()
            .copied()
            .chain(std::iter::repeat(b'0'))
            .take(digits);
        padded.fold(0_u64, |sum, digit| {
            sum.saturating_mul(10)
                .saturating_add(u64::from(digit.wrapping_sub(b'0').min(9)))
        })
    };
    let whole = parts.next();
    let units = number(whole, whole.map_or(0, <[u8]>::len));
    units
        .saturating_mul(100)
        .saturating_add(number(parts.next(), 2))
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
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use http::StatusCode;

    use super::*;
    use crate::reply;

    fn metrics() -> Metrics {
        let metrics = Metrics::default();
        let mut reply = reply::bytes(StatusCode::CREATED, "application/json", "{}");
        reply
            .headers_mut()
            .insert("x-ms-request-charge", "6.29".parse().unwrap());
        metrics.count(Verb::CreateItem, &reply, Duration::from_micros(100));
        metrics.count(Verb::CreateItem, &reply, Duration::from_micros(101));
        metrics.count(
            Verb::Other,
            &reply::error(StatusCode::IM_A_TEAPOT, ""),
            Duration::from_secs(60),
        );
        metrics
    }

    #[test]
    fn requests_are_counted_by_verb_and_status() {
        let mut text = String::new();
        metrics().write_requests(&mut text);
        assert!(
            text.contains(
                "lapsedb_requests_total{door=\"nosql\",verb=\"create_item\",status=\"201\"} 2\n"
            ),
            "{text}"
        );
        assert!(
            text.contains(
                "lapsedb_requests_total{door=\"nosql\",verb=\"other\",status=\"other\"} 1\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn the_histogram_is_cumulative_and_its_ends_are_inclusive() {
        let mut text = String::new();
        let metrics = metrics();
        metrics.write_seconds(&mut text);
        for row in [
            "_bucket{le=\"0.0001\"} 1",
            "_bucket{le=\"0.00025\"} 2",
            "_bucket{le=\"10\"} 2",
            "_bucket{le=\"+Inf\"} 3",
            "_count 3",
            "_sum 60.000201",
        ] {
            assert!(
                text.contains(&format!("lapsedb_request_seconds{row}\n")),
                "{row}: {text}"
            );
        }
        assert_eq!(metrics.requests(), 3);
    }

    #[test]
    fn charges_are_summed_exactly() {
        assert_eq!(read(&metrics().centi_units), 1258);
        for (text, units) in [
            ("0", 0),
            ("1", 100),
            ("1.5", 150),
            ("12.345", 1234),
            ("", 0),
        ] {
            assert_eq!(centi_units(text.as_bytes()), units, "{text}");
        }
    }
}
