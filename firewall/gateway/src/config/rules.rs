//! Conversion of the file as written to a consistent [`Config`].

use std::collections::{BTreeMap, HashSet};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use semgate_certs::SpiffeId;
use semgate_contexts::{Line, Prefix, Version};
use semgate_statement::root::MAX_ROOT_KEYS;
use semgate_statement::{CosignerVerifier, Lines, Quorum};

use super::choices::choices;
use super::raw::{File, FileAuthority, FileCrls, FileRoute};
use super::span::Span;
use super::*;
use semgate_policies::KeepAs;

/// Default admin address: loopback, and away from well-known ports.
const ADMIN: &str = "127.0.0.1:9470";

/// Default poll interval for a head while no event arrives. It bounds the delay of a revocation while the stream is down.
const POLL: Duration = Duration::from_secs(5);
/// Default interval between fetches of revocation lists, which are signed for hours or days.
const CRLS_EVERY: Duration = Duration::from_secs(300);

/// Maximum serving threads: more than any suitable machine has cores.
const MAX_WORKERS: u64 = 256;

pub(super) fn check(mut file: File, base: &Path) -> Result<Config, ConfigFault> {
    groups(&mut file)?;
    let limits = file.limits.check()?;
    let prefix = prefix(file.prefix.as_deref())?;
    let config = Config {
        source: None,
        state: base.join(&file.state),
        admin: admin(file.admin.as_deref().unwrap_or(ADMIN))?,
        policies: policies(&file, base)?,
        audit: AuditConfig {
            path: base.join(&file.audit),
            fsync: file.audit_fsync.unwrap_or(false),
            values: audit_values(&file)?,
        },
        workers: workers(file.workers.unwrap_or(0))?,
        tls: file.tls.as_ref().map(|tls| tls.under(base)),
        lock_secret: file.lock_secret.as_ref().map(|path| base.join(path)),
        trust_domains: trust_domains(&file, base)?,
        credential_issuers: super::issuer::issuers(&file.credential_issuer, base)?,
        authorities: file.authority.iter().map(|a| authority(a, base)).collect::<Result<_, _>>()?,
        routes: file.route.iter().map(|r| route(r, &prefix, base)).collect::<Result<_, _>>()?,
        floors: floors(&file)?,
        shadow: shadow(&file, base)?,
        prefix,
        limits,
    };
    agree(&config)?;
    Ok(config)
}

/// Fills in a group route from its members' routes; the file must not set these keys.
fn groups(file: &mut File) -> Result<(), ConfigFault> {
    let places: Vec<_> = file
        .route
        .iter()
        .map(|route| {
            (
                route.name.clone(),
                route.binding.clone(),
                route.group.is_some(),
                route.receiver.clone(),
                route.upstream.clone(),
            )
        })
        .collect();
    for route in file.route.iter_mut().filter(|route| route.group.is_some()) {
        let key = |name: &str| format!("route `{}`: {name}", route.name);
        if !route.receiver.is_empty() || !route.upstream.is_empty() {
            return Err(ConfigFault::value(key("group"), "instead of `receiver` and `upstream`"));
        }
        if route.members.iter().flatten().next().is_none() {
            return Err(ConfigFault::value(key("members"), "names of 1 to 64 routes, each once"));
        }
        for (n, member) in route.members.iter().flatten().enumerate() {
            let found =
                places.iter().find(|(name, binding, group, ..)| name == member && binding == "l8" && !group);
            let Some((.., receiver, upstream)) = found else {
                return Err(ConfigFault::value(
                    key("members"),
                    "names of routes of the binding `l8` that are no groups",
                ));
            };
            if n == 0 {
                (route.receiver, route.upstream) = (receiver.clone(), upstream.clone());
            }
        }
    }
    Ok(())
}

fn admin(text: &str) -> Result<SocketAddr, ConfigFault> {
    let address: SocketAddr = text
        .parse()
        .map_err(|_| ConfigFault::value("admin", "an address with a port, such as `127.0.0.1:9470`"))?;
    if address.ip().is_loopback() {
        Ok(address)
    } else {
        Err(ConfigFault::PlainText { key: "admin".to_owned() })
    }
}

