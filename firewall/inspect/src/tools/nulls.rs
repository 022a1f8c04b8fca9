//! Arguments that are `null` where the signed parameters take none: many clients write so what they leave out. Where the route says that this is
//! what is meant, they are taken out before the call is judged, and what goes on is what was judged.

use super::pin::task_of;
use crate::{
    NullArguments,
    case::{Case, HeaderClaims},
    parse::{Strict, Target, parse},
    redact::{Cut, without},
};
use bytes::Bytes;
use semgate_contexts::json::{Json, Object};
use semgate_message::Binding;
use semgate_policies::FieldPath;

/// A call of a tool without arguments that can only have been meant as absent.
pub(crate) struct Absent {
    /// The bytes that are judged, and pass.
    pub bytes: Bytes,
    /// What is gone: `task.member`, names of the schema.
    pub members: Vec<String>,
}

/// The same call without those of its arguments that are `null` and that the signed parameters name, ask for in no call and never take as null.
/// None where nothing is to be taken out; what else is wrong with the message its judgement says. Only members of `arguments` itself are looked at.
pub(crate) fn absent(case: &Case<'_>, strict: &Strict<'_>, headers: &HeaderClaims<'_>) -> Option<Absent> {
    if case.route.binding != Binding::Mcp || case.route.options.null_arguments != NullArguments::Absent {
        return None;
    }
    let arguments = strict.json().as_object()?.get("params")?.as_object()?.get("arguments")?.as_object()?;
    nulls(arguments).next()?;
    let parsed = parse(case, strict, headers).ok()?;
    let (tool, _) = parsed.message().tool_call?;
    let Target::Known(named) = parsed.target() else { return None };
    let term = task_of(named.context(), tool)?.term;
    let parameters = term.side(parsed.message().performative).ok()?;
    let gone: Vec<&str> = nulls(arguments).filter(|name| parameters.never_null(name)).collect();
    if gone.is_empty() {
        return None;
    }
    let paths: Vec<FieldPath> = gone.iter().map(|name| FieldPath::from(vec![Box::from(*name)])).collect();
    let cuts = [Cut { object: arguments, paths: paths.iter().collect() }];
    let members = gone.iter().map(|name| format!("{}.{name}", term.name())).collect();
    Some(Absent { bytes: Bytes::from(without(strict.json(), &cuts, false)?), members })
}

fn nulls<'j>(arguments: &'j Object<'j>) -> impl Iterator<Item = &'j str> {
    arguments.iter().filter(|(_, value)| matches!(value, Json::Null)).map(|(name, _)| name)
}
