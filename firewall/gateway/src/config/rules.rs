//! Rules across several settings. A setting that can never work stops the start, since the operator relies on it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use semgate_contexts::ContextUrn;
use semgate_inspect::{LineScope, Undefined};
use semgate_protocol::a2a::Version;
use semgate_statement::{CosignerVerifier, Lines, Quorum};

use super::route::{CardChoice, Part, RouteConfig, Transport};
use super::{AuthorityConfig, Config, ConfigFault, HandshakeChoice, Listen};

/// Fills in what depends on several settings, and makes paths relative to `base`.
///
/// # Errors
/// Refuses default contexts that are no contexts under the prefix, or that are repeated.
pub(super) fn complete(config: &mut Config, base: &Path) -> Result<(), ConfigFault> {
    for authority in &mut config.authorities {
        if authority.tls_roots == PathBuf::new() {
            authority.tls_roots.clone_from(&authority.roots);
        }
        if authority.witness_quorum == AuthorityConfig::every_witness() {
            authority.witness_quorum = authority.witnesses.len();
        }
        authority.url.iter_mut().chain(&mut authority.urls).for_each(|url| url.rebase(base));
    }
    for route in &mut config.routes {
        let (one, several) = (&route.agent.default_context, &route.mcp.default_contexts);
        if one.is_some() && !several.is_empty() {
            return Err(fault(route, "default_contexts", "left out if `default_context` is set"));
        }
        let name = if one.is_some() { "default_context" } else { "default_contexts" };
        let mut urns = Vec::new();
        for urn in one.iter().chain(several) {
            match ContextUrn::parse(urn, &config.prefix) {
                Ok(urn) if !urns.contains(&urn) => urns.push(urn),
                _ => {
                    let must = "a context, such as `urn:contexts:payment:v1.1`, each once";
                    return Err(fault(route, name, must));
                }
            }
        }
        route.default_contexts = urns;
        route.listen.rebase(base);
        route.upstream.rebase(base);
        route.a2a.card_from.iter_mut().for_each(|from| from.rebase(base));
        route.a2a.push.iter_mut().for_each(|push| push.rebase(base));
    }
    config.traces.iter_mut().for_each(|traces| traces.complete(base));
    for path in paths(config) {
        *path = base.join(&*path);
    }
    Ok(())
}

/// Every path of a file or directory.
fn paths(config: &mut Config) -> Vec<&mut PathBuf> {
    let mut paths = vec![&mut config.state, &mut config.audit];
    paths.extend(config.policies.iter_mut().chain(&mut config.lock_secret).chain(&mut config.audit_ocsf));
    paths.extend(config.tls.iter_mut().flat_map(|tls| [&mut tls.certificate, &mut tls.key]));
    paths.extend(config.policy_bundle.iter_mut().flat_map(|bundle| [&mut bundle.file, &mut bundle.roots]));
    paths.extend(config.approvals.iter_mut().flat_map(super::ApprovalsConfig::paths));
    paths.extend(config.scan.iter_mut().flat_map(super::ScanConfig::paths));
    paths.extend(config.shadow.iter_mut().map(|shadow| &mut shadow.policies));
    paths.extend(config.trust_domains.iter_mut().map(|domain| &mut domain.roots));
    paths.extend(config.credential_issuers.iter_mut().map(|issuer| &mut issuer.keys));
    paths.extend(config.authorities.iter_mut().flat_map(|a| [&mut a.roots, &mut a.tls_roots]));
    paths.extend(config.traces.iter_mut().flat_map(|t| t.headers.iter_mut().chain(&mut t.tls_roots)));
    for route in &mut config.routes {
        paths.extend(route.a2a.card_keys.iter_mut().chain(&mut route.ldp.identity_card));
        paths.extend(route.ldp.ldp_secrets.iter_mut().map(|secret| &mut secret.file));
        paths.extend(route.iac.signing_key.iter_mut());
        paths.extend(route.iac.dictionaries.iter_mut().map(|dictionary| &mut dictionary.file));
        paths.extend(route.agent.handshake.iter_mut().flat_map(|own| [&mut own.certificate, &mut own.key]));
    }
    paths
}