fn workers(written: u64) -> Result<usize, ConfigFault> {
    if written > MAX_WORKERS {
        return Err(ConfigFault::value("workers", "at most 256"));
    }
    match usize::try_from(written) {
        Ok(0) | Err(_) => Ok(std::thread::available_parallelism().map_or(1, std::num::NonZero::get)),
        Ok(n) => Ok(n),
    }
}

fn prefix(written: Option<&str>) -> Result<Prefix, ConfigFault> {
    written.map_or_else(
        || Ok(Prefix::default()),
        |text| {
            Prefix::parse(text)
                .map_err(|fault| ConfigFault::value("prefix", format!("a urn prefix: {fault}")))
        },
    )
}

fn trust_domains(file: &File, base: &Path) -> Result<Vec<TrustDomain>, ConfigFault> {
    let mut seen = HashSet::new();
    let mut domains = Vec::new();
    for domain in &file.trust_domain {
        if semgate_certs::TrustDomain::parse(&domain.name).is_err() {
            return Err(ConfigFault::value(
                "trust_domain.name",
                "a spiffe trust domain, such as `semgate.test`",
            ));
        }
        once(&mut seen, "trust_domain.name", &domain.name)?;
        let crls = domain.crls.as_ref().map(|crls| crl_source(file, crls)).transpose()?;
        domains.push(TrustDomain { name: domain.name.clone(), roots: base.join(&domain.roots), crls });
    }
    Ok(domains)
}

/// Maximum issuers whose lists are kept.
const MAX_CRL_SETS: usize = 16;

