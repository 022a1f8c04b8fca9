//! Contexts and versions: status, floor and reason of each, one document, and the comparison of two versions.

use std::collections::BTreeMap;
use std::sync::Arc;

use askama::Template;
use semgate_contexts::{Context, ContextUrn, Prefix, Relation};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::acts::{Logged, checkpoint, newest};
use crate::answer::{Answer, Frame, Trouble, html, text_file};
use crate::client::{CallFault, Server};
use crate::guard::Visit;
use crate::library::{Listed, listing};
use crate::visible::filters;

/// Characters of a document on its page; a document has at most 90,000 bytes.
const SHOWN: usize = 128 * 1024;

#[derive(Deserialize)]
struct Floors {
    floors: Vec<Floor>,
}

/// The floor of a line.
#[derive(Deserialize)]
pub(crate) struct Floor {
    pub(crate) line: String,
    pub(crate) min: String,
}

/// The floors of the authority.
///
/// # Errors
/// No answer.
pub(crate) async fn floors(authority: &Server) -> Result<Vec<Floor>, CallFault> {
    Ok(authority.get("/v1/floors").await?.json::<Floors>()?.floors)
}

/// The last acts of the log.
///
/// # Errors
/// No answer, or a log that cannot be read.
pub(crate) async fn acts(authority: &Server) -> Result<Vec<Logged>, CallFault> {
    let checkpoint = checkpoint(authority).await?;
    newest(authority, checkpoint.size).await
}

/// A published version on the page.
struct Version {
    listed: Listed,
    /// True if the floor of its line is higher.
    below: bool,
    reason: Option<String>,
}

/// A line with its versions.
struct LineOf {
    name: String,
    floor: Option<String>,
    versions: Vec<Version>,
}

#[derive(Template)]
#[template(path = "contexts.html")]
struct ListPage {
    frame: Frame,
    lines: Vec<LineOf>,
    urns: Vec<String>,
}

fn parsed(urn: &str) -> Option<ContextUrn> {
    ContextUrn::parse(urn, &Prefix::default()).ok()
}

/// The reason of the last act that changed the status of a version.
fn reason(acts: &[Logged], urn: &str) -> Option<String> {
    let of = |act: &&Logged| act.about == urn && act.kind != "publish";
    acts.iter().find(of).and_then(|act| act.reason.clone())
}

fn lines(listed: Vec<Listed>, floors: &[Floor], acts: &[Logged]) -> Vec<LineOf> {
    let mut lines: BTreeMap<String, LineOf> = BTreeMap::new();
    for one in listed {
        let Some(urn) = parsed(&one.urn) else { continue };
        let name = urn.line().as_str().to_owned();
        let floor = floors.iter().find(|floor| floor.line == name).map(|floor| floor.min.clone());
        let lowest = floor.as_deref().and_then(|floor| semgate_contexts::Version::parse(floor).ok());
        let line = lines.entry(name.clone()).or_insert(LineOf { name, floor, versions: Vec::new() });
        let below = lowest.is_some_and(|lowest| urn.version() < lowest);
        line.versions.push(Version { reason: reason(acts, &one.urn), below, listed: one });
    }
    lines.into_values().collect()
}

/// `GET /contexts`
pub(crate) async fn list(visit: Visit) -> Answer {
    let authority = visit.app.authority();
    let (listed, floors, acts) = tokio::join!(listing(&authority), floors(&authority), acts(&authority));
    let listed = listed?;
    let urns = listed.iter().map(|one| one.urn.clone()).collect();
    // reasons are an addition: without the log the page still says what counts
    let lines = lines(listed, &floors?, &acts.unwrap_or_default());
    html(&ListPage { frame: visit.frame("/contexts"), lines, urns })
}

