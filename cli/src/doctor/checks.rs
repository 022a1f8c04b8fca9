//! The looks of `semgate doctor`, each with the checks of the part that it is about.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use semgate_certs::ChainLimits;
use semgate_gateway::config::{AuthorityConfig, Config, Endpoint, Listen, RouteConfig};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;
use tokio::net::TcpStream;

use super::Findings;
use crate::client::Client;
use crate::fault::Fault;
use crate::profile;
use crate::system::{now, read_chain, read_roots};

/// Time for one answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The largest answer read.
const MAX_BYTES: usize = 1 << 20;
/// The difference between two clocks beyond which heads may be refused as being of the future: half of what followers accept.
const CLOCK_GAP: u64 = semgate_statement::head::MAX_AHEAD / 2;

/// Looks at a gateway: its file, its certificates, its policies, its ports, its agents and its authorities.
pub async fn gateway(findings: &mut Findings, file: &Path) {
    let on = format!("gateway `{}`", file.display());
    let config = match crate::firewall::load(file) {
        Ok(config) => config,
        Err(fault) => return findings.fault(on, &fault),
    };
    findings.ok(&on, format_args!("{} route(s)", config.routes.len()));
    if let Some(tls) = &config.tls {
        certificate(findings, &tls.certificate);
    }
    start(findings, &config);
    let admin = config.admin;
    let runs = answers(&format!("http://{admin}/healthz")).await;
    if runs {
        match Client::plain().bounded(MAX_BYTES, PATIENCE).get(&format!("http://{admin}/readyz")).await {
            Ok(reply) if reply.status == 200 => findings.ok("gateway", "runs and is ready"),
            Ok(reply) => findings.fail(
                "gateway",
                format_args!("runs and is not ready: {}", String::from_utf8_lossy(&reply.body).trim()),
                "`/status` of its admin address shows what it waits for",
            ),
            Err(fault) => findings.fault("gateway", &fault),
        }
    } else {
        findings.warn(
            "gateway",
            format_args!("does not run: nobody answers at {admin}"),
            "start it with `semgate up` or `semgate firewall run`",
        );
    }
    for route in &config.routes {
        agent(findings, route).await;
        if let (false, Listen::Tcp(address)) = (runs, &route.listen) {
            port(findings, &route.name, *address);
        }
    }
    for authority in &config.authorities {
        reach(findings, authority).await;
    }
}

/// Everything that a start of the gateway would check.
fn start(findings: &mut Findings, config: &Config) {
    let checked = match semgate_gateway::check(config) {
        Ok(checked) => checked,
        Err(why) => return findings.fault("start", &crate::firewall::stopped("this would not start", &why)),
    };
    if checked.policies_wrong.is_empty() && checked.policies_waiting.is_empty() {
        findings.ok("policies", format_args!("good with the {} context(s) known", checked.contexts));
    }
    for why in &checked.policies_wrong {
        findings.fail(
            "policies",
            why,
            "nothing passes until this is mended: `semgate policy check` shows where",
        );
    }
    for why in checked.policies_waiting.iter().filter(|why| !checked.policies_wrong.contains(why)) {
        findings.warn(
            "policies",
            why,
            "nothing passes until the gateway has heard of these contexts from its authority",
        );
    }
    for urn in &checked.unserved {
        findings.fail(
            "contexts",
            format_args!("no authority serves `{urn}`, so its operations are refused"),
            "its authority publishes it with `publish_at_start` of `authority.toml`",
        );
    }
    let remarks = checked.policies_idle.iter().chain(&checked.floors).chain(&checked.shadow_faults);
    for why in remarks {
        findings.warn("policies", why, "it stops nothing: `semgate firewall check` shows it too");
    }
    for path in &checked.open_secrets {
        findings.warn(
            "secrets",
            format_args!("`{}` is readable by others", path.display()),
            "give it mode 0600",
        );
    }
}

/// Looks at the lifetime of a certificate.
fn certificate(findings: &mut Findings, file: &Path) {
    let on = format!("certificate `{}`", file.display());
    let validity = match read_chain(file) {
        Ok(chain) => chain.leaf_validity(&ChainLimits::default()),
        Err(fault) => return findings.fault(on, &fault),
    };
    let Some((from, until)) = validity else {
        return findings.fail(on, "its dates cannot be read", "issue it again with `semgate cert leaf`");
    };
    let (at, renew) =
        (now(), "issue it again: `semgate up` does so at its start, `semgate cert leaf` by hand");
    let days = until.saturating_sub(at) / 86_400;
    if until <= at {
        findings.fail(on, "has expired", renew);
    } else if from > at {
        findings.fail(on, "is not valid yet", "check the clock of this machine");
    } else if until - at < (until - from) / 3 {
        findings.warn(on, format_args!("expires in {days} day(s)"), renew);
    } else {
        findings.ok(on, format_args!("valid for {days} more day(s)"));
    }
}