fn crl_source(file: &File, crls: &FileCrls) -> Result<CrlSource, ConfigFault> {
    if !file.authority.iter().any(|authority| authority.name == crls.authority) {
        return Err(ConfigFault::value("trust_domain.crls.authority", "the name of an `[[authority]]`"));
    }
    if crls.shards == 0 || crls.shards > semgate_certs::MAX_SHARDS {
        return Err(ConfigFault::value("trust_domain.crls.shards", "at least 1 and at most 1024"));
    }
    let sets = crls.sets.clone().unwrap_or_else(|| vec![String::new()]);
    let plain = |set: &String| {
        let (first, mut all) = (set.bytes().next(), set.bytes());
        set.is_empty()
            || first.is_some_and(|b| b.is_ascii_lowercase())
                && set.len() <= 64
                && all.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    let distinct = sets.iter().collect::<HashSet<_>>().len() == sets.len();
    if sets.is_empty() || sets.len() > MAX_CRL_SETS || !distinct || !sets.iter().all(plain) {
        let must = "1 to 16 names of at most 64 of `a-z`, `0-9` and `-`, each once, the first of each a letter; `\"\"` is none";
        return Err(ConfigFault::value("trust_domain.crls.sets", must));
    }
    let every = within("trust_domain.crls.every", crls.every, CRLS_EVERY, 1, Duration::from_secs(86_400))?;
    Ok(CrlSource { authority: crls.authority.clone(), shards: crls.shards, sets, every })
}

fn authority(file: &FileAuthority, base: &Path) -> Result<AuthorityConfig, ConfigFault> {
    let key = |name: &str| format!("authority.{name}");
    let named = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    let first = file.name.bytes().next();
    if !first.is_some_and(|b| b.is_ascii_alphanumeric())
        || file.name.len() > 128
        || !file.name.bytes().all(named)
    {
        return Err(ConfigFault::value(key("name"), "letters, digits, hyphens, dots"));
    }
    let url = Upstream::parse(&file.url, base)
        .filter(|url| (url.tls || url.local()) && url.path == "/")
        .ok_or_else(|| {
            ConfigFault::value(key("url"), "`https://host:port` without a path, or `http://` on this machine")
        })?;
    let witness_quorum = quorum(file)?;
    if file.origin.is_empty() || file.origin.bytes().any(|b| !b.is_ascii_graphic() || b == b'+') {
        return Err(ConfigFault::value(key("origin"), "the origin line of the log"));
    }
    if !file.log_key.starts_with(&format!("{}+", file.origin)) {
        return Err(ConfigFault::value(key("log_key"), "the verifier key of `origin`"));
    }
    if file.lines.is_empty() {
        return Err(ConfigFault::value(key("lines"), "at least one line, or `*`"));
    }
    if Lines::parse(&file.lines).is_err() {
        return Err(ConfigFault::value(key("lines"), "lines, such as `payment`, `acme.*`, or `*`"));
    }
    let root_threshold = file.root_threshold.unwrap_or(1);
    if root_threshold == 0 || root_threshold > MAX_ROOT_KEYS as u64 {
        return Err(ConfigFault::value(key("root_threshold"), "at least 1 and at most 16"));
    }
    Ok(AuthorityConfig {
        name: file.name.clone(),
        url,
        roots: base.join(&file.roots),
        root_threshold,
        tls_roots: base.join(file.tls_roots.as_ref().unwrap_or(&file.roots)),
        present_certificate: file.present_certificate.unwrap_or(false),
        origin: file.origin.clone(),
        log_key: file.log_key.clone(),
        lines: file.lines.clone(),
        witnesses: file.witnesses.clone(),
        witness_quorum,
        recognised_by: file.recognised_by.clone(),
        distrusted: file.distrusted.unwrap_or(false),
        max_status_age: within(
            &key("max_status_age"),
            file.max_status_age,
            MAX_STATUS_AGE,
            1,
            LONGEST_STATUS_AGE,
        )?,
        poll: within(&key("poll"), file.poll, POLL, 1, Duration::from_secs(3600))?,
    })
}

/// Number of required witnesses; defaults to all.
fn quorum(file: &FileAuthority) -> Result<usize, ConfigFault> {
    let wrong = |what: &str| {
        ConfigFault::value(
            format!("authority.{what}"),
            "verifier keys of witnesses, each once, and at most as many demanded",
        )
    };
    let keys = file.witnesses.iter().map(|key| CosignerVerifier::parse(key)).collect::<Result<Vec<_>, _>>();
    let keys = keys.map_err(|_| wrong("witnesses"))?;
    let need =
        file.witness_quorum.map_or(Ok(keys.len()), usize::try_from).map_err(|_| wrong("witness_quorum"))?;
    Quorum::new(keys, need).map(|_| need).map_err(|_| wrong("witness_quorum"))
}

fn within(
    key: &str,
    written: Option<Span>,
    default: Duration,
    least: u64,
    most: Duration,
) -> Result<Duration, ConfigFault> {
    let value = written.map_or(default, |Span(value)| value);
    if value < Duration::from_secs(least) || value > most {
        let most = Span(most);
        return Err(ConfigFault::value(key, format!("between {least}s and {most}")));
    }
    Ok(value)
}

fn route(file: &FileRoute, prefix: &Prefix, base: &Path) -> Result<RouteConfig, ConfigFault> {
    let named = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    if file.name.is_empty() || file.name.len() > 64 || !file.name.bytes().all(named) {
        return Err(ConfigFault::value("route.name", "1 to 64 letters, digits, hyphens, dots"));
    }
    let key = |name: &str| format!("route `{}`: {name}", file.name);
    let agent = |name: &str, id: &str| match SpiffeId::parse(id) {
        Ok(_) => Ok(id.to_owned()),
        Err(_) => Err(ConfigFault::value(
            key(name),
            "a spiffe id, such as `spiffe://semgate.test/agent/retailer-7`",
        )),
    };
    let listen = Listen::parse(&file.listen, base)
        .ok_or_else(|| ConfigFault::value(key("listen"), "an address with a port, or `unix:/path`"))?;
    let protocol = match file.binding.as_str() {
        "l8" => Protocol::L8,
        "a2a" => Protocol::A2a,
        "mcp" => Protocol::Mcp,
        _ => return Err(ConfigFault::value(key("binding"), "`l8`, `a2a` or `mcp`")),
    };
    let upstream = Upstream::parse(&file.upstream, base).ok_or_else(|| {
        ConfigFault::value(
            key("upstream"),
            "`https://host:port/path`, `http://` on loopback, or `unix:/path`",
        )
    })?;
    let plain_sender = file.plain_sender.as_deref().map(|id| agent("plain_sender", id)).transpose()?;
    if plain_sender.is_some() && !listen.local() {
        return Err(ConfigFault::PlainText { key: key("listen") });
    }
    if !upstream.tls && !upstream.local() {
        return Err(ConfigFault::PlainText { key: key("upstream") });
    }
    let public_url =
        file.public_url.as_deref().map(|url| public_url(&key("public_url"), url, base)).transpose()?;
    if protocol == Protocol::A2a && public_url.is_none() && !names_a_host(&listen) {
        return Err(ConfigFault::Missing {
            key: key("public_url"),
            needed: "the agent card states it".to_owned(),
        });
    }
    if file.contexts.is_empty() {
        return Err(ConfigFault::value(key("contexts"), "at least one line, or `*`"));
    }
    let scope = |text: &String| {
        ContextScope::parse(text).ok_or_else(|| {
            ConfigFault::value(
                key("contexts"),
                "lines, such as `payment`, `payment:v2`, `payment:v1.1`, or `*`",
            )
        })
    };
    Ok(RouteConfig {
        name: file.name.clone(),
        listen,
        protocol,
        receiver: agent("receiver", &file.receiver)?,
        upstream,
        upstream_http2: file.upstream_http2.unwrap_or(false),
        contexts: file.contexts.iter().map(scope).collect::<Result<_, _>>()?,
        plain_sender,
        public_url,
        card_from: file
            .card_from
            .as_deref()
            .map(|url| card_from(&key("card_from"), url, base))
            .transpose()?,
        choices: choices(file, protocol, prefix, base)?,
    })
}

/// Returns true if the listener has an address for the card. `0.0.0.0` and a Unix socket have none.
fn names_a_host(listen: &Listen) -> bool {
    matches!(listen, Listen::Tcp(address) if !address.ip().is_unspecified())
}

fn card_from(key: &str, url: &str, base: &Path) -> Result<Upstream, ConfigFault> {
    let parsed = Upstream::parse(url, base).ok_or_else(|| {
        ConfigFault::value(key, "`https://host:port/path`, `http://` on loopback, or `unix:/path`")
    })?;
    if !parsed.tls && !parsed.local() {
        return Err(ConfigFault::PlainText { key: key.to_owned() });
    }
    Ok(parsed)
}

pub(super) fn public_url(key: &str, url: &str, base: &Path) -> Result<String, ConfigFault> {
    Upstream::parse(url, base)
        .filter(|parsed| matches!(parsed.place, Place::Tcp(..)) && (parsed.tls || parsed.local()))
        .map(|_| url.to_owned())
        .ok_or_else(|| ConfigFault::value(key, "a url without query, https unless on loopback"))
}

fn floors(file: &File) -> Result<Vec<(Line, Version)>, ConfigFault> {
    let mut floors = Vec::new();
    for (line, version) in &file.floors {
        match (Line::parse(line), Version::parse(version)) {
            (Ok(line), Ok(version)) => floors.push((line, version)),
            _ => {
                return Err(ConfigFault::value(
                    "floors",
                    "lines with versions, such as `payment = \"v1.1\"`",
                ));
            }
        }
    }
    Ok(floors)
}

/// Selects a directory or a bundle, never both: a directory next to a required bundle would be unsigned.
fn policies(file: &File, base: &Path) -> Result<PolicyPlace, ConfigFault> {
    let bundle = match (&file.policies, &file.policy_bundle) {
        (Some(path), None) => return Ok(PolicyPlace::Directory(base.join(path))),
        (None, Some(bundle)) => bundle,
        (Some(_), Some(_)) => return Err(ConfigFault::value("policy_bundle", "in place of `policies`")),
        (None, None) => {
            return Err(ConfigFault::Missing {
                key: "policies".to_owned(),
                needed: "without policies nothing may pass".to_owned(),
            });
        }
    };
    let signer = |id: &String| SpiffeId::parse(id).is_ok();
    let once = bundle.signers.iter().collect::<HashSet<_>>().len() == bundle.signers.len();
    if bundle.signers.is_empty() || !once || !bundle.signers.iter().all(signer) {
        return Err(ConfigFault::value("policy_bundle.signers", "spiffe ids, at least one, each once"));
    }
    Ok(PolicyPlace::Bundle(BundleConfig {
        file: base.join(&bundle.file),
        roots: base.join(&bundle.roots),
        signers: bundle.signers.clone(),
        require_analysed: bundle.require_analysed.unwrap_or(false),
    }))
}

/// Maximum sampling interval of the shadow policies. A rarer sample tells nothing.
const MAX_ONE_IN: u64 = 1_000_000;

/// Policy inputs kept in records, by the members' names in policies: `payment::transfer.amount`.
fn audit_values(file: &File) -> Result<Option<BTreeMap<String, KeepAs>>, ConfigFault> {
    let Some(values) = &file.audit_values else { return Ok(None) };
    let mut all = BTreeMap::new();
    for (member, keep) in values {
        let key = || format!("audit_values.{member}");
        let named = member.rsplit_once('.').is_some_and(|(of, name)| of.contains("::") && !name.is_empty());
        if !named {
            return Err(ConfigFault::value(
                key(),
                "a member as policies name it, such as `payment::transfer.amount`",
            ));
        }
        let keep = KeepAs::parse(keep);
        let keep = keep.ok_or_else(|| ConfigFault::value(key(), "`values`, `digests` or `nothing`"))?;
        all.insert(member.clone(), keep);
    }
    Ok(Some(all))
}

fn shadow(file: &File, base: &Path) -> Result<Option<ShadowConfig>, ConfigFault> {
    let Some(shadow) = &file.shadow else { return Ok(None) };
    let one_in = shadow.one_in.unwrap_or(1);
    if !(1..=MAX_ONE_IN).contains(&one_in) {
        return Err(ConfigFault::value("shadow.one_in", "between 1 and 1000000"));
    }
    Ok(Some(ShadowConfig { policies: base.join(&shadow.policies), one_in }))
}

pub(super) fn once<'a>(seen: &mut HashSet<&'a str>, key: &str, what: &'a str) -> Result<(), ConfigFault> {
    if seen.insert(what) {
        return Ok(());
    }
    Err(ConfigFault::Twice { key: key.to_owned(), what: what.to_owned() })
}

