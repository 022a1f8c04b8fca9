//! Revocations, suspensions, floors and the trust list, with forms that act in the name of the person.

use std::collections::BTreeMap;

use askama::Template;
use semgate_contexts::Digest;
use serde::Deserialize;
use serde_json::json;

use crate::acts::{Logged, of_root};
use crate::answer::{Answer, Frame, Trouble, html, see_other};
use crate::app::{Act, carry_out};
use crate::client::{CallFault, Server};
use crate::guard::Visit;
use crate::library::{Listed, listing};
use crate::links::segment;
use crate::pages::contexts::{Floor, acts, floors};
use crate::roles::Role;
use crate::visible::filters;

/// An act that waits for a second person.
#[derive(Deserialize)]
struct Proposal {
    proposal: String,
    by: String,
    act: String,
    on: String,
    min: Option<String>,
    reason: Option<String>,
    at: u64,
    until: u64,
}

#[derive(Deserialize)]
struct Proposals {
    proposals: Vec<Proposal>,
}

#[derive(Template)]
#[template(path = "standing.html")]
struct Page {
    frame: Frame,
    /// Every version that does not simply count.
    stopped: Vec<Listed>,
    urns: Vec<String>,
    chosen: String,
    floors: Vec<Floor>,
    lines: Vec<String>,
    recent: Vec<Logged>,
    root: Result<Vec<Logged>, CallFault>,
    /// None for a person whom the authority does not let see them.
    proposals: Option<Vec<Proposal>>,
    operates: bool,
    own: String,
    outcome: Option<&'static str>,
}

/// `GET /standing`
pub(crate) async fn page(visit: Visit) -> Answer {
    let authority = visit.app.authority();
    let (listed, floors, recent, root) =
        tokio::join!(listing(&authority), floors(&authority), acts(&authority), of_root(&authority));
    let listed = listed?;
    let urns: Vec<String> = listed.iter().map(|one| one.urn.clone()).collect();
    let mut lines: Vec<String> = urns.iter().filter_map(|urn| line_of(urn)).collect();
    lines.dedup();
    let operates = visit.session.person.roles.contains(&Role::Operator);
    let proposals = match operates {
        true => proposals(&visit.app.authority_for(&visit.session)?).await,
        false => None,
    };
    let mut recent = recent.unwrap_or_default();
    recent.retain(|act| act.kind != "publish");
    html(&Page {
        frame: visit.frame("/standing"),
        stopped: listed.into_iter().filter(|one| one.status != "VALID").collect(),
        urns,
        chosen: visit.query.get("urn").unwrap_or_default().to_owned(),
        floors: floors?,
        lines,
        recent,
        root,
        proposals,
        operates,
        own: visit.session.person.id.clone(),
        outcome: visit.query.get("outcome").and_then(outcome_words),
    })
}

fn line_of(urn: &str) -> Option<String> {
    urn.rsplit_once(":v").and_then(|(line, _)| line.rsplit_once(':')).map(|(_, line)| line.to_owned())
}

/// The result of a form, from a closed list: no text of an address reaches the page.
fn outcome_words(outcome: &str) -> Option<&'static str> {
    match outcome {
        "done" => Some("It is done, and public."),
        "proposed" => Some("It waits for a second person."),
        _ => None,
    }
}

async fn proposals(authority: &Server) -> Option<Vec<Proposal>> {
    let read = async { authority.get("/v1/proposals").await?.json::<Proposals>() };
    read.await.ok().map(|read| read.proposals)
}

/// `POST /standing/{act}`
pub(crate) async fn act(visit: Visit) -> Answer {
    let act = visit.segment("act")?;
    let form = &visit.form;
    let reason = || form.need("reason");
    let mut detail = BTreeMap::new();
    if act == "revoke" && form.get("sure") != Some("yes") {
        return Err(Trouble::form("A revocation cannot be undone. Say that you know it."));
    }
    let (path, body, target) = match act {
        "revoke" | "suspend" | "resume" | "retire" => {
            let urn = form.need("urn")?;
            (format!("/v1/contexts/{}/{act}", segment(urn)?), json!({"reason": reason()?}), urn)
        }
        "floor" => {
            let (line, min) = (form.need("line")?, form.need("min")?);
            detail.insert("min", min.to_owned());
            ("/v1/floors".to_owned(), json!({"line": line, "min": min, "reason": reason()?}), line)
        }
        "approve" => {
            let proposal = form.need("proposal")?;
            (format!("/v1/proposals/{}/approve", segment(proposal)?), json!({}), proposal)
        }
        "trust" => ("/v1/trust".to_owned(), json!({}), "trust list"),
        _ => return Err(Trouble::missing("There is no such act.")),
    };
    let by = Some((&*visit.session.person, &visit.session.factor));
    let authority = visit.app.authority_for(&visit.session)?;
    let statement = if act == "trust" { Some(form.need("statement")?.to_owned()) } else { None };
    detail.extend(statement.as_ref().map(|text| ("sha-256", Digest::of(text.as_bytes()).to_string())));
    let record = Act { by, act, target, server: "authority", detail };
    let sent = async move {
        match statement {
            Some(text) => authority.post_signed(&path, &text).await,
            None => authority.post(&path, &body).await,
        }
    };
    let answer = carry_out(&visit.app, &record, sent).await?;
    let proposed = answer.json::<Proposal>().is_ok();
    see_other(if proposed { "/standing?outcome=proposed" } else { "/standing?outcome=done" })
}
