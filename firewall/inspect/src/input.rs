//! Input that an MCP server requires first (`input_required`), and the client's response to it.
//!
//! Only the caller that was asked may respond, with the same request and in the required form.

use crate::{
    Code, Refusal, Sent,
    inspection::Inspection,
    owners::{Kind, NotOwned},
};
use semgate_contexts::Digest;
use semgate_protocol::{
    Message,
    mcp::{Asked, Operation},
};

/// Requests that a server may make first.
const METHODS: [Operation; 3] = [Operation::Elicit, Operation::CreateMessage, Operation::ListRoots];

/// Required input of a server: its `requestState`, if any, and name and method of each request.
pub(crate) struct Needs<'n> {
    pub state: Option<&'n str>,
    pub input: Vec<(&'n str, Operation)>,
}

impl Needs<'_> {
    /// Returns true if the server gave a state or asked for input.
    pub(crate) fn any(&self) -> bool {
        self.state.is_some() || !self.input.is_empty()
    }
}

/// The id of a round that a server began, made from the caller, the request and the state.
///
/// Servers may give many callers the same state, and each caller gets its own id. Without a state, all rounds
/// of one request share an id.
fn round(caller: &str, asked: &Asked, state: Option<&str>) -> String {
    let named = asked.tool.as_deref().or(asked.resource.as_deref()).or(asked.prompt.as_deref());
    let (method, named) = (asked.operation.method(), named.unwrap_or_default());
    // none of the parts holds a line end
    let of = format!("{caller}\n{method}\n{named}");
    Digest::of(state.map_or(of.clone(), |state| format!("{of}\n{state}")).as_bytes()).to_string()
}

/// The id of one question of a round.
fn question(round: &str, name: &str, method: Operation) -> String {
    Digest::of(format!("{round}\n{name}\n{}", method.method()).as_bytes()).to_string()
}

/// Records the required input for this caller. Only it may respond, with the given state and the requested
/// input. The record counts toward the caller's ownership bounds.
pub(crate) fn remember(
    case: &Inspection<'_>,
    sent: &Sent,
    asked: &Asked,
    needs: &Needs<'_>,
) -> Result<(), Refusal> {
    if case.route.options.keeps_callers_apart {
        return Ok(());
    }
    let owner = sent.caller.key();
    let mut things = Vec::with_capacity(2 * (needs.input.len() + 1));
    // also recorded without the state, which nobody can force the client to return
    for state in [needs.state, None].into_iter().skip(usize::from(needs.state.is_none())) {
        let round = round(owner, asked, state);
        let asked_for = needs.input.iter().map(|(name, method)| question(&round, name, *method));
        things.extend(asked_for.map(|id| (Kind::Round, id)));
        things.push((Kind::Round, round));
    }
    // the caller is part of the id, so no other caller can own it
    case.state
        .owners
        .claim(&case.route.scope(), owner, &things, &sent.about, None)
        .map_err(|NotOwned| no_round())
}

/// Checks that a request returns the given state and answers what was requested.
///
/// Without a state, the rounds of a request cannot be told apart. Something must then have been asked for
/// this request, and an answer to a known name must have its form. Servers ignore other names, as the
/// protocol demands.
///
/// # Errors
/// `malformed`: a state that was not given, or an answer that was not requested.
pub(crate) fn goes_on(case: &Inspection<'_>, message: &Message<'_>) -> Result<(), Refusal> {
    let Some(asked) =
        message.mcp.as_ref().filter(|_| message.state_token.is_some() || !message.input.is_empty())
    else {
        return Ok(());
    };
    let (scope, sender) = (&case.route.scope(), case.sender.id());
    let known = |id: &str| case.state.owners.of(scope, sender, Kind::Round, id).is_ok();
    let round = round(sender, asked, message.state_token);
    if !known(&round) {
        return Err(if message.state_token.is_some() { no_round() } else { not_asked() });
    }
    let was_asked = |name: &str, method: Operation| known(&question(&round, name, method));
    let fits = |(name, method): &(&str, Operation)| {
        was_asked(name, *method)
            || message.state_token.is_none() && !METHODS.into_iter().any(|other| was_asked(name, other))
    };
    if message.input.iter().all(fits) { Ok(()) } else { Err(not_asked()) }
}

/// The refusal of an invalid `requestState`. The text is the same for an invented, forgotten or foreign
/// state.
fn no_round() -> Refusal {
    Refusal::new(
        Code::Malformed,
        "`/params/requestState` is not a state that this agent received for this request",
    )
    .with_hint("send the request again without it, and continue with the new state")
}

fn not_asked() -> Refusal {
    Refusal::new(
        Code::Malformed,
        "`/params/inputResponses` answers a question that was not asked for this request",
    )
    .with_hint("send the request again without it, then answer each question under its name and in its form")
}
