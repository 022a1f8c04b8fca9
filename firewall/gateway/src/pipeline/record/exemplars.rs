//! Exemplars of the histogram of durations: for each bucket the trace of a message that fell into it.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use semgate_inspect::Direction;

/// The histogram.
const HISTOGRAM: &str = "semgate_duration_seconds_bucket{";

/// The newest exemplar of each bucket.
pub(crate) struct Exemplars {
    bounds: &'static [f64],
    newest: Mutex<HashMap<Bucket, Exemplar>>,
}

#[derive(PartialEq, Eq, Hash)]
struct Bucket {
    route: String,
    direction: &'static str,
    at: usize,
}

#[derive(Clone, Copy)]
struct Exemplar {
    trace_id: u128,
    took: Duration,
    time: Duration,
}

impl Exemplars {
    /// Exemplars of a histogram with these upper bounds in seconds.
    pub(crate) fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, newest: Mutex::default() }
    }

    /// Keeps a message as the exemplar of its bucket.
    pub(super) fn keep(&self, route: &str, direction: Direction, trace_id: u128, took: Duration) {
        let at = self.bounds.iter().take_while(|bound| took.as_secs_f64() > **bound).count();
        let bucket = Bucket { route: route.to_owned(), direction: direction.as_str(), at };
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        newest.insert(bucket, Exemplar { trace_id, took, time });
    }

    /// Writes the text format of Prometheus as OpenMetrics 1.0, with the exemplars. Every counter of the text ends in `_total`,
    /// which only its samples have in OpenMetrics. A counter named after a gauge has no type there.
    pub(crate) fn open_metrics(&self, text: &str) -> String {
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let mut out = String::with_capacity(text.len().saturating_add(1024));
        for line in text.lines().filter(|line| !line.is_empty()) {
            match line.strip_prefix("# ") {
                Some(about) => {
                    let mut words = about.splitn(3, ' ');
                    let [what, name, rest] = [(); 3].map(|()| words.next().unwrap_or_default());
                    let _ = match name.strip_suffix("_total") {
                        // two families of one name are invalid
                        Some(family) if text.contains(&format!("# TYPE {family} ")) => {
                            let rest = if what == "TYPE" { "unknown" } else { rest };
                            write!(out, "# {what} {name} {rest}")
                        }
                        family => write!(out, "# {what} {} {rest}", family.unwrap_or(name)),
                    };
                }
                None => out.push_str(line),
            }
            if let Some(Exemplar { trace_id, took, time }) = self.of(&newest, line) {
                let (took, time) = (took.as_secs_f64(), time.as_millis());
                let _ = write!(
                    out,
                    " # {{trace_id=\"{trace_id:032x}\"}} {took} {}.{:03}",
                    time / 1_000,
                    time % 1_000
                );
            }
            out.push('\n');
        }
        out.push_str("# EOF\n");
        out
    }

    /// The exemplar of a line of the histogram.
    fn of(&self, newest: &HashMap<Bucket, Exemplar>, line: &str) -> Option<Exemplar> {
        let labels = line.strip_prefix(HISTOGRAM)?;
        let label = |name: &str| {
            let (_, rest) = labels.split_once(&format!("{name}=\""))?;
            rest.split_once('"').map(|(value, _)| value)
        };
        let direction = [Direction::Request, Direction::Reply].map(Direction::as_str);
        let direction = direction.into_iter().find(|known| label("direction") == Some(known))?;
        let at = match label("le")? {
            "+Inf" => self.bounds.len(),
            bound => {
                let bound: f64 = bound.parse().ok()?;
                self.bounds.iter().position(|known| known.total_cmp(&bound).is_eq())?
            }
        };
        newest.get(&Bucket { route: label("route")?.to_owned(), direction, at }).copied()
    }
}