#[derive(Template)]
#[template(path = "context.html")]
struct ContextPage {
    frame: Frame,
    listed: Listed,
    document: String,
    title: Option<String>,
    description: Option<String>,
    terms: Vec<(&'static str, String)>,
    /// Those of the document, then those that its schemas imply.
    relations: Vec<Relation>,
    has_prompt: bool,
    history: Vec<Logged>,
    others: Vec<String>,
    may_act: bool,
}

/// The version of a path with its document.
async fn version(visit: &Visit) -> Result<(Listed, Vec<Listed>, String), Trouble> {
    let (authority, urn) = (visit.app.authority(), visit.segment("urn")?);
    let all = listing(&authority).await?;
    let listed = all.iter().find(|one| one.urn == urn).cloned();
    let listed = listed.ok_or_else(|| Trouble::missing("This authority publishes no such version."))?;
    let bytes = visit.app.library.document(&authority, &listed.digest).await?;
    Ok((listed, all, String::from_utf8_lossy(&bytes).into_owned()))
}

/// `GET /contexts/{urn}`
pub(crate) async fn one(visit: Visit) -> Answer {
    let (listed, all, canonical) = version(&visit).await?;
    let read: Value = serde_json::from_str(&canonical).map_err(Trouble::internal)?;
    let text = |name: &str| read.get(name).and_then(Value::as_str).map(str::to_owned);
    let names = |member: &'static str, kind: &'static str| {
        let terms = read.get(member).and_then(Value::as_object);
        terms.into_iter().flat_map(|terms| terms.keys()).map(move |name| (kind, name.clone()))
    };
    let terms = names("concepts", "concept").chain(names("tasks", "task")).chain(names("codes", "code list"));
    let line = parsed(&listed.urn).map(|urn| urn.line().clone());
    let of_line =
        |one: &&Listed| parsed(&one.urn).map(|urn| urn.line().clone()) == line && one.urn != listed.urn;
    let mut history = acts(&visit.app.authority()).await.unwrap_or_default();
    history.retain(|act| act.about == listed.urn);
    html(&ContextPage {
        frame: visit.frame("/contexts"),
        title: text("title"),
        description: text("description"),
        terms: terms.collect(),
        others: all.iter().filter(of_line).map(|one| one.urn.clone()).collect(),
        document: serde_json::to_string_pretty(&read).map_err(Trouble::internal)?,
        relations: relations(&visit, &listed.urn).await,
        has_prompt: matches!(listed.status.as_str(), "VALID" | "DEPRECATED"),
        history,
        listed,
        may_act: visit.session.person.roles.contains(&crate::roles::Role::Operator),
    })
}

/// Relations are an addition: a document that this version cannot read has none.
async fn relations(visit: &Visit, urn: &str) -> Vec<Relation> {
    let all = visit.app.library.contexts(&visit.app.authority()).await.unwrap_or_default();
    let one = all.iter().find(|context| context.urn().as_str() == urn);
    let written = |context: &Arc<Context>| [context.relations(), &context.derived_relations()].concat();
    one.map(written).unwrap_or_default()
}

impl ContextPage {
    /// The longest document on the page.
    const fn most(&self) -> usize {
        SHOWN
    }
}

/// `GET /contexts/{urn}/document.txt`
pub(crate) async fn text(visit: Visit) -> Answer {
    let (.., canonical) = version(&visit).await?;
    text_file(canonical, "attachment; filename=\"document.txt\"")
}

/// `GET /contexts/{urn}/prompt.txt`: as the authority writes it for models.
pub(crate) async fn prompt(visit: Visit) -> Answer {
    let (authority, urn) = (visit.app.authority(), visit.segment("urn")?);
    let urn = parsed(urn).ok_or_else(|| Trouble::missing("This authority publishes no such version."))?;
    let reply = authority.get(&format!("/v1/contexts/{urn}/prompt")).await?;
    text_file(reply.body, "attachment; filename=\"prompt.txt\"")
}

/// The comparison of two versions (`docs/spec/compatibility.md`).
#[derive(Deserialize)]
struct Comparison {
    verdict: String,
    next_version: Option<String>,
    next_is_free: Option<bool>,
    #[serde(default)]
    parts: Vec<Part>,
    #[serde(default)]
    untyped: Vec<Change>,
}

#[derive(Deserialize)]
struct Part {
    pointer: String,
    role: String,
    verdict: String,
    #[serde(default)]
    reason: String,
    witness: Option<Value>,
    described: Option<String>,
    #[serde(default)]
    changes: Vec<Change>,
}

#[derive(Deserialize)]
struct Change {
    pointer: String,
    what: String,
}

impl Part {
    /// The counterexample, laid out.
    fn shown(&self) -> Option<String> {
        let witness = self.witness.as_ref().and_then(|witness| serde_json::to_string_pretty(witness).ok());
        witness.or_else(|| self.described.clone())
    }
}

#[derive(Template)]
#[template(path = "compare.html")]
struct ComparePage<'a> {
    frame: Frame,
    urns: Vec<String>,
    old: &'a str,
    new: &'a str,
    comparison: Option<Comparison>,
}

/// `GET /compare?old=URN&new=URN`
pub(crate) async fn compare(visit: Visit) -> Answer {
    let authority = visit.app.authority();
    let urns = listing(&authority).await?.into_iter().map(|one| one.urn).collect();
    let (old, new) = (visit.query.get("old"), visit.query.get("new"));
    let comparison = match (old, new) {
        (Some(old), Some(new)) => {
            Some(authority.post("/v1/compare", &json!({"old": old, "new": new})).await?.json()?)
        }
        _ => None,
    };
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    html(&ComparePage { frame: visit.frame("/contexts"), urns, old, new, comparison })
}
