//! Approvals: the inbox over all gateways, and one request with everything that a decision is bound to.
//!
//! The page shows the gateway's own words and the canonical action first, and an agent's words marked as such. A decision
//! carries the digest of the text on the page, so the gateway refuses it for any other action.

mod hold;
mod text;

use askama::Template;
use semgate_contexts::json;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::answer::{Answer, Frame, Trouble, html, see_other, text_file};
use crate::app::{Act, carry_out};
use crate::client::CallFault;
use crate::clock::now;
use crate::config::GatewayConfig;
use crate::gateways::ask_all;
use crate::guard::Visit;
use crate::links::{encoded, segment};
use crate::visible::filters;

use hold::{Hold, Summary, words};
use text::{Line, compared, laid_out};

/// Characters of an action on the page. A longer one is linked as a whole, and the decision says that it was read.
const SHOWN: usize = 128 * 1024;

/// A page of the requests of a gateway: open ones first, by expiry.
#[derive(Deserialize)]
struct Inbox {
    approvals: Vec<Summary>,
    /// All requests, with those on other pages.
    total: usize,
}

/// The requests of one gateway.
struct GatewayInbox {
    gateway: String,
    inbox: Result<Inbox, CallFault>,
    /// Requests before these.
    offset: usize,
}

impl GatewayInbox {
    /// The number of the last request on this page.
    fn last(&self) -> usize {
        let shown = self.inbox.as_ref().map(|inbox| inbox.approvals.len()).unwrap_or_default();
        self.offset.saturating_add(shown)
    }
}

#[derive(Template)]
#[template(path = "approvals.html")]
struct InboxPage<'a> {
    frame: Frame,
    boxes: Vec<GatewayInbox>,
    state: &'a str,
    /// The query of this page.
    query: String,
}

#[derive(Template)]
#[template(path = "approval.html")]
struct ApprovalPage {
    frame: Frame,
    gateway: String,
    hold: Hold,
    action: String,
    difference: Vec<Line>,
    humans: Vec<Human>,
    own: String,
    now: u64,
}

/// A person to delegate to.
#[derive(Deserialize)]
struct Human {
    id: String,
    #[serde(default)]
    profile: Profile,
    #[serde(default)]
    status: String,
}

#[derive(Deserialize, Default)]
struct Profile {
    #[serde(default)]
    name: String,
    #[serde(default)]
    role: String,
}

#[derive(Deserialize)]
struct Humans {
    humans: Vec<Human>,
}

impl ApprovalPage {
    /// True if the page does not show the whole action.
    fn is_cut(&self) -> bool {
        is_cut(&self.hold)
    }

    /// The longest text that the page shows.
    const fn most(&self) -> usize {
        SHOWN
    }

    /// Seconds that are left.
    fn left(&self) -> u64 {
        self.hold.expires_at.saturating_sub(self.now)
    }

    /// The schema of the wanted input, laid out.
    fn wanted(&self) -> Option<String> {
        let wanted = self.hold.interaction.as_ref()?.required_input.as_ref()?;
        Some(words(wanted)).filter(|text| !text.is_empty())
    }
}

fn is_cut(hold: &Hold) -> bool {
    laid_out(&hold.canonical).chars().count() > SHOWN
}

