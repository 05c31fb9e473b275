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

/// A Markdown table; the rows of one load must follow the row of the server they are compared with, which is `base`.
pub fn table(rows: &[Row], base: &str) -> String {
    let mut text = format!(
        "| load | connections | server | requests/s | of {base} (least–most) | p50 ms | p99 ms | CPU µs/request | × {base} | generator µs/request |\n\
         |---|---:|---|---:|---:|---:|---:|---:|---:|---:|\n"
    );
    let mut first: Option<&Row> = None;
    for row in rows {
        if row.server == base {
            first = Some(row);
        }
        text.push_str(&line(row, first));
    }
    text
}

fn line(row: &Row, base: Option<&Row>) -> String {
    let mut ratios = base.map_or_else(Vec::new, |base| ratios(&row.rates(), &base.rates()));
    let ratio = median(&mut ratios);
    let spread = match (base, ratios.first(), ratios.last()) {
        (None, ..) => "–".to_owned(),
        (Some(base), Some(least), Some(most)) if row.server != base.server => {
            format!("{ratio:.2} ({least:.2}–{most:.2})")
        }
        _ => "1".to_owned(),
    };
    let cpu = row.server_cpu_micros();
    let times = cpu
        .zip(base.and_then(Row::server_cpu_micros))
        .map(|(ours, base)| ours / base);
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
fn ratios(ours: &[f64], base: &[f64]) -> Vec<f64> {
    ours.iter()
        .zip(base)
        .map(|(ours, base)| ours / base.max(f64::MIN_POSITIVE))
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
        let text = table(&rows, "bare");
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
    fn without_anything_to_compare_with_there_is_no_ratio() {
        let text = table(&[row("lapsedb", [2, 4, 6], Some(1.0))], "mongod");
        assert!(text.lines().next().unwrap().contains("of mongod"));
        assert!(text.contains("| lapsedb | 2 | – | 1.50 |"), "{text}");
    }

    #[test]
    fn nothing_measured_is_no_division_by_zero() {
        let empty = Row {
            load: "x",
            connections: 1,
            server: "bare".to_owned(),
            turns: Vec::new(),
        };
        assert!(table(&[empty], "bare").contains("| 0 |"));
    }
}
