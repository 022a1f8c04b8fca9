//! The policy directory: its digest and faults, the matrix and its coverage, differences of the shadow, and explanations.

mod explain;

use std::path::Path;
use std::sync::Arc;

use askama::Template;
use semgate_contexts::{Line, Version};
use semgate_policies::Floors;
use semgate_policy_analysis::{Cell, Matrix, MatrixRow};

use crate::answer::{Answer, Frame, Trouble, html, text_file};
use crate::app::App;
use crate::gateways::{Status, ask_all, read};
use crate::guard::Visit;
use crate::pages::contexts::floors;
use crate::sets::PolicySet;
use crate::visible::filters;

pub(crate) use explain::explain;

/// The digest of a gateway's live set, beside that of the directory.
struct Live {
    gateway: String,
    digest: Option<String>,
    faults: Vec<String>,
    warnings: Vec<String>,
}

/// A concept, and the agents that may say it.
struct ConceptRows {
    name: String,
    /// Kinds of agents that may say it, at least sometimes.
    may: usize,
    rows: Vec<AgentsRow>,
}

/// Agents that may say the same.
struct AgentsRow {
    agents: String,
    cells: Vec<(&'static str, String)>,
}

/// A concept that two sets judge differently.
struct Difference {
    concept: String,
    lines: Vec<String>,
}

#[derive(Template)]
#[template(path = "policies.html")]
struct Page {
    frame: Frame,
    directory: String,
    set: Arc<PolicySet>,
    concepts: Vec<ConceptRows>,
    live: Vec<Live>,
    shadow: Option<Result<Vec<Difference>, String>>,
}

impl Page {
    /// Number of concepts that somebody may say.
    fn covered(&self) -> usize {
        self.concepts.iter().filter(|concept| concept.may > 0).count()
    }
}

/// The contexts and floors of the authority, and the set of a directory.
pub(crate) async fn set(app: &Arc<App>, directory: &Path) -> Result<Arc<PolicySet>, Trouble> {
    let authority = app.authority();
    let (contexts, read) = tokio::join!(app.library.contexts(&authority), floors(&authority));
    let (contexts, read) = (contexts?, read?);
    let floor = |one: &crate::pages::contexts::Floor| {
        Some((Line::parse(&one.line).ok()?, Version::parse(&one.min).ok()?))
    };
    let floors: Floors = read.iter().filter_map(floor).collect();
    let (app, directory) = (Arc::clone(app), directory.to_owned());
    let made = tokio::task::spawn_blocking(move || app.sets.of(&directory, &contexts, &floors)).await;
    made.map_err(Trouble::internal)?.map_err(|why| {
        Trouble::new(http::StatusCode::BAD_GATEWAY, "The policy directory cannot be read", why)
    })
}

fn directory(visit: &Visit) -> Result<&Path, Trouble> {
    let directory = visit.app.config.policies.as_deref();
    directory.ok_or_else(|| {
        Trouble::missing("No policy directory is configured: set `policies` of `console.toml`.")
    })
}

/// `GET /policies`
pub(crate) async fn page(visit: Visit) -> Answer {
    let directory = directory(&visit)?;
    let set = set(&visit.app, directory).await?;
    let live = ask_all(&visit.app, |app, at| async move { read::<Status>(&app, at, "/status").await });
    let gateways = visit.app.config.gateways.iter().zip(live.await);
    let live = gateways.filter_map(|(gateway, status)| {
        let policies = status.ok()?.policies;
        let (digest, faults, warnings) = (policies.digest, policies.faults, policies.warnings);
        Some(Live { gateway: gateway.name.clone(), digest, faults, warnings })
    });
    let live = live.collect();
    let shadow = match visit.app.config.shadow.as_deref() {
        Some(shadow) => {
            let shadow = self::set(&visit.app, shadow).await?;
            Some(differences(&set, &shadow))
        }
        None => None,
    };
    let concepts = matrix_of(&set).map(rows).unwrap_or_default();
    let frame = visit.frame("/policies");
    html(&Page { frame, directory: directory.display().to_string(), set, concepts, live, shadow })
}

fn matrix_of(set: &PolicySet) -> Option<&Matrix> {
    set.outcome.as_ref().ok()?.matrix.as_ref().ok()
}

fn rows(matrix: &Matrix) -> Vec<ConceptRows> {
    let cells =
        |row: &MatrixRow| row.cells.iter().map(|(action, cell)| (action.as_str(), words(cell))).collect();
    let speaks = |row: &&MatrixRow| row.cells.values().any(|cell| *cell != Cell::Never);
    matrix
        .concepts
        .iter()
        .map(|(name, rows)| ConceptRows {
            name: name.clone(),
            may: rows.iter().filter(speaks).count(),
            rows: rows
                .iter()
                .map(|row| AgentsRow { agents: row.agents.join(", "), cells: cells(row) })
                .collect(),
        })
        .collect()
}

fn words(cell: &Cell) -> String {
    let named = |members: &std::collections::BTreeSet<String>| {
        members.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
    };
    match cell {
        Cell::Never => "never".to_owned(),
        Cell::Always => "always".to_owned(),
        Cell::Asks(members) if members.is_empty() => "after a person agreed".to_owned(),
        Cell::Asks(members) => format!("after a person agreed, by {}", named(members)),
        Cell::Depends(members) => format!("depends on {}", named(members)),
    }
}

/// The concepts whose rows differ, with `-` for the first set and `+` for the second.
fn differences(first: &PolicySet, second: &PolicySet) -> Result<Vec<Difference>, String> {
    let none = || "one of the sets has no matrix".to_owned();
    let (first, second) = (matrix_of(first).ok_or_else(none)?, matrix_of(second).ok_or_else(none)?);
    let lines = |matrix: &Matrix, concept: &str| -> Vec<String> {
        let rows = matrix.concepts.get(concept).into_iter().flatten();
        rows.flat_map(|row| {
            row.cells.iter().map(move |(action, cell)| {
                format!("{}: {} {}", row.agents.join(", "), action.as_str(), words(cell))
            })
        })
        .collect()
    };
    let names: std::collections::BTreeSet<&String> =
        first.concepts.keys().chain(second.concepts.keys()).collect();
    let of = |concept: &String| {
        let (before, after) = (lines(first, concept), lines(second, concept));
        let gone = before.iter().filter(|line| !after.contains(line)).map(|line| format!("− {line}"));
        let new = after.iter().filter(|line| !before.contains(line)).map(|line| format!("+ {line}"));
        let lines: Vec<String> = gone.chain(new).collect();
        (!lines.is_empty()).then(|| Difference { concept: concept.clone(), lines })
    };
    Ok(names.into_iter().filter_map(of).collect())
}

/// `GET /policies/matrix.txt`
pub(crate) async fn matrix(visit: Visit) -> Answer {
    let set = set(&visit.app, directory(&visit)?).await?;
    let text = matrix_of(&set).map(ToString::to_string);
    let text = text.ok_or_else(|| Trouble::missing("The set has faults, so it has no matrix."))?;
    text_file(text, "attachment; filename=\"matrix.txt\"")
}

#[cfg(test)]
mod tests;
