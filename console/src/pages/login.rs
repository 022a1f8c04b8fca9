//! Login and logout. A GET never begins a session: mail scanners and previews follow links.

use std::collections::BTreeMap;
use std::sync::Arc;

use askama::Template;
use http::{HeaderValue, StatusCode, header};

use crate::answer::{Answer, Frame, Trouble, html, see_other};
use crate::app::Act;
use crate::clock::now;
use crate::config::PersonConfig;
use crate::guard::{COOKIE, Guest, Visit};
use crate::roles::navigation;
use crate::sessions::Factor;
use crate::visible::filters;

/// Seconds that a browser keeps the cookie: as long as a session at most.
const KEPT: u64 = crate::sessions::LONGEST;

#[derive(Template)]
#[template(path = "login.html")]
struct Form<'a> {
    frame: Frame,
    /// The name of the person whose certificate the connection shows.
    certified: Option<&'a str>,
    /// The id of a certificate that names no person here.
    unknown: Option<&'a str>,
    /// The secret of a link that still counts.
    link: Option<&'a str>,
    /// True if the link in the address counts no more.
    spent: bool,
    /// The page to go to.
    to: &'a str,
}

/// `GET /login`
pub(crate) fn form(guest: &Guest) -> Answer {
    let person = guest.peer.as_ref().and_then(|peer| guest.app.person(peer.id()));
    let link = guest.query.get("link");
    let counts = link.is_some_and(|secret| guest.app.sessions().is_link(secret, now()));
    html(&Form {
        frame: Frame::default(),
        certified: person.as_deref().map(|person| person.name.as_str()),
        unknown: guest.peer.as_ref().filter(|_| person.is_none()).map(|peer| peer.id().as_str()),
        link: link.filter(|_| counts),
        spent: link.is_some() && !counts,
        to: guest.query.get("to").filter(|to| is_own(to)).unwrap_or_default(),
    })
}

/// `POST /login`: by the certificate of the connection, or by a link, which is used up.
pub(crate) async fn begin(guest: Guest) -> Answer {
    let (person, factor) = match guest.form.get("link") {
        Some(secret) => (guest.app.sessions().take_link(secret, now()), Factor::Link),
        None => (guest.peer.as_ref().and_then(|peer| guest.app.person(peer.id())), Factor::Certificate),
    };
    let Some(person) = person else { return refused(&guest, &factor).await };
    let act = own("login", &person, &factor);
    guest.app.record(&act, "done").await.map_err(|why| Trouble::unrecorded(&why))?;
    let cookie = guest.app.sessions().begin(Arc::clone(&person), factor.clone(), now());
    let cookie = cookie.map_err(Trouble::internal)?;
    let to = guest.form.get("to").filter(|to| is_own(to));
    let mut answer = see_other(to.unwrap_or_else(|| first_page(&person)))?;
    let cookie = format!("{COOKIE}={cookie}; Secure; HttpOnly; SameSite=Strict; Path=/; Max-Age={KEPT}");
    let cookie = HeaderValue::from_str(&cookie).map_err(Trouble::internal)?;
    answer.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(answer)
}

/// `POST /logout`
pub(crate) async fn end(visit: Visit) -> Answer {
    let session = &visit.session;
    // the session ends in any case
    visit.end();
    let act = own("logout", &session.person, &session.factor);
    visit.app.record(&act, "done").await.map_err(|why| Trouble::unrecorded(&why))?;
    let mut answer = see_other("/login")?;
    let gone = format!("{COOKIE}=; Secure; HttpOnly; SameSite=Strict; Path=/; Max-Age=0");
    answer.headers_mut().insert(header::SET_COOKIE, HeaderValue::from_str(&gone).map_err(Trouble::internal)?);
    Ok(answer)
}

/// An act of a person on the own session.
fn own<'a>(act: &'a str, person: &'a PersonConfig, factor: &'a Factor) -> Act<'a> {
    let detail = BTreeMap::new();
    Act { by: Some((person, factor)), act, target: &person.id, server: "console", detail }
}

async fn refused(guest: &Guest, factor: &Factor) -> Answer {
    let id = guest.peer.as_ref().map(|peer| peer.id().as_str()).unwrap_or_default();
    let act = Act { by: None, act: "login", target: id, server: "console", detail: BTreeMap::new() };
    let is_known = guest.peer.as_ref().is_some_and(|peer| guest.app.person(peer.id()).is_some());
    let recorded = match is_known {
        true => guest.app.record(&act, "refused").await,
        false => guest.app.note(&act, "refused").await,
    };
    recorded.map_err(|why| Trouble::unrecorded(&why))?;
    let text = match factor {
        Factor::Link => {
            "This link was used before, or is older than five minutes. Start the console again for a new one."
        }
        Factor::Certificate if guest.peer.is_none() => "Your browser showed no client certificate.",
        Factor::Certificate => "Your certificate names nobody whom this console knows.",
    };
    Err(Trouble::new(StatusCode::FORBIDDEN, "You are not logged in", text))
}

/// True for a path of this console. A browser takes `//host` and `/\\host` for another one.
fn is_own(to: &str) -> bool {
    to.starts_with('/')
        && !to.contains("//")
        && !to.contains('\\')
        && to.bytes().all(|byte| byte.is_ascii_graphic())
}

fn first_page(person: &PersonConfig) -> &'static str {
    navigation(&person.roles).next().map_or("/login", |(_, path)| path)
}
