//! Tools that a caller may see, by context and policy.

use super::drift::{Age, NotAsSigned, Server};
use super::pin::{Pinned, task_of};
use crate::{
    Direction, Sent, UnnamedTools, generation::Named, inspection::Inspection, resolve::Resolved,
    standing::counts,
};
use semgate_contexts::{Context, ContextUrn, Performative, Term};
use semgate_policies::{Circumstances, Credentials, Parties};
use semgate_protocol::{
    Instance, Vocabulary,
    mcp::{Operation, Revision},
};

/// Returns true if the policies let this agent use the line of a context, and the context is usable now.
fn usable(case: &Inspection<'_>, agent: &str, named: &Named) -> bool {
    let urn = named.urn();
    let standing = || Some(case.generation.source_of(urn.line())?.view().standing(urn, case.now.unix));
    case.generation.policies().may_use_line(agent, urn.line()).is_ok()
        && standing().is_some_and(|standing| counts(case, named, standing).is_ok())
}

/// Default contexts of the route that its caller may use and that are usable now.
fn usable_defaults<'c>(case: &Inspection<'c>, agent: &str) -> impl Iterator<Item = &'c Named> {
    let all =
        case.route.options.default_contexts.iter().filter_map(|urn| case.generation.named(urn.as_str()));
    all.filter(move |named| usable(case, agent, named))
}

/// Default context of a request that names none: the first usable one that pins the called tool, otherwise
/// the first usable one. Without a usable one it is the first, which is then refused with its own reason.
pub(crate) fn default_context<'c>(case: &Inspection<'c>, tool: Option<&str>) -> Option<&'c ContextUrn> {
    let all = &case.route.options.default_contexts;
    if all.len() < 2 {
        return all.first();
    }
    let agent = case.sender.id();
    let pins = |named: &&Named| tool.is_some_and(|tool| task_of(named.context(), tool).is_some());
    let chosen = usable_defaults(case, agent).find(pins).or_else(|| usable_defaults(case, agent).next());
    chosen.map(Named::urn).or_else(|| all.first())
}

/// Contexts whose tools a list shows: the request's. If it named none, all usable default contexts of the
/// route.
pub(super) fn listed_under<'c>(case: &Inspection<'c>, sent: &Sent, named: &'c Named) -> Vec<&'c Context> {
    let defaults = &case.route.options.default_contexts;
    if !sent.by_default || defaults.len() < 2 || !defaults.contains(named.urn()) {
        return vec![named.context()];
    }
    usable_defaults(case, case.receiver).map(Named::context).collect()
}

/// The first of these contexts that pins the tool, with its task.
pub(super) fn pinned_in<'c>(contexts: &[&'c Context], tool: &str) -> Option<(&'c Context, Pinned<'c>)> {
    contexts.iter().find_map(|context| Some((*context, task_of(context, tool)?)))
}

/// MCP version of a request that calls a tool visible to its caller. `terms` define the request's instances,
/// the tool's first.
pub(crate) fn visible_call<'t>(
    resolved: &Resolved<'_, '_>,
    mut terms: impl Iterator<Item = (&'t Context, &'t Term)>,
) -> Option<Revision> {
    let (case, message) = (resolved.case(), resolved.message());
    let calls = case.direction == Direction::Request && message.tool_call.is_some();
    let asked = message.mcp.as_ref().filter(|_| calls)?;
    let of_tool = |instance: &Instance<'_>| instance.of == Vocabulary::Context || instance.name == UNNAMED;
    let at = message.instances.iter().position(of_tool)?;
    terms.nth(at).filter(|(context, term)| may_call(case, context, term)).map(|_| asked.version)
}

/// Treatment of one tool in a list.
pub(super) enum Held {
    Shown,
    Withheld,
    Drifted(String),
}

/// Returns true if a policy could let the client call this tool. The client sends the call, or reads the
/// list.
fn may_call(case: &Inspection<'_>, context: &Context, term: &Term) -> bool {
    let may = |action| {
        let Ok(shape) = term.side(action) else { return false };
        let (sender, receiver, sender_holds) = match case.direction {
            Direction::Request => (case.sender.id(), case.receiver, case.sender.credentials()),
            Direction::Reply => (case.receiver, case.sender.id(), case.receiver_holds),
        };
        let binding = case.route.binding.as_str();
        let parties = Parties { sender, receiver, binding, direction: "request" };
        let around =
            Circumstances { sender_holds, receiver_holds: &Credentials::NONE, ..case.circumstances() };
        case.generation.policies().may_say(parties, action, context, shape, around).is_ok()
    };
    [Performative::Request, Performative::Query].into_iter().any(may)
}

/// Decides on one tool of a list. `holds` is true if this page has the pinned tool once, in a signed form.
/// Otherwise the tool is shown to nobody, whatever is remembered.
pub(super) fn held(
    case: &Inspection<'_>,
    contexts: &[&Context],
    name: &str,
    pinned: Option<&(&Context, Pinned<'_>)>,
    holds: bool,
) -> Held {
    let term = match pinned {
        Some((context, pinned)) => {
            let any = Age { now: case.now.monotonic_ms, most: None };
            let stands = case.state.tools.stands(Server::of(case.route), name, pinned.forms(), any, || false);
            // also drifted on another page, or not yet cleared by a complete list
            if !holds || stands == Err(NotAsSigned::Drifted) {
                return Held::Drifted(pinned.term.name().to_owned());
            }
            Some((*context, pinned.term))
        }
        None => {
            let unnamed = || !contexts.iter().any(|context| names(case, context, name));
            let protocol = case.generation.protocol(case.route.binding).filter(|_| unnamed());
            protocol.and_then(|own| own.context().term(UNNAMED).map(|term| (own.context(), term)))
        }
    };
    if term.is_some_and(|(context, term)| may_call(case, context, term)) {
        Held::Shown
    } else {
        Held::Withheld
    }
}

/// The protocol's task for a call of a tool that no context names.
pub(crate) const UNNAMED: &str = Operation::CallTool.concept();

/// Returns true if the route admits tools that no context names.
fn passes_unnamed(case: &Inspection<'_>) -> bool {
    case.route.options.unnamed_tools == UnnamedTools::Pass
}

/// Returns true if a tool of this name belongs to the context, or to another that the route understands.
/// Always true if the route admits no unnamed tools.
///
/// Only other tools may pass as [`UNNAMED`]. A caller therefore cannot evade a signed tool with a context
/// that lacks it, or with an older version.
pub(crate) fn names(case: &Inspection<'_>, context: &Context, tool: &str) -> bool {
    let elsewhere = || {
        let mut known =
            case.generation.all_named().filter(|named| case.route.understands(named.urn()).is_ok());
        known.any(|named| task_of(named.context(), tool).is_some())
    };
    !passes_unnamed(case) || task_of(context, tool).is_some() || elsewhere()
}