/// # Errors
/// Refuses settings that are valid alone and not together.
pub(super) fn check(config: &Config) -> Result<(), ConfigFault> {
    whole(config)?;
    authorities(config)?;
    let lines = config.authorities.iter().flat_map(|authority| &authority.lines).collect::<Vec<_>>();
    let lines = Lines::parse(&lines).map_err(|_| ConfigFault::value("authority.lines", "lines"))?;
    for route in &config.routes {
        addresses(route)?;
        super::iac::check(route)?;
        listener(route)?;
        agent(route)?;
        people(config, route)?;
        super::ldp::check(route)?;
        untyped(route)?;
        versions(route)?;
        if route.agent.handshake.is_none() && config.lock_secret.is_none() {
            locks(route)?;
        }
        embeddings(route)?;
        contexts(route, &lines)?;
    }
    listeners(config)
}

/// Checks the settings outside of lists, and that every certificate can be verified.
fn whole(config: &Config) -> Result<(), ConfigFault> {
    config.admin.check(config)?;
    config.approvals.as_ref().map_or(Ok(()), |approvals| approvals.check(config))?;
    if config.audit_ocsf.as_ref() == Some(&config.audit) {
        return Err(ConfigFault::value("audit_ocsf", "another file than `audit`"));
    }
    config.traces.as_ref().map_or(Ok(()), super::TracesConfig::check)?;
    config.scan.as_ref().map_or(Ok(()), super::ScanConfig::check)?;
    match (&config.policies, &config.policy_bundle) {
        // a directory next to a required bundle would be unsigned
        (Some(_), Some(_)) => return Err(ConfigFault::value("policy_bundle", "in place of `policies`")),
        (None, None) => return Err(ConfigFault::missing("policies", "without policies nothing may pass")),
        _ => {}
    }
    for member in config.audit_values.iter().flat_map(std::collections::BTreeMap::keys) {
        let named = member.rsplit_once('.').is_some_and(|(of, name)| of.contains("::") && !name.is_empty());
        if !named {
            let must = "a member as policies name it, such as `payment::transfer.amount`";
            return Err(ConfigFault::value(format!("audit_values.{member}"), must));
        }
    }
    if config.routes.is_empty() {
        return Err(ConfigFault::missing("route", "there is nothing to serve"));
    }
    deny(config.authorities.is_empty(), || {
        ConfigFault::missing("authority", "without it no context is allowed")
    })?;
    let of_agents = |route: &RouteConfig| route.a2a.push.as_ref().is_some_and(|push| !push.plain);
    let tls_listener = config.routes.iter().any(|route| route.takes_certificates() || of_agents(route));
    let tls_upstream = config.routes.iter().any(|route| route.upstream.tls);
    deny(config.tls.is_none() && (tls_listener || tls_upstream), || {
        ConfigFault::missing("tls", "listeners and https upstreams need the gateway's own certificate")
    })?;
    let handshakes = config.routes.iter().any(|route| route.agent.handshake.is_some());
    deny(config.trust_domains.is_empty() && (tls_listener || tls_upstream || handshakes), || {
        ConfigFault::missing("trust_domain", "without it no certificate can be verified")
    })?;
    Ok(())
}

/// Checks that each name, line and token has one owner.
fn authorities(config: &Config) -> Result<(), ConfigFault> {
    let all = &config.authorities;
    once("trust_domain.name", config.trust_domains.iter().map(|domain| &domain.name))?;
    once("credential_issuer.name", config.credential_issuers.iter().map(|issuer| &issuer.name))?;
    once("credential_issuer.issuer", config.credential_issuers.iter().map(|issuer| &issuer.issuer))?;
    once("authority.name", all.iter().map(|authority| &authority.name))?;
    once("authority.lines", all.iter().flat_map(|authority| &authority.lines))?;
    deny(
        all.len() > 1 && all.iter().any(|authority| authority.lines.iter().any(|line| line == "*")),
        || ConfigFault::value("authority.lines", "without `*` where there is more than one authority"),
    )?;
    for crls in config.trust_domains.iter().filter_map(|domain| domain.crls.as_ref()) {
        if !all.iter().any(|authority| authority.name == crls.authority) {
            return Err(ConfigFault::value("trust_domain.crls.authority", "the name of an `[[authority]]`"));
        }
    }
    for authority in all {
        match (&authority.url, authority.urls.is_empty()) {
            (None, true) => {
                return Err(ConfigFault::missing("authority.url", "its address, or `urls` for several"));
            }
            (Some(_), false) => return Err(ConfigFault::value("authority.urls", "in place of `url`")),
            _ => {}
        }
        if !authority.log_key.starts_with(&format!("{}+", authority.origin)) {
            return Err(ConfigFault::value("authority.log_key", "the verifier key of `origin`"));
        }
        let keys = authority.witnesses.iter().filter_map(|key| CosignerVerifier::parse(key).ok());
        if Quorum::new(keys.collect(), authority.witness_quorum).is_err() {
            return Err(ConfigFault::value(
                "authority.witness_quorum",
                "distinct verifier keys of witnesses, and a quorum of at most their number",
            ));
        }
        // one step only: the recognising authority counts by itself
        let by = |by: &String| all.iter().any(|other| other.name == *by && other.recognised_by.is_none());
        if !authority.recognised_by.as_ref().is_none_or(by) {
            return Err(ConfigFault::value(
                "authority.recognised_by",
                "the name of another authority that has no `recognised_by` itself",
            ));
        }
    }
    Ok(())
}