async fn agent(findings: &mut Findings, route: &RouteConfig) {
    let on = format!("route `{}`", route.name);
    let Endpoint::Tcp(host, port) = &route.upstream.endpoint else { return };
    let connected = tokio::time::timeout(PATIENCE, TcpStream::connect((host.as_str(), *port))).await;
    match connected {
        Ok(Ok(_)) => findings.ok(on, format_args!("its agent answers at {}", route.upstream)),
        Ok(Err(why)) => findings.fail(
            on,
            format_args!("its agent at {}: {why}", route.upstream),
            "start the agent, or mend `upstream`",
        ),
        Err(_) => findings.fail(
            on,
            format_args!("its agent at {} does not answer", route.upstream),
            "check address and network",
        ),
    }
}

/// Checks that the port of a listener is free.
fn port(findings: &mut Findings, name: &str, address: SocketAddr) {
    let on = format!("route `{name}`");
    match TcpListener::bind(address) {
        Ok(_) => findings.ok(on, format_args!("{address} is free")),
        Err(why) => findings.fail(
            on,
            format_args!("cannot listen on {address}: {why}"),
            "end the other program, or change `listen`",
        ),
    }
}

/// Asks an authority for its head, and compares the clocks.
async fn reach(findings: &mut Findings, authority: &AuthorityConfig) {
    let on = format!("authority `{}`", authority.name);
    let url = authority.url.to_string();
    let client = match Client::new(&authority.tls_roots, None) {
        Ok(client) => client.bounded(MAX_BYTES, PATIENCE),
        Err(fault) => return findings.fault(on, &fault),
    };
    if url.starts_with("unix:") {
        return findings.ok(on, "not asked: it is behind a socket");
    }
    let reply = match client.get(&format!("{}/v1/feed/head", url.trim_end_matches('/'))).await {
        Ok(reply) if reply.status == 200 => reply,
        Ok(reply) => {
            let what = format!("answers {} for its head", reply.status);
            return findings.fail(on, what, "check that `url` is the address of an authority");
        }
        Err(fault) => return findings.fault(on, &fault),
    };
    findings.ok(&on, format_args!("answers at {url}"));
    let date = reply
        .header("date")
        .and_then(|date| OffsetDateTime::parse(&date.replace("GMT", "+0000"), &Rfc2822).ok());
    let Some(theirs) = date.and_then(|date| u64::try_from(date.unix_timestamp()).ok()) else { return };
    let gap = theirs.abs_diff(now());
    if gap > CLOCK_GAP {
        findings.fail(
            "clock",
            format_args!("{gap} s away from that of {on}"),
            "set the clock of this machine by NTP",
        );
    } else {
        findings.ok("clock", format_args!("within {gap} s of that of {on}"));
    }
}

async fn answers(url: &str) -> bool {
    Client::plain().bounded(MAX_BYTES, PATIENCE).get(url).await.is_ok()
}

/// Looks at an authority's file and state.
pub fn authority(findings: &mut Findings, file: &Path) {
    let on = format!("authority `{}`", file.display());
    let config = match crate::authority::load(file) {
        Ok(config) => config,
        Err(fault) => return findings.fault(on, &fault),
    };
    certificate(findings, &config.tls.certificate);
    if !config.state.join("log").exists() {
        return findings.warn(
            on,
            "was never started",
            "start it with `semgate up` or `semgate authority run`",
        );
    }
    match semgate_authority::status(&config) {
        Ok(status) if status.missing_documents > 0 => findings.fail(
            on,
            format_args!("{} document(s) are missing or damaged", status.missing_documents),
            "docs/how-to/run-an-authority.md describes how to restore them",
        ),
        Ok(status) => {
            findings.ok(on, format_args!("{} context(s), {} entries", status.contexts, status.size))
        }
        Err(why) => findings.fault(on, &crate::serving::stopped("state", &why)),
    }
}

/// Looks at the profile in use.
pub fn profile(findings: &mut Findings) {
    let usable = profile::known().and_then(|known| match known {
        Some(known) => read_roots(&known.roots).map(|_| Some(known.authority)),
        None => Ok::<_, Fault>(None),
    });
    match usable {
        Ok(Some(authority)) => findings.ok("profile", format_args!("commands ask {authority}")),
        Ok(None) => findings.ok("profile", "none: commands ask the authority of `./.semgate`"),
        Err(fault) => findings.fault("profile", &fault),
    }
}
