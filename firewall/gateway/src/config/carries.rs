//! Checks for settings that are valid alone but can never work together. They stop the start, since the operator relies on
//! them.

use semgate_inspect::Undefined;
use semgate_protocol::a2a::Version;
use semgate_statement::Lines;

use super::{Config, ConfigFault, ContextScope, Protocol, RouteConfig, Transport};

/// # Errors
/// Refuses an A2A version that no transport of the route supports, and the reverse. Refuses a demand for locks that nobody
/// can obtain, and contexts of no configured authority.
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

/// Checks A2A versions: 0.3 is supported over JSON-RPC only, and the other transports need 1.0.
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

/// Checks for a source of locks. A lock needs a handshake on this route, or in a gateway of the fleet with the same secret.
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
