//! The looks of `semgate doctor`, each with the checks of the part that it is about.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use semgate_gateway::Asked;
use semgate_gateway::config::{AuthorityConfig, Config, Listen, Upstream};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;
use tokio::net::TcpStream;

use super::Findings;
use crate::client::Client;
use crate::fault::Fault;
use crate::profile;
use crate::system::{now, read_roots};

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
    start(findings, &config);
    let admin = &config.admin;
    let runs = TcpStream::connect(admin.listen).await.is_ok();
    if !runs {
        findings.warn(
            "gateway",
            format_args!("does not run: nobody answers at {admin}"),
            "start it with `semgate up` or `semgate firewall run`",
        );
    } else if admin.ids.is_empty() {
        ready(findings, admin.listen).await;
    }
    for route in &config.routes {
        if let (false, Listen::Tcp(address)) = (runs, &route.listen) {
            port(findings, &route.name, *address);
        }
    }
    for authority in &config.authorities {
        for url in authority.addresses() {
            clock(findings, authority, url).await;
        }
    }
    online(findings, config).await;
}

/// Everything that a start of the gateway would check, and its remarks.
fn start(findings: &mut Findings, config: &Config) {
    let checked = match semgate_gateway::check(config) {
        Ok(checked) => checked,
        Err(why) => return findings.fault("start", &crate::firewall::stopped("this would not start", &why)),
    };
    for one in checked.certificates.iter().filter(|one| !one.soon) {
        let on = format!("certificate `{}`", one.file.display());
        findings.ok(on, format_args!("`{}` ends in {} days", one.subject, one.days_left));
    }
    match crate::firewall::judge(&checked) {
        Ok(()) => findings.ok("policies", format_args!("{} would be live", checked.policies)),
        Err(fault) => findings.fault("policies", &fault),
    }
    for remark in crate::firewall::remarks(config, &checked) {
        findings.warn("gateway", remark, "docs/how-to/run-a-gateway.md describes what a gateway needs");
    }
}

/// Asks every authority and every agent once.
async fn online(findings: &mut Findings, config: Config) {
    let asked = tokio::task::spawn_blocking(move || semgate_gateway::check_online(&config)).await;
    let Ok(Ok(asked)) = asked else { return };
    for Asked { name, address, answer } in asked {
        match answer {
            Ok(what) => findings.ok(name, format_args!("{what} at {address}")),
            Err((cause, why)) => findings.fail(
                name,
                format_args!("{address}: {cause}: {why}"),
                "docs/how-to/run-a-gateway.md lists the causes",
            ),
        }
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

/// Compares the clock with that of an authority; says nothing of one that does not answer.
async fn clock(findings: &mut Findings, authority: &AuthorityConfig, url: &Upstream) {
    let on = format!("authority `{}`", authority.name);
    let Ok(client) = Client::new(&authority.tls_roots, None) else { return };
    let head = format!("{}/v1/feed/head", url.to_string().trim_end_matches('/'));
    let Ok(reply) = client.bounded(MAX_BYTES, PATIENCE).get(&head).await else { return };
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

/// Asks a running gateway whether it is ready.
async fn ready(findings: &mut Findings, admin: SocketAddr) {
    match Client::plain().bounded(MAX_BYTES, PATIENCE).get(&format!("http://{admin}/readyz")).await {
        Ok(reply) if reply.status == 200 => findings.ok("gateway", "runs and is ready"),
        Ok(reply) => findings.fail(
            "gateway",
            format_args!("runs and is not ready: {}", String::from_utf8_lossy(&reply.body).trim()),
            "`/status` of its admin address shows what it waits for",
        ),
        Err(fault) => findings.fault("gateway", &fault),
    }
}

/// Looks at an authority's file and state.
pub fn authority(findings: &mut Findings, file: &Path) {
    let on = format!("authority `{}`", file.display());
    let config = match crate::authority::load(file) {
        Ok(config) => config,
        Err(fault) => return findings.fault(on, &fault),
    };
    match semgate_authority::check(&config) {
        Ok(ending) => {
            ending.iter().for_each(|one| findings.warn(&on, one, "`semgate cert renew` issues it again"))
        }
        Err(why) => return findings.fault(on, &crate::serving::stopped("this would not start", &why)),
    }
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
