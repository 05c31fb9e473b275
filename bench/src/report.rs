//! The table.

use crate::load::Turn;

/// All turns of one server under one load.
pub struct Row {
    /// What was sent.
    pub load: &'static str,
    /// Over how many connections.
    pub connections: usize,
    /// To whom.
    pub server: String,
    /// One per round.
    pub turns: Vec<Turn>,
}

impl Row {
    fn rates(&self) -> Vec<f64> {
        self.turns
            .iter()
            .map(|turn| turn.requests as f64 / turn.seconds)
            .collect()
    }

    fn requests(&self) -> f64 {
        self.turns
            .iter()
            .map(|turn| turn.requests as f64)
            .sum::<f64>()
            .max(1.0)
    }

    /// Over all rounds together, because the kernel counts in hundredths of a second.
    fn server_cpu_micros(&self) -> Option<f64> {
        let total: Option<f64> = self.turns.iter().map(|turn| turn.server_cpu).sum();
        total.map(|seconds| seconds * 1e6 / self.requests())
    }

    fn own_cpu_micros(&self) -> f64 {
        self.turns.iter().map(|turn| turn.own_cpu).sum::<f64>() * 1e6 / self.requests()
    }

    fn millis(&self, share: f64) -> f64 {
        let mut all: Vec<u32> = self
            .turns
            .iter()
            .flat_map(|turn| turn.micros.iter().copied())
            .collect();
        all.sort_unstable();
        let index = ((all.len() as f64 * share) as usize).min(all.len().saturating_sub(1));
        all.get(index)
            .map_or(0.0, |&micros| f64::from(micros) / 1000.0)
    }
}

const HEAD: &str = "\
| load | connections | server | requests/s | of bare (least–most) | p50 ms | p99 ms | CPU µs/request | × bare | generator µs/request |
|---|---:|---|---:|---:|---:|---:|---:|---:|---:|
";

/// A Markdown table; the rows of one load must follow their bare row.
pub fn table(rows: &[Row]) -> String {
    let mut text = HEAD.to_owned();
    let mut bare: Option<&Row> = None;
    for row in rows {
        if row.server == "bare" {
            bare = Some(row);
        }
        text.push_str(&line(row, bare));
    }
    text
}

fn line(row: &Row, bare: Option<&Row>) -> String {
    let mut ratios = bare.map_or_else(Vec::new, |bare| ratios(&row.rates(), &bare.rates()));
    let ratio = median(&mut ratios);
    let spread = match (ratios.first(), ratios.last()) {
        (Some(least), Some(most)) if row.server != "bare" => {
            format!("{ratio:.2} ({least:.2}–{most:.2})")
        }
        _ => "1".to_owned(),
    };
    let cpu = row.server_cpu_micros();
    let times = cpu
        .zip(bare.and_then(Row::server_cpu_micros))
        .map(|(ours, bare)| ours / bare);
    let or_dash = |value: Option<f64>, digits: usize| {
        value.map_or("–".to_owned(), |value| format!("{value:.digits$}"))
    };
    format!(
        "| {} | {} | {} | {:.0} | {spread} | {:.2} | {:.2} | {} | {} | {:.1} |\n",
        row.load,
        row.connections,
        row.server,
        median(&mut row.rates()),
        row.millis(0.5),
        row.millis(0.99),
        or_dash(cpu, 1),
        or_dash(times, 1),
        row.own_cpu_micros(),
    )
}

/// Round by round, so that a slow moment of the machine meets both alike.
fn ratios(ours: &[f64], bare: &[f64]) -> Vec<f64> {
    ours.iter()
        .zip(bare)
        .map(|(ours, bare)| ours / bare.max(f64::MIN_POSITIVE))
        .collect()
}

/// Sorts, too: afterwards the first is the least and the last the most.
fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(server: &str, requests: [u64; 3], cpu: Option<f64>) -> Row {
        let turn = |requests| Turn {
            requests,
            seconds: 2.0,
            server_cpu: cpu,
            own_cpu: 0.5,
            micros: vec![500, 1500],
        };
        Row {
            load: "point read",
            connections: 1,
            server: server.to_owned(),
            turns: requests.map(turn).to_vec(),
        }
    }

    #[test]
    fn rates_are_medians_and_ratios_go_round_by_round() {
        let rows = [
            row("bare", [1000, 2000, 4000], Some(0.01)),
            row("lapsedb", [500, 1500, 1000], Some(0.02)),
            row("peer", [100, 200, 400], None),
        ];
        let text = table(&rows);
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            lines[0],
            "| point read | 1 | bare | 1000 | 1 | 1.50 | 1.50 | 4.3 | 1.0 | 214.3 |"
        );
        assert_eq!(
            lines[1],
            "| point read | 1 | lapsedb | 500 | 0.50 (0.25–0.75) | 1.50 | 1.50 | 20.0 | 4.7 | 500.0 |"
        );
        assert!(
            lines[2].contains("| 0.10 (0.10–0.10) |") && lines[2].contains("| – | – |"),
            "{}",
            lines[2]
        );
    }

    #[test]
    fn nothing_measured_is_no_division_by_zero() {
        let empty = Row {
            load: "x",
            connections: 1,
            server: "bare".to_owned(),
            turns: Vec::new(),
        };
        assert!(table(&[empty]).contains("| 0 |"));
    }
}
