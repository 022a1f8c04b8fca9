//! How a request reaches a person, and how an answer comes back without a certificate.
//!
//! A [`Courier`] sends each request to the people who may decide it: to Slack or Teams through the list of permitted targets,
//! or by mail. The [`doors`] take answers: a click that Slack signed, or a form behind a single-use link.

mod courier;
pub(crate) mod doors;
mod link_door;
mod mailer;
mod pace;
mod send;
mod slack_door;

#[cfg(test)]
mod tests;

pub(crate) use courier::{Courier, errands, listener};
pub(crate) use send::Channels;

use crate::config::ApprovalsConfig;
use crate::fault::RunFault;

/// Reads every secret and root of the channels.
///
/// # Errors
/// An unreadable or unusable file.
pub(crate) fn check(config: &ApprovalsConfig) -> Result<(), RunFault> {
    let _ = Channels::open(config)?;
    config.slack.as_ref().map(slack_door::Clicks::open).transpose()?;
    Ok(())
}