fn once<'a>(key: &str, names: impl Iterator<Item = &'a String>) -> Result<(), ConfigFault> {
    let mut seen = HashSet::new();
    match names.into_iter().find(|name| !seen.insert(*name)) {
        Some(name) => Err(ConfigFault::twice(key, name)),
        None => Ok(()),
    }
}

/// Checks that no two listeners share a name or an address.
fn listeners(config: &Config) -> Result<(), ConfigFault> {
    once("route.name", config.routes.iter().map(|route| &route.name))?;
    let mut taken: Vec<&Listen> = Vec::new();
    for route in &config.routes {
        for listen in std::iter::once(&route.listen).chain(route.a2a.push.as_ref().map(|push| &push.listen)) {
            if !listen.takes_free_port() && taken.contains(&listen) {
                return Err(ConfigFault::twice("route.listen", listen));
            }
            taken.push(listen);
        }
    }
    Ok(())
}

/// Checks that only this machine is reached without TLS, and that the card has a URL.
fn addresses(route: &RouteConfig) -> Result<(), ConfigFault> {
    let plain = |name: &str| Err(ConfigFault::plain_text(key(route, name)));
    if route.plain_sender.is_some() && !route.listen.local() {
        return plain("listen");
    }
    let pinned = route.iac.upstream_certificate.is_some();
    if !route.upstream.tls && !route.upstream.local() && !pinned {
        return plain("upstream");
    }
    if route.a2a.card_from.as_ref().is_some_and(|from| !from.tls && !from.local()) {
        return plain("card_from");
    }
    if route.binding.protocol().traits().http.joins_paths
        && route.public_url.is_none()
        && !route.listen.names_a_host()
    {
        return Err(ConfigFault::missing(key(route, "public_url"), "the agent card states it"));
    }
    route.a2a.push.as_ref().map_or(Ok(()), |push| push.check(&route.name))
}

/// Checks that names and web origins stand where they are judged.
fn listener(route: &RouteConfig) -> Result<(), ConfigFault> {
    let plain = route.plain_sender.is_some();
    deny(!route.hosts.is_empty() && (!plain || matches!(route.listen, Listen::Unix(_))), || {
        fault(route, "hosts", "left out unless the listener is plain tcp: other listeners check no names")
    })?;
    deny(
        !route.origins.is_empty() && !plain && !route.binding.protocol().traits().http.checks_origin,
        || fault(route, "origins", "left out unless the listener is plain or the binding is `mcp`"),
    )?;
    Ok(())
}

/// Checks the options about the route's upstream agent.
fn agent(route: &RouteConfig) -> Result<(), ConfigFault> {
    deny(route.l8.websocket && route.agent.upstream_http2, || {
        fault(route, "websocket", "left out with `upstream_http2`")
    })?;
    deny(route.a2a.transports.contains(&Transport::Grpc) && !route.agent.upstream_http2, || {
        ConfigFault::missing(key(route, "upstream_http2"), "grpc needs http/2")
    })?;
    deny(route.mcp.authorization_servers.is_some() && !route.forward_authorization, || {
        fault(route, "authorization_servers", "left out unless `forward_authorization` is on")
    })?;
    match (route.a2a.card, &route.a2a.card_keys) {
        (CardChoice::Untouched, None) => {
            Err(ConfigFault::missing(key(route, "card_keys"), "an untouched card needs a known signature"))
        }
        (CardChoice::Rebuilt, Some(_)) => {
            Err(fault(route, "card_keys", "left out unless `card` is `untouched`"))
        }
        _ => Ok(()),
    }
}