/// Allows one step only: the recognising authority must count by itself.
fn recognised(authority: &AuthorityConfig, all: &[AuthorityConfig]) -> Result<(), ConfigFault> {
    let Some(by) = &authority.recognised_by else { return Ok(()) };
    match all.iter().find(|other| other.name == *by) {
        Some(other) if other.recognised_by.is_none() => Ok(()),
        _ => Err(ConfigFault::value(
            "authority.recognised_by",
            "the name of another authority, which is recognised by nobody itself",
        )),
    }
}

/// Checks rules across tables.
fn agree(config: &Config) -> Result<(), ConfigFault> {
    let missing = |key: &str, needed: &str| {
        Err(ConfigFault::Missing { key: key.to_owned(), needed: needed.to_owned() })
    };
    if config.routes.is_empty() {
        return missing("route", "there is nothing to serve");
    }
    if config.authorities.is_empty() {
        return missing("authority", "no context could ever be allowed");
    }
    let of_agents = |route: &RouteConfig| route.choices.push.as_ref().is_some_and(|push| !push.plain);
    let tls_listener = config.routes.iter().any(|route| route.plain_sender.is_none() || of_agents(route));
    let tls_upstream = config.routes.iter().any(|route| route.upstream.tls);
    if config.tls.is_none() && (tls_listener || tls_upstream) {
        return missing("tls", "listeners and https upstreams need the gateway's own certificate");
    }
    let handshakes = config.routes.iter().any(|route| route.choices.handshake.is_some());
    if config.trust_domains.is_empty() && (tls_listener || tls_upstream || handshakes) {
        return missing("trust_domain", "no certificate could ever be verified");
    }
    let mut names = HashSet::new();
    let mut lines = HashSet::new();
    for authority in &config.authorities {
        once(&mut names, "authority.name", &authority.name)?;
        for line in &authority.lines {
            once(&mut lines, "authority.lines", line)?;
        }
    }
    if lines.contains("*") && config.authorities.len() > 1 {
        return Err(ConfigFault::value(
            "authority.lines",
            "without `*` where there is more than one authority",
        ));
    }
    for authority in &config.authorities {
        recognised(authority, &config.authorities)?;
    }
    let mut names = HashSet::new();
    let mut places: Vec<&Listen> = Vec::new();
    for route in &config.routes {
        once(&mut names, "route.name", &route.name)?;
        for place in
            std::iter::once(&route.listen).chain(route.choices.push.as_ref().map(|push| &push.listen))
        {
            let shared = !matches!(place, Listen::Tcp(address) if address.port() == 0);
            if shared && places.contains(&place) {
                return Err(ConfigFault::Twice { key: "route.listen".to_owned(), what: place.to_string() });
            }
            places.push(place);
        }
    }
    super::carries::carries(config)
}