/// `GET /approvals`
pub(crate) async fn inbox(visit: Visit) -> Answer {
    let state = match visit.query.get("state") {
        None | Some("open") => "open",
        Some("ended") => "ended",
        Some("all") => "all",
        Some(_) => return Err(Trouble::missing("`state` is `open`, `ended` or `all`.")),
    };
    let named = visit.query.get("gateway").map(str::to_owned);
    let offset: usize = match (&named, visit.query.get("offset")) {
        (Some(_), Some(offset)) => {
            offset.parse().map_err(|_| Trouble::missing("`offset` must be a number."))?
        }
        (None, Some(_)) => return Err(Trouble::missing("`offset` is of one `gateway`.")),
        (_, None) => 0,
    };
    let query = match &named {
        Some(gateway) => format!("state={state}&gateway={}&offset={offset}", encoded(gateway)),
        None => format!("state={state}"),
    };
    let session = visit.session.clone();
    let asked = ask_all(&visit.app, |app, at| {
        let (session, named) = (session.clone(), named.clone());
        async move {
            let gateway = app.config.gateways.get(at)?;
            if named.is_some_and(|named| named != gateway.name) {
                return None;
            }
            let server = app.approvals(gateway, &session)?;
            let path = format!("/v1/approvals?state={state}&offset={offset}");
            Some(async { server?.get(&path).await?.json::<Inbox>() }.await)
        }
    });
    let gateways = visit.app.config.gateways.iter().zip(asked.await);
    let boxes = gateways.filter_map(|(gateway, inbox)| {
        Some(GatewayInbox { gateway: gateway.name.clone(), inbox: inbox?, offset })
    });
    html(&InboxPage { frame: visit.frame("/approvals"), boxes: boxes.collect(), state, query })
}

/// The gateway of a request, and the request: of the named gateway, or of the first that has it.
async fn find(visit: &Visit) -> Result<(GatewayConfig, Hold), Trouble> {
    let path = format!("/v1/approvals/{}", segment(visit.segment("id")?)?);
    let named = visit.form.get("gateway").or_else(|| visit.query.get("gateway"));
    let mut last = None;
    for gateway in &visit.app.config.gateways {
        if named.is_some_and(|named| named != gateway.name) {
            continue;
        }
        let Some(server) = visit.app.approvals(gateway, &visit.session) else { continue };
        let read = async { server?.get(&path).await?.json::<Hold>() };
        match read.await {
            Ok(hold) => return Ok((gateway.clone(), hold)),
            Err(fault) if fault.status() == Some(404) => {}
            Err(fault) => last = Some(fault),
        }
    }
    Err(last.map_or_else(|| Trouble::missing("No gateway knows this request."), Trouble::from))
}

/// `GET /approvals/{id}`
pub(crate) async fn one(visit: Visit) -> Answer {
    let (gateway, hold) = find(&visit).await?;
    let action = laid_out(&hold.canonical);
    let difference = match &hold.last_approved {
        Some(earlier) => compared(&laid_out(&earlier.canonical), &action),
        None => Vec::new(),
    };
    let own = visit.session.person.human.clone().unwrap_or_default();
    let humans = humans(&visit, &gateway).await.into_iter().filter(|human| human.id != own).collect();
    let frame = visit.frame("/approvals");
    html(&ApprovalPage { frame, gateway: gateway.name, hold, action, difference, humans, own, now: now() })
}

/// The people of a gateway; none if it does not tell.
async fn humans(visit: &Visit, gateway: &GatewayConfig) -> Vec<Human> {
    let Some(Ok(server)) = visit.app.approvals(gateway, &visit.session) else { return Vec::new() };
    let read = async { server.get("/v1/humans").await?.json::<Humans>() };
    read.await.map(|read| read.humans).unwrap_or_default()
}

/// `GET /approvals/{id}/action.txt`
pub(crate) async fn text(visit: Visit) -> Answer {
    let (_, hold) = find(&visit).await?;
    text_file(hold.canonical, "attachment; filename=\"action.txt\"")
}

/// `POST /approvals/{id}/approve`
pub(crate) async fn approve(visit: Visit) -> Answer {
    let (gateway, hold) = find(&visit).await?;
    let digest = shown_digest(&visit, &hold)?;
    if is_cut(&hold) && visit.form.get("read").is_none() {
        return Err(Trouble::form(
            "The page does not show the whole action. Read the whole text, and say so.",
        ));
    }
    let mut body = decision(&visit, digest);
    if let Some(number) = visit.form.get("option") {
        body.insert("selected_option".to_owned(), offered(&hold, number)?.into());
    }
    if let Some(data) = visit.form.get("data") {
        body.insert("data".to_owned(), data_of(&hold, data)?);
    }
    decide(&visit, &gateway, "approve", body).await
}