/// Checks that there is a desk for requests to people.
fn people(config: &Config, route: &RouteConfig) -> Result<(), ConfigFault> {
    let here = route.binding.protocol().traits().answered_here;
    deny(here && config.approvals.is_none(), || {
        ConfigFault::missing("approvals", "a route of the binding `a2h` answers from it")
    })?;
    // there is nobody to forward a credential to
    let forwards = [
        ("forward_authorization", route.forward_authorization),
        ("api_key_header", route.api_key_header.is_some()),
    ];
    match forwards.into_iter().find(|(_, set)| *set && here) {
        Some((name, _)) => Err(fault(route, name, "left out: the gateway answers by itself")),
        None => Ok(()),
    }
}

/// Checks the concept of content without a name. Its context is known only to authorities.
fn untyped(route: &RouteConfig) -> Result<(), ConfigFault> {
    if route.speech.untyped.is_none() {
        return Ok(());
    }
    deny(route.agent.default_context.is_none(), || {
        ConfigFault::missing(key(route, "default_context"), "`untyped` names a concept or task of it")
    })?;
    deny(route.agent.admit.contains(&Part::Data), || {
        fault(route, "untyped", "left out if `admit` lists `data`: that content passes unread")
    })
}

/// Checks A2A versions: 0.3 is supported over JSON-RPC only, and the other transports need 1.0.
fn versions(route: &RouteConfig) -> Result<(), ConfigFault> {
    let (versions, transports) = (&route.a2a.versions, &route.a2a.transports);
    deny(versions.len() > 2 || versions.first() == versions.get(1), || {
        fault(route, "versions", "`1.0`, `0.3`, or both, each once")
    })?;
    deny(versions.contains(&Version::V03) && !transports.contains(&Transport::JsonRpc), || {
        fault(
            route,
            "versions",
            "without `0.3` unless `transports` lists `jsonrpc`: 0.3 needs that transport",
        )
    })?;
    let other = transports.iter().find(|transport| **transport != Transport::JsonRpc);
    match other.filter(|_| !versions.contains(&Version::V10)) {
        None => Ok(()),
        Some(other) => {
            let must = format!(
                "without `{}` unless `versions` lists `1.0`: only 1.0 uses that transport",
                other.as_str()
            );
            Err(fault(route, "transports", must))
        }
    }
}

/// Checks for a source of locks. A lock needs a handshake on this route, or in a gateway of the fleet with the same secret.
fn locks(route: &RouteConfig) -> Result<(), ConfigFault> {
    let asks = if route.agent.require_lock {
        "`require_lock`"
    } else if route.speech.undefined == Undefined::Disambiguate {
        "`undefined`"
    } else {
        return Ok(());
    };
    Err(ConfigFault::missing(
        key(route, "handshake"),
        format!(
            "{asks} needs locks, which come from a handshake here or from a gateway with the same `lock_secret`"
        ),
    ))
}

/// Checks that models are stated only for an agent that does not negotiate by itself: signed offers cannot be changed.
fn embeddings(route: &RouteConfig) -> Result<(), ConfigFault> {
    let both = |choice: &&HandshakeChoice| choice.agent && !choice.embeddings.is_empty();
    match route.agent.handshake.as_ref().filter(both) {
        Some(_) => Err(fault(
            route,
            "handshake",
            "without `embeddings` beside `agent`: the agent offers its own models",
        )),
        None => Ok(()),
    }
}

/// Checks that an authority can publish some context of the route.
fn contexts(route: &RouteConfig, lines: &Lines) -> Result<(), ConfigFault> {
    let held = |scope: &LineScope| match scope {
        LineScope::All => true,
        LineScope::Line(line) | LineScope::Major(line, _) | LineScope::Exact(line, _) => {
            lines.holds(line).is_some()
        }
    };
    if route.contexts.iter().any(held) {
        return Ok(());
    }
    Err(fault(
        route,
        "contexts",
        "of a line of an `[[authority]]`: no configured authority publishes one of these",
    ))
}

pub(super) fn deny(when: bool, fault: impl FnOnce() -> ConfigFault) -> Result<(), ConfigFault> {
    if when { Err(fault()) } else { Ok(()) }
}

pub(super) fn key(route: &RouteConfig, name: &str) -> String {
    format!("route `{}`: {name}", route.name)
}

pub(super) fn fault(route: &RouteConfig, name: &str, must: impl std::fmt::Display) -> ConfigFault {
    ConfigFault::value(key(route, name), must)
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
