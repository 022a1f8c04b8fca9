//! Settings that fit each by itself and of which together nothing could ever come: they stop the start, since whoever wrote them relies on them.

use semgate_inspect::Undefined;
use semgate_message::a2a::Version;
use semgate_statement::Lines;

use super::{Config, ConfigFault, ContextScope, Protocol, RouteConfig, Transport};

/// # Errors
/// A version of A2A that no transport of the route carries, or the other way round; what needs a lock where nobody could get one; contexts
/// that no authority of the file has.
pub(super) fn carries(config: &Config) -> Result<(), ConfigFault> {
    let lines = config.authorities.iter().flat_map(|authority| &authority.lines).collect::<Vec<_>>();
    let lines = Lines::parse(&lines).map_err(|_| ConfigFault::value("authority.lines", "lines"))?;
    for route in &config.routes {
        versions(route)?;
        if route.choices.handshake.is_none() && config.lock_secret.is_none() {
            locks(route)?;
        }
        contexts(route, &lines)?;
    }
    Ok(())
}

/// 0.3 is carried over JSON-RPC only, and the other transports are of 1.0.
fn versions(route: &RouteConfig) -> Result<(), ConfigFault> {
    let (versions, transports) = (&route.choices.versions, &route.choices.transports);
    if route.protocol != Protocol::A2a {
        return Ok(());
    }
    if versions.contains(&Version::V03) && !transports.contains(&Transport::JsonRpc) {
        return Err(fault(
            route,
            "versions",
            "without `0.3` where `transports` is without `jsonrpc`: 0.3 is carried over no other",
        ));
    }
    let other = transports.iter().find(|transport| **transport != Transport::JsonRpc);
    match other.filter(|_| !versions.contains(&Version::V10)) {
        None => Ok(()),
        Some(other) => {
            let must = format!(
                "without `{}` where `versions` is without `1.0`: no other version is carried over it",
                other.as_str()
            );
            Err(fault(route, "transports", must))
        }
    }
}

/// A lock comes of a handshake that the route answers, here or, under the same secret, in another gateway of the fleet.
fn locks(route: &RouteConfig) -> Result<(), ConfigFault> {
    let asks = if route.choices.require_lock {
        "`require_lock`"
    } else if route.choices.undefined == Undefined::Disambiguate {
        "`undefined`"
    } else {
        return Ok(());
    };
    Err(ConfigFault::Missing {
        key: format!("route `{}`: handshake", route.name),
        needed: format!(
            "{asks} is about messages with a lock, and without it, or a `lock_secret` that other gateways share, nobody could ever have one"
        ),
    })
}

fn contexts(route: &RouteConfig, lines: &Lines) -> Result<(), ConfigFault> {
    let held = |scope: &ContextScope| match scope {
        ContextScope::Any => true,
        ContextScope::Line(line) | ContextScope::Major(line, _) | ContextScope::Exact(line, _) => {
            lines.holds(line).is_some()
        }
    };
    if route.contexts.iter().any(held) {
        return Ok(());
    }
    Err(fault(
        route,
        "contexts",
        "of a line that an `[[authority]]` has: of these none could ever be published",
    ))
}

fn fault(route: &RouteConfig, name: &str, must: impl Into<String>) -> ConfigFault {
    ConfigFault::value(format!("route `{}`: {name}", route.name), must)
}

#[cfg(test)]
#[path = "carries_tests.rs"]
mod tests;
