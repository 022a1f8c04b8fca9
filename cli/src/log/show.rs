//! `semgate log show`: the verified entries of a log, as a table for people.

use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use semgate_contexts::{Line, Prefix};
use semgate_statement::{Entry, RootAct, Statement};
use serde_json::json;

use super::VerifyLog;
use crate::fault::{Doing, Fault};
use crate::terminal::local;

/// Entries to show.
#[derive(Debug, Args)]
pub struct ShowLog {
    #[command(flatten)]
    log: VerifyLog,
    /// Only entries about this line: `payment`
    #[arg(long, value_parser = line)]
    line: Option<Line>,
    /// Only entries from this position on, or from this time on: `12`, `2026-05-01`, `2026-05-01T12:00:00Z`
    #[arg(long, value_name = "INDEX|TIME", value_parser = since)]
    since: Option<Since>,
}

/// The first entry to show.
#[derive(Debug, Clone, Copy)]
enum Since {
    Index(u64),
    /// Seconds since the epoch.
    Time(i64),
}

fn line(text: &str) -> Result<Line, String> {
    Line::parse(text).map_err(|why| why.to_string())
}

/// Reads a position, a day in local time, or a moment.
fn since(text: &str) -> Result<Since, String> {
    if let Ok(index) = text.parse() {
        return Ok(Since::Index(index));
    }
    let day = || {
        let day = text.parse::<jiff::civil::Date>().ok()?;
        Some(day.to_zoned(TimeZone::system()).ok()?.timestamp())
    };
    let moment = text.parse::<Timestamp>().ok().or_else(day);
    let moment = moment.ok_or("an index, a day as `2026-05-01`, or a time as `2026-05-01T12:00:00Z`")?;
    Ok(Since::Time(moment.as_second()))
}

impl ShowLog {
    /// Verifies the whole log and prints the entries asked for.
    ///
    /// # Errors
    /// The first fault of the log; then nothing is shown.
    pub fn run(self, json: bool) -> Result<u8, Fault> {
        let report = self.log.report(json)?;
        for (index, bytes) in (0..).zip(&report.entries) {
            let entry = Entry::read(bytes, &Prefix::default()).doing(format_args!("entry {index}"))?;
            if !self.shows(index, &entry) {
                continue;
            }
            let (on, reason) = about(entry.unverified());
            let (time, kind) = (entry.logged_at(), entry.unverified().kind());
            if json {
                out!("{}", json!({"index": index, "time": time, "kind": kind, "on": on, "reason": reason}));
            } else {
                let reason = reason.map(|reason| format!("  {reason}")).unwrap_or_default();
                out!(
                    "{index:>6}  {}  {kind:<9}  {on}{reason}",
                    local(time).unwrap_or_else(|| time.to_string())
                );
            }
        }
        self.log.judge(&report)
    }

    fn shows(&self, index: u64, entry: &Entry) -> bool {
        let late = match self.since {
            None => true,
            Some(Since::Index(first)) => index >= first,
            Some(Since::Time(first)) => i64::try_from(entry.logged_at()).is_ok_and(|at| at >= first),
        };
        late && self.line.as_ref().is_none_or(|line| entry.unverified().lines().contains(line))
    }
}

/// The subject of a statement, and its reason.
fn about(statement: &Statement) -> (String, Option<&str>) {
    match statement {
        Statement::Publish { urn, .. } => (urn.as_str().to_owned(), None),
        Statement::Change { urn, reason, .. } => (urn.as_str().to_owned(), Some(reason)),
        Statement::Floor { line, min, reason } => (format!("{line} {min}"), Some(reason)),
        Statement::Withdraw { recognised, reason, .. } => (recognised.clone(), Some(reason)),
        Statement::Override { permission, .. } => {
            let permitted = permission.unverified();
            (permitted.urn.as_str().to_owned(), Some(&permitted.reason))
        }
        Statement::Root(root) => {
            let on = match &root.act {
                RootAct::Keys(_) => format!("trust list {}", root.number),
                RootAct::Compromised { key, .. } => key.to_string(),
                RootAct::LowerFloor { line, min } => format!("{line} {min}"),
                RootAct::Recognise(recognition) => recognition.recognised.clone(),
            };
            (on, Some(&root.reason))
        }
    }
}
