//! `semgate up`: authority, firewall and a sample agent on loopback, from files that also work alone with `authority run` and `firewall run`.

mod layout;
mod parts;
mod people;
mod ports;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use semgate_contexts::library;
use serde_json::json;

use crate::authority_client::answer;
use crate::client::Client;
use crate::fault::{Doing, Fault};
use crate::serving;
use crate::terminal::Progress;
use crate::up_directory::{
    AUDIT, AUTHORITY_TOML, FIREWALL_TOML, POLICIES, SampleAgent, UP_JSON, UpDirectory, UpFile, cert, key,
    write_up,
};

pub use layout::{
    GATEWAY, LOCK_SECRET, OPERATOR, SAMPLE_AGENT, certificates, lock_secret, own_addresses, write_once,
};
pub use ports::Ports;

/// Time for the parts to answer: a cold start on a busy machine takes a few seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Directory and ports; by default free ports.
#[derive(Debug, Clone, Args)]
pub struct UpArgs {
    /// The directory for all files; made if missing
    #[arg(long, default_value = "./.semgate")]
    pub dir: PathBuf,
    /// The authority's address (first start only)
    #[arg(long, value_name = "ADDRESS")]
    pub authority: Option<SocketAddr>,
    /// The authority's admin address (first start only)
    #[arg(long, value_name = "ADDRESS")]
    pub authority_admin: Option<SocketAddr>,
    /// The gateway's address for native L8 (first start only)
    #[arg(long, value_name = "ADDRESS")]
    pub l8: Option<SocketAddr>,
    /// The gateway's address for A2A (first start only)
    #[arg(long, value_name = "ADDRESS")]
    pub a2a: Option<SocketAddr>,
    /// Where agents ask people (first start only)
    #[arg(long, value_name = "ADDRESS")]
    pub a2h: Option<SocketAddr>,
    /// The gateway's address for LDP (first start only)
    #[arg(long, value_name = "ADDRESS")]
    pub ldp: Option<SocketAddr>,
    /// The gateway's address for IAC, over QUIC (first start only)
    #[arg(long, value_name = "ADDRESS")]
    pub iac: Option<SocketAddr>,
    /// The gateway's admin address (first start only)
    #[arg(long, value_name = "ADDRESS")]
    pub admin: Option<SocketAddr>,
    /// The gateway's address for people (first start only)
    #[arg(long, value_name = "ADDRESS")]
    pub people: Option<SocketAddr>,
    /// The console's address (first start only)
    #[arg(long, value_name = "ADDRESS")]
    pub console: Option<SocketAddr>,
    /// The sample agent's address (first start only)
    #[arg(long, value_name = "ADDRESS")]
    pub agent: Option<SocketAddr>,
}

impl UpArgs {
    /// In this directory, on free ports.
    pub fn in_dir(dir: &Path) -> Self {
        Self {
            dir: dir.to_path_buf(),
            authority: None,
            authority_admin: None,
            l8: None,
            a2a: None,
            a2h: None,
            ldp: None,
            iac: None,
            admin: None,
            people: None,
            console: None,
            agent: None,
        }
    }
}

/// Runs until SIGTERM.
///
/// # Errors
/// The fault that kept a part from starting, or stopped it.
pub async fn run(args: UpArgs, json: bool) -> Result<u8, Fault> {
    run_showing(args, json, &[]).await
}

/// Does the same, and also shows these lines to people.
///
/// # Errors
/// As [`run`].
pub async fn run_showing(args: UpArgs, json: bool, lines: &[String]) -> Result<u8, Fault> {
    let running = start(&args, &|what| tell!("{what}")).await?;
    let up = running.up_dir.up();
    if json {
        out!("{}", serde_json::to_string(up).doing("`up.json`")?);
    } else {
        show(up);
        lines.iter().for_each(|line| out!("{line}"));
    }
    tokio::select! {
        () = serving::end() => {}
        () = running.parts.any_ended() => {}
    }
    tell!("ending");
    running.stop().await.map(|()| 0)
}

fn show(up: &UpFile) {
    out!("authority   {}", up.authority_url);
    for (route, url) in &up.gateway {
        out!("firewall    {url} ({route})");
    }
    out!("admin       {}", up.admin_url);
    if let Some(url) = &up.people_url {
        out!("people      {url}");
    }
    if let Some(url) = &up.console_url {
        out!("console     {url}");
    }
    let Some(agent) = &up.sample_agent else { return };
    out!("agent       {} at {}", agent.id, agent.url);
    out!(
        r#"say something: semgate say supplyChain:v1.0 current_decision '{{"item_id":"beer","quantity":120}}'"#
    );
}

/// All parts, running.
pub struct Running {
    /// Where it is.
    pub up_dir: UpDirectory,
    parts: parts::Parts,
    _lock: std::fs::File,
}

impl Running {
    /// Ends the gateway first, then the authority, then the agent.
    ///
    /// # Errors
    /// The fault that stopped a part earlier.
    pub async fn stop(self) -> Result<(), Fault> {
        self.parts.stop().await
    }
}

