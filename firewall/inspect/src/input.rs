//! What a server of MCP needs first (`input_required`), and what it is given then: by who was asked, with the request that it was needed for,
//! and in the form that it was asked for.

use crate::{
    Code, Refusal, Sent,
    case::Case,
    owners::{Kind, NotOwned},
};
use semgate_contexts::Digest;
use semgate_message::{
    Message,
    mcp::{Asked, Operation},
};

/// What a server may need first.
const METHODS: [Operation; 3] = [Operation::Elicit, Operation::CreateMessage, Operation::ListRoots];

/// What a server needs first: its `requestState`, if it gave one, and name and method of each request.
pub(crate) struct Needs<'n> {
    pub state: Option<&'n str>,
    pub input: Vec<(&'n str, Operation)>,
}

impl Needs<'_> {
    /// Whether there is anything to go on with.
    pub(crate) fn any(&self) -> bool {
        self.state.is_some() || !self.input.is_empty()
    }
}

/// The id under which a round is remembered that a server began: of who was told, what was asked, and what is to be given back. Servers
/// may tell many callers the same, and each of them has it for itself. All rounds of one request are one besides, without their states.
fn round(caller: &str, asked: &Asked, state: Option<&str>) -> String {
    let named = asked.tool.as_deref().or(asked.resource.as_deref()).or(asked.prompt.as_deref());
    let (method, named) = (asked.operation.method(), named.unwrap_or_default());
    // a line end stands in none of the others
    let of = format!("{caller}\n{method}\n{named}");
    Digest::of(state.map_or(of.clone(), |state| format!("{of}\n{state}")).as_bytes()).to_string()
}

/// The id of one question of a round.
fn question(round: &str, name: &str, method: Operation) -> String {
    Digest::of(format!("{round}\n{name}\n{}", method.method()).as_bytes()).to_string()
}

/// A server asks for something first: who was asked, and nobody else, may come back with what it gave and with what it asked for. It is
/// remembered with what else is the caller's, so within the bounds of that.
pub(crate) fn remember(
    case: &Case<'_>,
    sent: &Sent,
    asked: &Asked,
    needs: &Needs<'_>,
) -> Result<(), Refusal> {
    if case.route.options.keeps_callers_apart {
        return Ok(());
    }
    let owner = sent.caller.key();
    let mut things = Vec::with_capacity(2 * (needs.input.len() + 1));
    // also as one without a state, which nobody can be made to give back
    for state in [needs.state, None].into_iter().skip(usize::from(needs.state.is_none())) {
        let round = round(owner, asked, state);
        let asked_for = needs.input.iter().map(|(name, method)| question(&round, name, *method));
        things.extend(asked_for.map(|id| (Kind::Round, id)));
        things.push((Kind::Round, round));
    }
    // the caller is part of the id, so it is nobody else's
    case.owners.claim(&case.route.scope(), owner, &things, &sent.about, None).map_err(|NotOwned| no_round())
}

/// Whether a request gives back what its sender was given for it, and answers what it was asked. Where it gives no state back, what belongs
/// to which round cannot be told: then something was asked for this request, and what was asked under a name is answered in the form of it;
/// other names are for the server to pass over, as the protocol says that it does.
///
/// # Errors
/// `malformed`: a state that was not given, and answers to what was not asked.
pub(crate) fn goes_on(case: &Case<'_>, message: &Message<'_>) -> Result<(), Refusal> {
    let Some(asked) =
        message.mcp.as_ref().filter(|_| message.state_token.is_some() || !message.input.is_empty())
    else {
        return Ok(());
    };
    let (scope, sender) = (&case.route.scope(), case.sender.id());
    let known = |id: &str| case.owners.of(scope, sender, Kind::Round, id).is_ok();
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

/// As MCP says what is wrong with a parameter; the same whether a state is made up, forgotten, or of another caller or request.
fn no_round() -> Refusal {
    Refusal::new(Code::Malformed, "`/params/requestState` is none that this agent was given for this request")
        .with_hint("send the request again without it, and go on with what is given then")
}

fn not_asked() -> Refusal {
    Refusal::new(
        Code::Malformed,
        "`/params/inputResponses` answers what this agent was not asked for this request",
    )
    .with_hint(
        "send the request again without it, and answer what is asked then, under its name and in its form",
    )
}
