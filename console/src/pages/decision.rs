//! One decision: its records, and why they came out so by the console's policies.

use std::fmt::Write as _;
use std::sync::Arc;

use askama::Template;
use semgate_policy_analysis::{Condition, Part, Recalled};
use serde_json::Value;

use crate::answer::{Answer, Frame, Trouble, html, text_file};
use crate::app::App;
use crate::explained::{self, Explained};
use crate::guard::Visit;
use crate::pages::policies::set;
use crate::records::{Records, find, is_decision};
use crate::visible::filters;

/// Characters of one record on the page; the whole text is a file.
const SHOWN: usize = 40_000;

/// A record on the page.
struct Shown {
    n: String,
    direction: String,
    outcome: String,
    is_allowed: bool,
    /// The record, a member a line.
    text: String,
    explained: Option<Explained>,
}

#[derive(Template)]
#[template(path = "decision.html")]
struct Page {
    frame: Frame,
    id: String,
    records: Vec<Shown>,
    is_from_log: bool,
    is_cut: bool,
    /// The reason that nothing is explained, if so.
    unexplained: Option<String>,
}

impl Page {
    const fn part(part: &Part) -> &'static str {
        explained::part(*part)
    }

    /// True if these policies would not decide as it was decided.
    fn differs(question: &Recalled) -> bool {
        question.now != Some(question.then.as_str())
    }

    fn holds(condition: &Condition) -> String {
        explained::holds(condition)
    }
}

fn wanted(visit: &Visit) -> Result<String, Trouble> {
    let id = visit.segment("id")?;
    if is_decision(id) { Ok(id.to_owned()) } else { Err(Trouble::missing("This is no decision id.")) }
}

async fn records(visit: &Visit, id: &str) -> Result<Records, Trouble> {
    let unread = |why| Trouble::missing(format_args!("The audit log cannot be read: {why}"));
    let records = find(&visit.app, id).await.map_err(unread)?;
    if records.lines.is_empty() {
        let text = "No gateway keeps a record of this decision any more. Its audit log may have it.";
        return Err(Trouble::missing(text));
    }
    Ok(records)
}

/// `GET /decisions/{id}`
pub(crate) async fn page(visit: Visit) -> Answer {
    let id = wanted(&visit)?;
    let Records { lines, is_from_log, is_cut } = records(&visit, &id).await?;
    let explained = explain(&visit.app, lines.clone()).await;
    let (mut all, unexplained) = match explained {
        Ok(all) => (all.into_iter().map(Some).collect(), None),
        Err(why) => (Vec::new(), Some(why)),
    };
    all.resize_with(lines.len(), || None);
    let records = lines.iter().zip(all).map(|(line, explained)| shown(line, explained)).collect();
    html(&Page { frame: visit.frame("/verdicts"), id, records, is_from_log, is_cut, unexplained })
}

/// `GET /decisions/{id}/text`: the records as a file, a line each.
pub(crate) async fn text(visit: Visit) -> Answer {
    let id = wanted(&visit)?;
    let mut text = String::new();
    for line in records(&visit, &id).await?.lines {
        // writing to a string does not fail
        let _ = writeln!(text, "{line}");
    }
    text_file(text, "attachment; filename=\"decision.jsonl\"")
}

fn shown(line: &str, explained: Option<Explained>) -> Shown {
    let value: Value = serde_json::from_str(line).unwrap_or_default();
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let verdict = text("verdict");
    let code = text("code");
    Shown {
        n: value.get("n").map(Value::to_string).unwrap_or_default(),
        direction: text("direction"),
        is_allowed: verdict == "allowed",
        outcome: if code.is_empty() { verdict } else { code },
        text: serde_json::to_string_pretty(&value).unwrap_or_default(),
        explained,
    }
}

/// Explains every record, away from the async threads.
async fn explain(app: &Arc<App>, lines: Vec<String>) -> Result<Vec<Explained>, String> {
    let none = "The console has no policy directory (`policies` in console.toml), so nothing is explained.";
    let directory = app.config.policies.clone().ok_or(none)?;
    let set = set(app, &directory).await.map_err(|trouble| trouble.text)?;
    let work = move || match &set.outcome {
        Ok(analysed) => Ok(lines.iter().map(|line| Explained::of(&analysed.explainer, line)).collect()),
        Err(faults) => {
            let count = faults.len();
            Err(format!(
                "The console's policies have {count} faults (see the page of policies), so nothing is explained."
            ))
        }
    };
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|why| Err(why.to_string()))
}
