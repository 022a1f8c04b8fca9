//! The router, built from the table of `roles`. Every request goes through the guard, then to the handler of its page.

use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use http::{HeaderValue, Request, StatusCode};

use crate::answer::{Answer, Frame, Trouble, secured, see_other};
use crate::app::App;
use crate::guard::{Admitted, Guest, Turned, Visit, Wanted, admit};
use crate::links::encoded;
use crate::pages::{
    agents, approvals, assets, contexts, decision, limits, log, login, overview, policies, standing, verdicts,
};
use crate::roles::{OpenPage, Page, Row, TABLE, Verb};

/// The router of all pages.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let mut router = Router::new();
    for (at, row) in TABLE.iter().enumerate() {
        if TABLE.iter().take(at).any(|earlier| earlier.path == row.path) {
            continue;
        }
        let of_path = TABLE.iter().filter(|other| other.path == row.path);
        let methods = of_path.fold(MethodRouter::new(), |methods, row| methods.merge(method(app, row)));
        router = router.route(row.path, methods.fallback(|| async { wrong_method() }));
    }
    router.fallback(|| async { secured(Trouble::missing("There is no such page.").page(Frame::default())) })
}

fn method(app: &Arc<App>, row: &'static Row) -> MethodRouter {
    let app = Arc::clone(app);
    let filter = match row.verb {
        Verb::Get => MethodFilter::GET,
        Verb::Post => MethodFilter::POST,
    };
    on(filter, move |request: Request<Body>| async move { secured(answer(&app, row, request).await) })
}

fn wrong_method() -> Response {
    let trouble =
        Trouble::new(StatusCode::METHOD_NOT_ALLOWED, "Not possible", "This page has no such method.");
    secured(trouble.page(Frame::default()))
}

async fn answer(app: &Arc<App>, row: &Row, request: Request<Body>) -> Response {
    let (outcome, frame) = match admit(app, row, request).await {
        Ok(Admitted::Guest(page, guest)) => (open_page(page, guest).await, Frame::default()),
        Ok(Admitted::Visit(page, visit)) => {
            let frame = visit.frame("");
            (closed_page(page, visit).await, frame)
        }
        Err(Turned::ToLogin(wanted)) => (to_login(&wanted), Frame::default()),
        Err(Turned::Away(trouble, frame)) => (Err(trouble), *frame),
    };
    outcome.unwrap_or_else(|trouble| trouble.page(frame))
}

/// Sends a person to the login, and from there to the page. A page that refreshes itself leaves as a whole.
fn to_login(wanted: &Wanted) -> Answer {
    let path = match wanted.path.as_str() {
        "/" => "/login".to_owned(),
        path => format!("/login?to={}", encoded(path)),
    };
    let mut answer = see_other(&path)?;
    if wanted.refreshes {
        *answer.status_mut() = StatusCode::UNAUTHORIZED;
        answer.headers_mut().insert("hx-redirect", HeaderValue::from_static("/login"));
    }
    Ok(answer)
}

async fn open_page(page: OpenPage, guest: Guest) -> Answer {
    match page {
        OpenPage::Asset => assets::get(&guest),
        OpenPage::LoginForm => login::form(&guest),
        OpenPage::Login => login::begin(guest).await,
    }
}

/// The answer of one page on the heap: together they would be too large for the stack of a thread.
fn boxed<F>(page: impl FnOnce(Visit) -> F, visit: Visit) -> Pin<Box<dyn Future<Output = Answer> + Send>>
where
    F: Future<Output = Answer> + Send + 'static,
{
    Box::pin(page(visit))
}

fn closed_page(page: Page, visit: Visit) -> Pin<Box<dyn Future<Output = Answer> + Send>> {
    match page {
        Page::Overview => boxed(overview::page, visit),
        Page::Verdicts => boxed(|visit| async move { verdicts::page(&visit) }, visit),
        Page::VerdictStream => boxed(|visit| async move { verdicts::stream(visit) }, visit),
        Page::Decision => boxed(decision::page, visit),
        Page::DecisionText => boxed(decision::text, visit),
        Page::Contexts => boxed(contexts::list, visit),
        Page::Context => boxed(contexts::one, visit),
        Page::ContextText => boxed(contexts::text, visit),
        Page::ContextPrompt => boxed(contexts::prompt, visit),
        Page::Compare => boxed(contexts::compare, visit),
        Page::Policies => boxed(policies::page, visit),
        Page::Matrix => boxed(policies::matrix, visit),
        Page::ExplainForm | Page::Explain => boxed(policies::explain, visit),
        Page::Approvals => boxed(approvals::inbox, visit),
        Page::Approval => boxed(approvals::one, visit),
        Page::ApprovalText => boxed(approvals::text, visit),
        Page::Approve => boxed(approvals::approve, visit),
        Page::Deny => boxed(approvals::deny, visit),
        Page::Delegate => boxed(approvals::delegate, visit),
        Page::Standing => boxed(standing::page, visit),
        Page::StandingAct => boxed(standing::act, visit),
        Page::Agents => boxed(agents::page, visit),
        Page::Limits => boxed(limits::page, visit),
        Page::Log => boxed(log::page, visit),
        Page::Logout => boxed(login::end, visit),
    }
}
