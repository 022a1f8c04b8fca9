//! How a request reaches a person, and how an answer comes back without a certificate.
//!
//! A [`Courier`] sends each request to the people who may decide it: to Slack or Teams through the list of permitted targets,
//! or by mail. The [`doors`] take answers: a click that Slack signed, or a form behind a single-use link.

mod clicks;
mod courier;
pub(crate) mod doors;
mod fault;
mod forms;
mod link_door;
mod mailer;
mod pace;
mod send;
mod slack_door;

#[cfg(test)]
mod tests;

use axum::Router;
use axum::routing::{get, post};

use crate::config::ApprovalsConfig;
use crate::fault::RunFault;

pub(crate) use courier::{Courier, errands, listener};
use doors::Doors;
pub(crate) use send::Channels;

/// Reads every secret and root of the channels.
///
/// # Errors
/// An unreadable or unusable file.
pub(crate) fn check(config: &ApprovalsConfig) -> Result<(), RunFault> {
    let _ = Channels::open(config)?;
    config.slack.as_ref().map(clicks::Clicks::open).transpose()?;
    Ok(())
}

/// The pages: `/decide/{token}`, and `/slack/actions` with `[approvals.slack]`.
pub(crate) fn router(doors: &Doors) -> Router {
    let mut router = Router::new().route("/decide/{token}", get(link_door::show).post(link_door::decide));
    if doors.clicks.is_some() {
        router = router.route("/slack/actions", post(slack_door::clicked));
    }
    router.with_state(doors.clone())
}
