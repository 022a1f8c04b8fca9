//! `semgate scan report`: the measurements of a model, or the scores in an audit log.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use semgate_contexts::Digest;
use semgate_contexts::json::{Json, Object};
use semgate_inspect::INJECTION_BUCKETS;
use serde_json::{Value, json};

use super::learn::percent;
use super::score::model;
use crate::fault::{Doing, Fault};
use crate::policy::audit;
use crate::terminal::print_members;

/// Thresholds on `injection` that a report tries.
const THRESHOLDS: [u64; 6] = [50, 60, 75, 90, 95, 100];

/// A model, or an audit log.
#[derive(Debug, Args)]
pub struct Report {
    /// A model in place of the one in the program, not signed
    #[arg(long, value_name = "FILE", conflicts_with = "audit")]
    model: Option<PathBuf>,
    /// An audit log: count the scores of each concept, and what a threshold would stop
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
}

/// Scored texts of one concept.
#[derive(Debug, Default)]
struct Counted {
    texts: usize,
    buckets: [usize; INJECTION_BUCKETS.len()],
    /// Texts at or above each of [`THRESHOLDS`].
    above: [usize; THRESHOLDS.len()],
}

impl Counted {
    fn add(&mut self, score: u64) {
        self.texts += 1;
        let bucket = INJECTION_BUCKETS.iter().position(|bound| score <= *bound);
        if let Some(count) = bucket.and_then(|at| self.buckets.get_mut(at)) {
            *count += 1;
        }
        for (count, threshold) in self.above.iter_mut().zip(THRESHOLDS) {
            *count += usize::from(score >= threshold);
        }
    }

    fn json(&self) -> Value {
        let buckets = INJECTION_BUCKETS.iter().zip(self.buckets);
        let buckets: Vec<Value> = buckets.map(|(at, texts)| json!({"at_most": at, "texts": texts})).collect();
        let thresholds = THRESHOLDS.iter().zip(self.above);
        let thresholds: Vec<Value> =
            thresholds.map(|(at, texts)| json!({"injection": at, "texts": texts})).collect();
        json!({"texts": self.texts, "histogram": buckets, "thresholds": thresholds})
    }
}

impl Report {
    /// Prints the report.
    ///
    /// # Errors
    /// An unreadable file, or one that is no model or no audit log.
    pub fn run(self, json: bool) -> Result<u8, Fault> {
        match &self.audit {
            Some(log) => of_log(log, json),
            None => self.of_model(json),
        }
    }

    fn of_model(&self, json: bool) -> Result<u8, Fault> {
        let model = model(self.model.as_ref())?;
        let measured: Value = serde_json::from_str(model.report()).doing("the report in the model")?;
        let report = json!({
            "digest": Digest::from_bytes(model.digest()).to_string(),
            "features": model.features(),
            "report": measured,
        });
        if json {
            out!("{report}");
        } else {
            print_members(&json!({"digest": report.get("digest"), "features": model.features()}), false);
            out!("{}", serde_json::to_string_pretty(&measured).doing("report")?);
        }
        Ok(0)
    }
}

fn of_log(log: &std::path::Path, json: bool) -> Result<u8, Fault> {
    let mut concepts: BTreeMap<String, Counted> = BTreeMap::new();
    let mut models: BTreeMap<String, usize> = BTreeMap::new();
    let cut = audit::each(log, |entry| {
        let Some(scan) = entry.object("scan") else { return Ok(()) };
        let model = scan.get("model").and_then(Json::as_str).unwrap_or_default();
        *models.entry(model.to_owned()).or_default() += 1;
        for text in scan.get("texts").and_then(Json::as_array).unwrap_or_default() {
            if let Some((concept, score)) = text.as_object().and_then(scored) {
                concepts.entry(concept).or_default().add(score);
            }
        }
        Ok(())
    })?;
    audit::warn(log, cut);
    if json {
        let concepts: serde_json::Map<String, Value> =
            concepts.iter().map(|(name, counted)| (name.clone(), counted.json())).collect();
        out!("{}", json!({"models": models, "concepts": concepts}));
        return Ok(0);
    }
    if concepts.is_empty() {
        out!("no record holds a score `injection`: no policy reads it, live or shadow");
    }
    if models.len() > 1 {
        tell!("warning: {} models made these scores, which do not compare", models.len());
    }
    for (name, counted) in &concepts {
        out!("{name}: {} texts; `injection` at or above a threshold, which would stop them", counted.texts);
        for (threshold, texts) in THRESHOLDS.iter().zip(counted.above) {
            out!("  {threshold:>3}: {texts:>7}  {}", percent(texts, counted.texts));
        }
    }
    Ok(0)
}

/// The concept of a scored text, and its score.
fn scored(text: &Object<'_>) -> Option<(String, u64)> {
    let word = |name: &str| text.get(name).and_then(Json::as_str);
    let score = text.get("injection").and_then(Json::as_number).and_then(|number| number.as_i64_exact());
    let concept = format!("{}::{}", word("line")?, word("concept")?);
    Some((concept, u64::try_from(score?).ok()?))
}
