//! `semgate context hunt`: searches for a wrong verdict of the comparison, for a given time.

use std::time::{Duration, Instant};

use clap::Args;
use semgate_contexts::compare::{CompareLimits, Hunt as Pairs, Wrong};
use serde_json::{Value, json};

use crate::fault::Fault;

/// Interval of progress reports.
const PROGRESS: Duration = Duration::from_secs(10);
/// Bound of seeds from `--seed` and the clock: every JSON reader keeps such a number.
const MAX_SEED: u64 = 1 << 53;

/// Search for a wrong verdict of the comparison, with random pairs of schemas and random documents
#[derive(Debug, Args)]
pub struct Hunt {
    /// Seconds to search
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The first pair's seed; each next pair has the next one. A seed always gives the same pair
    #[arg(long, value_parser = clap::value_parser!(u64).range(..MAX_SEED))]
    seed: Option<u64>,
    /// Number of pairs after which it ends, if time is left
    #[arg(long)]
    pairs: Option<u64>,
    /// Steps (formulas and states of patterns) for one part before its result is unknown
    #[arg(long, value_name = "N")]
    max_steps: Option<u64>,
}

impl Hunt {
    /// Searches; the status is 0 if no wrong verdict was found.
    ///
    /// # Errors
    /// A wrong verdict, with both schemas and the document that shows it.
    pub fn run(self, json: bool) -> Result<u8, Fault> {
        let mut limits = CompareLimits::default();
        limits.max_steps = self.max_steps.unwrap_or(limits.max_steps);
        let began = Instant::now();
        // other pairs each time, unless a seed is given
        let seed = self.seed.unwrap_or_else(|| crate::system::now().wrapping_mul(1 << 16) % MAX_SEED);
        let (mut hunt, mut reported) = (Pairs::new(seed, limits), began);
        let mut wrong = None;
        while wrong.is_none()
            && began.elapsed() < Duration::from_secs(self.seconds)
            && self.pairs.is_none_or(|most| hunt.pairs < most)
        {
            wrong = hunt.next_pair();
            if reported.elapsed() >= PROGRESS {
                reported = Instant::now();
                tell!("{} pairs, {} documents, none wrong", hunt.pairs, hunt.documents);
            }
        }
        show(&hunt, seed, wrong.as_ref(), json);
        match wrong {
            None => Ok(0),
            Some(wrong) => Err(Fault::new(format_args!(
                "a wrong verdict: `{}`, by the seed {}",
                wrong.verdict, wrong.seed
            ))
            .hint(format_args!(
                "report it with what was printed; `--seed {} --pairs 1` finds it again",
                wrong.seed
            ))),
        }
    }
}

fn show(hunt: &Pairs, first: u64, wrong: Option<&Wrong>, json: bool) {
    if json {
        out!("{}", report(hunt, first, wrong));
        return;
    }
    let unknown: u64 = hunt.unknown.values().sum();
    out!(
        "{} pairs from the seed {first}: {} compatible, {} breaking, {unknown} unknown; {} documents against compatible verdicts; {} pairs were no documents",
        hunt.pairs,
        hunt.compatible,
        hunt.breaking,
        hunt.documents,
        hunt.refused
    );
    for (reason, times) in &hunt.unknown {
        out!("  unknown {times} times: {reason}");
    }
    if let Some(wrong) = wrong {
        out!("wrong: `{}`, by the seed {}", wrong.verdict, wrong.seed);
        out!("old: {}", wrong.old);
        out!("new: {}", wrong.new);
        match &wrong.content {
            Some(content) => out!("document: {content}"),
            None => out!("document: none was shown"),
        }
    }
}

fn report(hunt: &Pairs, first: u64, wrong: Option<&Wrong>) -> Value {
    let shown = |wrong: &Wrong| {
        json!({
            "seed": wrong.seed, "verdict": wrong.verdict.as_str(), "old": wrong.old, "new": wrong.new,
            "document": wrong.content,
        })
    };
    json!({
        "seed": first, "pairs": hunt.pairs, "decided": hunt.decided(), "compatible": hunt.compatible,
        "breaking": hunt.breaking, "documents": hunt.documents, "refused": hunt.refused,
        "unknown": hunt.unknown, "wrong": wrong.map(shown),
    })
}