/// `POST /approvals/{id}/deny`
pub(crate) async fn deny(visit: Visit) -> Answer {
    let (gateway, hold) = find(&visit).await?;
    let digest = shown_digest(&visit, &hold)?;
    decide(&visit, &gateway, "deny", decision(&visit, digest)).await
}

/// `POST /approvals/{id}/delegate`
pub(crate) async fn delegate(visit: Visit) -> Answer {
    let (gateway, _) = find(&visit).await?;
    let body = Map::from_iter([("to".to_owned(), visit.form.need("to")?.into())]);
    decide(&visit, &gateway, "delegate", body).await
}

/// The digest of the page that the person saw.
fn shown_digest<'v>(visit: &'v Visit, hold: &Hold) -> Result<&'v str, Trouble> {
    let shown = visit.form.need("digest")?;
    if shown != hold.digest || !hold.is_whole() {
        let text = "This request is another one than the page showed. Open it again.";
        return Err(Trouble::new(http::StatusCode::CONFLICT, "Nothing was decided", text));
    }
    Ok(shown)
}

fn decision(visit: &Visit, digest: &str) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("digest".to_owned(), digest.into());
    if let Some(reason) = visit.form.get("reason") {
        body.insert("reason".to_owned(), reason.into());
    }
    body
}

/// The offered option with this number: its exact text, which a form would not keep.
fn offered(hold: &Hold, number: &str) -> Result<String, Trouble> {
    let options = hold.interaction.as_ref().map(|asked| asked.options.as_slice()).unwrap_or_default();
    let option = number.parse().ok().and_then(|number: usize| options.get(number));
    option.cloned().ok_or_else(|| Trouble::form("The agent offers no such option."))
}

/// The input of a person: text where text is wanted, else JSON.
fn data_of(hold: &Hold, typed: &str) -> Result<Value, Trouble> {
    let wanted = hold.interaction.as_ref().and_then(|asked| asked.required_input.as_ref());
    let kind = wanted.and_then(|schema| schema.get("type")).and_then(Value::as_str);
    if wanted.is_none() || matches!(kind, Some("string")) {
        return Ok(typed.into());
    }
    let read = json::read(typed.as_bytes(), &json::Limits::default());
    read.map(|read| read.to_value())
        .map_err(|why| Trouble::form(format_args!("The input is not JSON: {why}.")))
}

/// Sends a decision once its record is on disk.
async fn decide(
    visit: &Visit,
    gateway: &GatewayConfig,
    act: &'static str,
    body: Map<String, Value>,
) -> Answer {
    let id = visit.segment("id")?;
    let text = |name| body.get(name).and_then(Value::as_str);
    // the number of an option, since its text is a value of the message
    let option = body.get("selected_option").and_then(|_| visit.form.get("option"));
    let particulars = [("digest", text("digest")), ("to", text("to")), ("option", option)];
    let given = particulars.into_iter().filter_map(|(name, value)| Some((name, value?.to_owned())));
    let detail = given.collect();
    let by = Some((&*visit.session.person, &visit.session.factor));
    let record = Act { by, act, target: id, server: &gateway.name, detail };
    let server = visit.app.approvals(gateway, &visit.session);
    let server = server.unwrap_or_else(|| Err(CallFault::Silent("the gateway asks nobody".to_owned())));
    let shown = segment(id)?;
    let path = format!("/v1/approvals/{shown}/{act}");
    let sent = async move { server?.post(&path, &Value::Object(body)).await };
    carry_out(&visit.app, &record, sent).await?;
    see_other(&format!("/approvals/{shown}?gateway={}", encoded(&gateway.name)))
}