/// Makes missing files, starts the parts, publishes the library, waits until everything answers, and writes `up.json`.
///
/// # Errors
/// The fault that kept a part from starting.
pub async fn start(args: &UpArgs, tell: &dyn Fn(&str)) -> Result<Running, Fault> {
    let lock = layout::lock(&args.dir)?;
    let old = args.dir.join(UP_JSON);
    if old.exists() {
        std::fs::remove_file(&old).doing(format_args!("removing `{}`", old.display()))?;
    }
    let layout = layout::prepare(args, tell)?;
    let mut parts = parts::Parts::default();
    tell("starting the authority");
    if let Some(agent) = layout.agent {
        parts.agent(agent, layout.signing_agent, &args.dir).await?;
    }
    let authority = parts.authority(&layout).await?;
    let authority_url = format!("https://{authority}");
    let operator = Client::new(
        &args.dir.join(&layout.roots),
        Some((&args.dir.join(cert(OPERATOR)), &args.dir.join(key(OPERATOR)))),
    )?;
    if layout.agent.is_some() {
        tell("publishing the library");
        let progress = Progress::of("publishing");
        publish_library(&operator, &authority_url, &args.dir).await?;
        drop(progress);
    }
    tell("starting the firewall");
    let progress = Progress::of("waiting until everything answers");
    let gateway = parts.gateway(&layout).await?;
    let mut up = up_file(&layout, authority_url, &gateway);
    until_ready(&operator, &up.admin_url).await?;
    if !layout.humans.is_empty() {
        let console = parts.console(&layout).await?;
        up.console_url = Some(console.url);
        if let Some(link) = console.link {
            tell(&format!("to open the console, log in once within five minutes: {link}"));
        }
    }
    drop(progress);
    write_up(&args.dir, &up)?;
    let up_dir = UpDirectory::open(&args.dir)?;
    Ok(Running { up_dir, parts, _lock: lock })
}

/// Publishes every shipped context and raises the floor of `payment` to v1.1 at least; a repetition does nothing.
///
/// # Errors
/// The refusal of the authority. A published version never changes: if it has another document under a URN of the library, the directory
/// was made with another library.
async fn publish_library(operator: &Client, authority: &str, dir: &Path) -> Result<(), Fault> {
    for (name, document) in library::all() {
        let url = format!("{authority}/v1/contexts");
        let reply = operator.post(&url, "application/json", document.to_vec()).await?;
        if reply.status == 409 && reply.code().as_deref() == Some("urn_taken") {
            let dir = dir.display();
            return Err(Fault::new(format_args!(
                "`{dir}` was made by another version of semgate: its authority has another document for `{name}` than this version ships"
            ))
            .hint("begin in a new directory with `--dir`, or continue with the version that made this one: a published document never changes"));
        }
        answer(&reply).map_err(|fault| fault.within(format_args!("publishing `{name}`")))?;
    }
    let floor = json!({"line": "payment", "min": "v1.1", "reason": "v1.0 could be replayed"}).to_string();
    let reply =
        operator.post(&format!("{authority}/v1/floors"), "application/json", floor.into_bytes()).await?;
    if reply.status == 409 && reply.code().as_deref() == Some("floor_lowered") {
        // it was raised further since
        return Ok(());
    }
    answer(&reply).map_err(|fault| fault.within("the floor of `payment`")).map(|_| ())
}

async fn until_ready(client: &Client, admin: &str) -> Result<(), Fault> {
    let began = Instant::now();
    let mut last = String::new();
    while began.elapsed() < PATIENCE {
        match client.get(&format!("{admin}/readyz")).await {
            Ok(reply) if reply.status == 200 => return Ok(()),
            Ok(reply) => last = String::from_utf8_lossy(&reply.body).into_owned(),
            Err(fault) => last = fault.what().to_owned(),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Err(Fault::new(format_args!("the firewall is not ready after {} s: {last}", PATIENCE.as_secs())).hint(
        "`/readyz` and `/status` of its admin address show what it waits for; docs/how-to/run-a-gateway.md",
    ))
}

fn up_file(layout: &layout::Layout, authority_url: String, gateway: &semgate_gateway::Bound) -> UpFile {
    let url = |route: &semgate_gateway::BoundRoute| route.url.trim_end_matches('/').to_owned();
    UpFile {
        authority_url,
        gateway: gateway
            .routes
            .iter()
            .map(|route| (route.name.clone(), url(route)))
            .collect::<BTreeMap<_, _>>(),
        admin_url: format!("http://{}", gateway.admin),
        sample_agent: layout.agent.map(|agent| SampleAgent {
            id: layout::spiffe(layout::SAMPLE_AGENT),
            url: format!("http://{agent}"),
        }),
        roots: layout.roots.clone(),
        agents: layout.agents.clone(),
        authority_config: AUTHORITY_TOML.into(),
        firewall_config: FIREWALL_TOML.into(),
        people_url: gateway.people.map(|address| format!("https://{address}")),
        console_url: None,
        humans: layout.humans.clone(),
        policies: POLICIES.into(),
        audit: AUDIT.into(),
        pid: std::process::id(),
    }
}
