//! The files of `up`: made once, then only read; short-lived certificates of agents and gateway are made at each start.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SecureRandom;
use semgate_authority::{InitOptions, Publisher, TlsRequest, TlsUse, init, issue_tls};
use semgate_policies::PolicySource;
use serde::{Deserialize, Serialize};

use super::UpArgs;
use super::ports::Ports;
use crate::fault::{Doing, Fault};
use crate::system::{read, ring_random, unwritable};
use crate::up_directory::AgentFile;

/// The trust domain, and the name of the authority.
pub const TRUST_DOMAIN: &str = "semgate.test";
/// The upstream agent.
pub const SAMPLE_AGENT: &str = "wholesaler-1";
/// The publisher with every right.
pub const OPERATOR: &str = "operator";
/// The authority's configuration.
pub const AUTHORITY_TOML: &str = "authority.toml";
/// The gateway's configuration.
pub const FIREWALL_TOML: &str = "firewall.toml";
/// The policy directory.
pub const POLICIES: &str = "policies";
/// The secret that makes and verifies locks.
const LOCK_SECRET: &str = "firewall/lock.secret";
/// The audit log.
pub const AUDIT: &str = "firewall/audit.jsonl";
/// Notes of `up` itself: the address of the sample agent and the verifier key of the log.
const NOTES: &str = "up.toml";
/// Lifetime of a short-lived certificate: longer than anyone leaves `up` running, shorter than the 90 days of the profile.
const LIFETIME: Duration = Duration::from_secs(30 * 86_400);

/// Agents that may speak: name, and credentials in the shipped entity file.
const AGENTS: [(&str, &[&str]); 5] = [
    ("retailer-7", &[]),
    ("public-webapp-3", &[]),
    ("treasurer-1", &["high-value-authorized"]),
    ("courier-5", &[]),
    (OPERATOR, &[]),
];

/// Locations of the files and parts.
#[derive(Debug)]
pub struct Layout {
    /// The directory itself.
    pub dir: PathBuf,
    /// The roots, relative to it.
    pub roots: PathBuf,
    /// Address of the sample agent.
    pub agent: SocketAddr,
    /// Agents that may speak.
    pub agents: BTreeMap<String, AgentFile>,
    /// The free ports of this process, reserved from every other first start until it ends.
    _ports: Ports,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Notes {
    agent: SocketAddr,
    roots: PathBuf,
}

/// The SPIFFE id of a name.
pub fn spiffe(name: &str) -> String {
    match name {
        OPERATOR | "gateway" => format!("spiffe://{TRUST_DOMAIN}/{name}"),
        _ => format!("spiffe://{TRUST_DOMAIN}/agent/{name}"),
    }
}

/// The certificate of a name, relative to the directory.
pub fn cert(name: &str) -> PathBuf {
    PathBuf::from(format!("agents/{name}.pem"))
}

/// The key of a name, relative to the directory.
pub fn key(name: &str) -> PathBuf {
    PathBuf::from(format!("agents/{name}.key"))
}

/// Locks the directory for this process, before anything in it is touched; released when the process ends.
///
/// # Errors
/// Another `up` has it.
pub fn lock(dir: &Path) -> Result<fs::File, Fault> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|why| unwritable(dir, &why))?;
    let path = dir.join("up.lock");
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = file.map_err(|why| unwritable(&path, &why))?;
    file.try_lock().map_err(|_| {
        Fault::new(format_args!("another `up` runs in `{}`", dir.display()))
            .hint("end it first, or name another directory with `--dir`")
    })?;
    Ok(file)
}

/// Makes the missing files.
///
/// # Errors
/// The error of the file system; or a directory that was half made by hand.
pub fn prepare(args: &UpArgs, tell: &dyn Fn(&str)) -> Result<Layout, Fault> {
    let dir = &args.dir;
    let notes_file = dir.join(NOTES);
    let mut ports = Ports::default();
    let notes = if notes_file.exists() {
        if [args.authority, args.authority_admin, args.l8, args.a2a, args.admin, args.agent]
            .iter()
            .any(Option::is_some)
        {
            tell(
                "addresses apply at the first start only: later they are in authority.toml and firewall.toml",
            );
        }
        let text = read(&notes_file)?;
        toml::from_str(&text).hinted(
            format_args!("`{}`", notes_file.display()),
            "the first start writes it: restore it, or name another directory with `--dir`",
        )?
    } else {
        tell(&format!("making a new authority and its keys in {}", dir.display()));
        first_start(args, &mut ports)?
    };
    certificates(dir)?;
    write_once(&dir.join(LOCK_SECRET), lock_secret()?.as_bytes())?;
    let agents = AGENTS
        .iter()
        .map(|(name, credentials)| ((*name).to_owned(), agent_file(name, credentials)))
        .collect();
    Ok(Layout { dir: dir.clone(), roots: notes.roots, agent: notes.agent, agents, _ports: ports })
}

fn agent_file(name: &str, credentials: &[&str]) -> AgentFile {
    AgentFile {
        cert: cert(name),
        key: key(name),
        id: if name == OPERATOR { spiffe(name) } else { name.to_owned() },
        credentials: credentials.iter().map(|c| (*c).to_owned()).collect(),
    }
}

