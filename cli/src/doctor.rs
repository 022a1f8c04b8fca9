//! `semgate doctor`: looks at everything that a directory's gateway and authority need, and says what is wrong with a remedy.

mod checks;

use std::fmt::Display;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::authority_client::DIRECTORY;
use crate::fault::{FAILED, Fault};
use crate::up_directory::{AUTHORITY_TOML, FIREWALL_TOML};

/// Look at configurations, certificates, ports, policies, agents, authorities and the profile, and say what is wrong
#[derive(Debug, Args)]
pub struct Doctor {
    /// The directory of `semgate init` or `up`
    #[arg(long, default_value = DIRECTORY)]
    dir: PathBuf,
    /// `firewall.toml`, in place of that of `--dir`
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// The result of one look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Ok,
    Warn,
    Fail,
}

/// One line.
#[derive(Debug, Serialize)]
struct Finding {
    level: Level,
    /// The subject.
    on: String,
    /// The finding, in one line.
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// All findings, in order.
#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn ok(&mut self, on: impl Display, what: impl Display) {
        self.add(Level::Ok, &on, &what, None);
    }

    fn warn(&mut self, on: impl Display, what: impl Display, hint: &str) {
        self.add(Level::Warn, &on, &what, Some(hint));
    }

    fn fail(&mut self, on: impl Display, what: impl Display, hint: &str) {
        self.add(Level::Fail, &on, &what, Some(hint));
    }

    /// A failure with the hint of a fault.
    fn fault(&mut self, on: impl Display, fault: &Fault) {
        let hint = fault.json().get("hint").and_then(|hint| hint.as_str().map(str::to_owned));
        self.add(Level::Fail, &on, &fault.what(), hint.as_deref());
    }

    fn add(&mut self, level: Level, on: &dyn Display, what: &dyn Display, hint: Option<&str>) {
        let (on, what, hint) = (on.to_string(), what.to_string(), hint.map(str::to_owned));
        self.0.push(Finding { level, on, what, hint });
    }
}

impl Doctor {
    /// Looks at everything and prints a line for each finding. Status 1 if one is a failure.
    ///
    /// # Errors
    /// None: what is wrong is a finding.
    pub async fn run(self, json: bool) -> Result<u8, Fault> {
        let mut findings = Findings::default();
        let firewall = self.config.clone().unwrap_or_else(|| self.dir.join(FIREWALL_TOML));
        checks::gateway(&mut findings, &firewall).await;
        let authority = firewall.with_file_name(AUTHORITY_TOML);
        if authority.exists() {
            checks::authority(&mut findings, &authority);
        }
        checks::profile(&mut findings);
        let failed = findings.0.iter().any(|one| one.level == Level::Fail);
        if json {
            out!("{}", json!({"findings": findings.0}));
        } else {
            findings.0.iter().for_each(show);
        }
        Ok(if failed { FAILED } else { 0 })
    }
}

fn show(finding: &Finding) {
    let level = match finding.level {
        Level::Ok => "ok",
        Level::Warn => "warn",
        Level::Fail => "FAIL",
    };
    out!("{level:<4}  {}: {}", finding.on, finding.what);
    if let Some(hint) = &finding.hint {
        out!("      hint: {hint}");
    }
}
