//! `semgate init DIR`: everything that a gateway in front of running agents needs, made from their own descriptions.

mod agent_card;
mod example;
mod files;
mod plan;
mod rules;
mod sources;
mod tools;
mod typed;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::fault::Fault;

pub use plan::Plan;
pub use sources::{Choices, Sources};

/// Make an authority, certificates, a gateway's configuration, policies and a test case for running agents
#[derive(Debug, Args)]
pub struct Init {
    /// The directory to make; it must be empty or missing
    dir: PathBuf,
    #[command(flatten)]
    sources: Sources,
}

impl Init {
    /// Reads the agents, makes the directory, and prints the next commands.
    ///
    /// # Errors
    /// An agent does not answer, or the directory is not empty; then nothing is written.
    pub async fn run(self, json: bool) -> Result<u8, Fault> {
        files::refuse_full(&self.dir)?;
        let plan = self.sources.plan().await?;
        files::make(&self.dir, &plan)?;
        let commands = commands(&self.dir, &plan);
        if json {
            let routes: BTreeMap<_, _> = plan.routes.iter().map(|route| (&route.name, route.url())).collect();
            out!("{}", serde_json::json!({"dir": self.dir, "routes": routes, "next": commands}));
            return Ok(0);
        }
        for route in &plan.routes {
            out!("route `{}`: {} -> {}", route.name, route.url(), route.upstream);
        }
        out!(
            "made {}: read firewall.toml and policies/ there before others depend on them. Next:",
            self.dir.display()
        );
        commands.iter().for_each(|command| out!("  {command}"));
        Ok(0)
    }
}

/// Makes the directory for the agents of `sources`.
///
/// # Errors
/// As [`Init::run`].
pub async fn make(dir: &Path, sources: &Sources) -> Result<Plan, Fault> {
    files::refuse_full(dir)?;
    let plan = sources.plan().await?;
    files::make(dir, &plan)?;
    Ok(plan)
}

/// The commands that follow, for a shell.
fn commands(dir: &Path, plan: &Plan) -> Vec<String> {
    let shown = quoted(&dir.display().to_string());
    let contexts = plan
        .documents
        .iter()
        .map(|one| format!(" --context {}", quoted(&dir.join(&one.file).display().to_string())));
    let mut commands = vec![
        format!("semgate policy test {shown}/policies/cases{}", contexts.collect::<String>()),
        format!("semgate up --dir {shown} > {shown}/up.log 2>&1 &"),
    ];
    if let Some(route) = plan.routes.first() {
        let named = if plan.routes.len() > 1 { format!(" --route {}", route.name) } else { String::new() };
        commands.push(format!("semgate call --dir {shown} --wait 60{named} {}", route.call));
    }
    commands.push(format!("semgate log verify --dir {shown}"));
    commands
}

/// A word for a shell.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