fn first_start(args: &UpArgs, ports: &mut Ports) -> Result<Notes, Fault> {
    let dir = &args.dir;
    for part in [dir.clone(), dir.join("agents"), dir.join("firewall"), dir.join(POLICIES)] {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&part);
        made.map_err(|why| unwritable(&part, &why))?;
    }
    let [authority, authority_admin, l8, a2a, admin, agent] =
        ports.fill([args.authority, args.authority_admin, args.l8, args.a2a, args.admin, args.agent])?;
    let made = init(dir, &options(authority, authority_admin)).map_err(|e| {
        Fault::new(e)
            .hint("an earlier start was interrupted: remove the directory, or name another with `--dir`")
    })?;
    let roots = made.roots.strip_prefix(dir).unwrap_or(&made.roots).to_path_buf();
    for (name, text) in &PolicySource::shipped().files {
        write_once(&dir.join(POLICIES).join(name), text.as_bytes())?;
    }
    write_once(&dir.join(POLICIES).join("entities.json"), &PolicySource::shipped().entities)?;
    let firewall = firewall_toml(&roots, &made.log_key, authority, [l8, a2a, admin, agent]);
    write_once(&dir.join(FIREWALL_TOML), firewall.as_bytes())?;
    let notes = Notes { agent, roots };
    // Last, as proof that everything above is there.
    write_once(&dir.join(NOTES), toml::to_string(&notes).doing("notes")?.as_bytes())?;
    Ok(notes)
}

fn options(listen: SocketAddr, admin: SocketAddr) -> InitOptions {
    InitOptions {
        authority: TRUST_DOMAIN.to_owned(),
        origin: None,
        trust_domain: TRUST_DOMAIN.to_owned(),
        root_keys: 1,
        root_threshold: 1,
        lines: Vec::new(),
        publish_at_start: Vec::new(),
        publishers: vec![Publisher::of_everything(&spiffe(OPERATOR))],
        listen,
        admin,
        status_lifetime: Duration::from_secs(600),
        server_names: vec!["localhost".to_owned()],
        server_addresses: vec![IpAddr::V4(Ipv4Addr::LOCALHOST)],
    }
}

fn firewall_toml(roots: &Path, log_key: &str, authority: SocketAddr, at: [SocketAddr; 4]) -> String {
    let [l8, a2a, admin, agent] = at;
    let roots = roots.display();
    let receiver = spiffe(SAMPLE_AGENT);
    let contexts = "contexts = [\"*\"]";
    let handshake = format!(
        "handshake = {{ certificate = \"{}\", key = \"{}\" }}",
        cert(SAMPLE_AGENT).display(),
        key(SAMPLE_AGENT).display()
    );
    format!(
        r#"# The gateway of `semgate up`; also works alone: semgate firewall run --config firewall.toml
state = "firewall"
admin = "{admin}"
policies = "{POLICIES}"
audit = "{AUDIT}"
lock_secret = "{LOCK_SECRET}"

[tls]
certificate = "agents/gateway.pem"
key = "agents/gateway.key"

[[trust_domain]]
name = "{TRUST_DOMAIN}"
roots = "{roots}"

[[authority]]
name = "{TRUST_DOMAIN}"
url = "https://{authority}"
roots = "{roots}"
tls_roots = "{roots}"
present_certificate = true
origin = "{TRUST_DOMAIN}/log"
log_key = "{log_key}"
lines = ["*"]
max_status_age = "15m"

[[route]]
name = "l8"
listen = "{l8}"
binding = "l8"
receiver = "{receiver}"
upstream = "http://{agent}/l8"
{contexts}
{handshake}

[[route]]
name = "a2a"
listen = "{a2a}"
binding = "a2a"
receiver = "{receiver}"
upstream = "http://{agent}/a2a"
{contexts}
{handshake}
"#
    )
}

/// One line of 32 random bytes, as in `docs/spec/locks.md`.
fn lock_secret() -> Result<String, Fault> {
    let mut secret = [0; 32];
    ring_random().fill(&mut secret).map_err(|_| Fault::new("the system's random source failed"))?;
    Ok(format!("{}\n", URL_SAFE_NO_PAD.encode(secret)))
}

/// Issues the short-lived certificates of agents and gateway.
fn certificates(dir: &Path) -> Result<(), Fault> {
    let request = |usage, name: &str, addresses: Vec<IpAddr>, dns: Vec<String>| TlsRequest {
        usage,
        spiffe: spiffe(name),
        dns,
        addresses,
        lifetime: LIFETIME,
    };
    let localhost = vec![IpAddr::V4(Ipv4Addr::LOCALHOST)];
    let mut wanted =
        vec![("gateway", request(TlsUse::Server, "gateway", localhost, vec!["localhost".to_owned()]))];
    wanted
        .extend(AGENTS.iter().map(|(name, _)| (*name, request(TlsUse::Agent, name, Vec::new(), Vec::new()))));
    // the gateway uses it to answer handshakes in place of the upstream agent
    wanted.push((SAMPLE_AGENT, request(TlsUse::Agent, SAMPLE_AGENT, Vec::new(), Vec::new())));
    for (name, request) in wanted {
        let leaf = issue_tls(dir, &request).doing(format_args!("certificate of `{name}`"))?;
        write(&dir.join(key(name)), leaf.key_pem.as_bytes())?;
        write(&dir.join(cert(name)), leaf.chain_pem.as_bytes())?;
    }
    Ok(())
}

fn write_once(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    if path.exists() { Ok(()) } else { write(path, bytes) }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    use std::io::Write;
    let doing = || format!("writing `{}`", path.display());
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path).doing(doing())?;
    file.write_all(bytes).doing(doing())
}
