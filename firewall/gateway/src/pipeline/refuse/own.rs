//! Refusals as answers of their protocol, in the name of the agent that did not answer.

use semgate_inspect::code::Class;
use semgate_inspect::{Code, Refusal};
use semgate_protocol::{Binding, RefusalDraft, Secret};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::{again, answer, problem};
use crate::pipeline::answer::Answer;
use crate::pipeline::decision::DecisionId;

/// The agent in whose name the gateway answers.
pub(crate) struct Speaker<'s> {
    pub(crate) binding: Binding,
    /// Its name in the binding.
    pub(crate) name: &'s str,
    /// The secret that signs its messages.
    pub(crate) secret: Option<&'s Secret>,
    /// Seconds since the Unix epoch.
    pub(crate) unix: u64,
}

/// The answer for a refusal, with the status of a success. None where the protocol has none, so that the HTTP status tells.
pub(crate) fn in_own_form(refusal: &Refusal, speaker: &Speaker<'_>, decision: DecisionId) -> Option<Answer> {
    let echo = refusal.echo()?;
    let mut buffer = [0; 26];
    let id = decision.text(&mut buffer);
    let hint = if refusal.hint().is_empty() { String::new() } else { format!("; hint: {}", refusal.hint()) };
    let text = format!("{}: {}{hint} [decision {id}]", refusal.code(), refusal.reason());
    let unix =
        i64::try_from(speaker.unix).ok().and_then(|unix| OffsetDateTime::from_unix_timestamp(unix).ok());
    let timestamp = unix.and_then(|time| time.format(&Rfc3339).ok())?;
    let problem = serde_json::to_value(problem(refusal, Some(id))).ok()?;
    let draft = RefusalDraft {
        code: refusal.code().as_str(),
        text: &text,
        problem: &problem,
        failure: refusal.failure(),
        sender: speaker.name,
        message_id: id,
        timestamp: &timestamp,
        // before the sender counts, anybody could have a text of its own signed in the agent's name
        secret: speaker.secret.filter(|_| counts(refusal.code())),
    };
    let body = speaker.binding.protocol().refusal(&draft, echo)?;
    let mut answer = answer(decision, 200, "application/json", body.into());
    again(&mut answer, refusal);
    Some(answer)
}

/// True of a refusal after the sender and its signature counted.
fn counts(code: Code) -> bool {
    code.class() != Class::Form && code != Code::SenderMismatch
}
