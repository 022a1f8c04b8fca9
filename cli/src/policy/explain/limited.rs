//! The limits that stopped a recorded message, in words: policies permit the message, but it came too often.

use semgate_contexts::json::{Json, Object};
use semgate_inspect::Code;
use time::format_description::well_known::Rfc3339;

use crate::policy::audit::Entry;

/// A sentence for each limit that stopped the message of a record; one with the candidates if the record names none.
pub fn sentences(entry: &Entry<'_>) -> Vec<String> {
    let of = entry.limited();
    if of.is_empty() && entry.text("code") == Some(Code::RateLimited.as_str()) {
        return vec![
            "which limit is not recorded: too much open at once (subscriptions, a socket's requests), no room for another bucket, or a record of an older gateway"
                .to_owned(),
        ];
    }
    of.iter().filter_map(|one| sentence(one.as_object()?, entry.time())).collect()
}

fn sentence(one: &Object<'_>, at: u64) -> Option<String> {
    let text = |name: &str| one.get(name).and_then(Json::as_str);
    let number = |name: &str| one.get(name)?.as_number()?.as_i64_exact();
    let (name, rate, per) = (text("name")?, text("rate")?, text("per")?);
    let of = match text("kind")? {
        "policy" => format!("`@limit` of `{name}`"),
        "budget" => format!("budget `{name}` of limits.json"),
        "ambiguity" => "limit on ambiguous questions".to_owned(),
        "arrivals" => {
            "limit on messages that arrive (`limits.rate_per_second`, `rate_burst`; callers read it as `messages`)".to_owned()
        }
        other => format!("limit `{name}` ({other})"),
    };
    let counted = if per == "agent" { "the sender".to_owned() } else { format!("the sender and {per}") };
    let (cost, left) = (number("cost")?, number("left")?);
    let again = match number("again_in").and_then(|wait| u64::try_from(wait).ok()) {
        Some(wait) => format!("it would have passed {wait} s later{}", clock(at.saturating_add(wait))),
        None => "it can never pass: it costs more than the limit holds".to_owned(),
    };
    Some(format!(
        "stopped by the {of}: {rate}, counted for {counted}; it costs {cost}, {left} were left; {again}"
    ))
}

/// `, at …`, if the time can be formatted.
fn clock(unix: u64) -> String {
    let at = i64::try_from(unix).ok().and_then(|unix| time::OffsetDateTime::from_unix_timestamp(unix).ok());
    at.and_then(|at| at.format(&Rfc3339).ok()).map(|at| format!(", at {at}")).unwrap_or_default()
}
