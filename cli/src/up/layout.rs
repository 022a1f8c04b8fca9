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
use semgate_gateway::config::Listen;
use semgate_policies::PolicySource;

use super::UpArgs;
use super::people::{self, CONSOLE, CONSOLE_SERVER, ConsoleAddresses, HUMANS};
use super::ports::Ports;
use crate::fault::{Doing, Fault};
use crate::sample_agent;
use crate::signing_key;
use crate::system::{ring_random, unwritable};
use crate::up_directory::{
    AUDIT, AgentFile, FIREWALL_TOML, HUMANS as HUMANS_DIR, HumanFile, Notes, POLICIES, UP_TOML, cert, key,
};

/// The trust domain, and the name of the authority.
pub const TRUST_DOMAIN: &str = "semgate.test";
/// The upstream agent.
pub const SAMPLE_AGENT: &str = "wholesaler-1";
/// The publisher with every right.
pub const OPERATOR: &str = "operator";
/// The name of the gateway.
pub const GATEWAY: &str = "gateway";
/// The gateway, as the sender of people's answers.
pub const DESK: &str = "people";
/// The key that issues certificates of TLS.
const ISSUING_KEY: &str = "offline/tls-issuing.key";
/// The secret that makes and verifies locks.
pub const LOCK_SECRET: &str = "firewall/lock.secret";
/// The pinned card of the sample delegate.
const IDENTITY_CARD: &str = "firewall/identity-card.json";
/// Context of a task at the sample delegate that names none.
const TASKS: &str = "urn:contexts:travel:v2.2";
/// Lifetime of a short-lived certificate: longer than anyone leaves `up` running, shorter than the 90 days of the profile.
const LIFETIME: Duration = Duration::from_secs(30 * 86_400);

/// Agents that may speak: name, and credentials in the shipped entity file.
const AGENTS: [(&str, &[&str]); 6] = [
    ("retailer-7", &[]),
    ("public-webapp-3", &[]),
    ("treasurer-1", &["high-value-authorized"]),
    ("courier-5", &[]),
    ("sre-bot-1", &[]),
    (OPERATOR, &[]),
];

/// Locations of the files and parts.
#[derive(Debug)]
pub struct Layout {
    /// The directory itself.
    pub dir: PathBuf,
    /// The roots, relative to it.
    pub roots: PathBuf,
    /// Address of the sample agent; none in a directory of `init`.
    pub agent: Option<SocketAddr>,
    /// Its address of QUIC; none in a directory that an earlier version made.
    pub signing_agent: Option<SocketAddr>,
    /// Agents that may speak.
    pub agents: BTreeMap<String, AgentFile>,
    /// People who may decide; none beside agents of one's own.
    pub humans: BTreeMap<String, HumanFile>,
    /// The free ports of this process, reserved from every other first start until it ends.
    _ports: Ports,
}

/// The SPIFFE id of a name.
pub fn spiffe(name: &str) -> String {
    match name {
        OPERATOR | GATEWAY | CONSOLE | CONSOLE_SERVER | DESK => format!("spiffe://{TRUST_DOMAIN}/{name}"),
        _ if HUMANS.iter().any(|(human, ..)| *human == name) => {
            format!("spiffe://{TRUST_DOMAIN}/human/{name}")
        }
        _ => format!("spiffe://{TRUST_DOMAIN}/agent/{name}"),
    }
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
    let mut ports = Ports::default();
    let notes = if dir.join(UP_TOML).exists() {
        if addresses(args).iter().chain([&args.iac]).any(Option::is_some) {
            tell(
                "addresses apply at the first start only: later they are in authority.toml and firewall.toml",
            );
        }
        Notes::read(dir)?
    } else {
        tell(&format!("making a new authority and its keys in {}", dir.display()));
        first_start(args, &mut ports)?
    };
    certificates(dir, &identities(&notes))?;
    write_once(&dir.join(LOCK_SECRET), lock_secret()?.as_bytes())?;
    let agents = match notes.agent {
        Some(_) => AGENTS.iter().map(|(name, held)| ((*name).to_owned(), shipped(name, held))).collect(),
        None => notes.agents.iter().map(|(name, id)| (name.clone(), AgentFile::new(name, id, &[]))).collect(),
    };
    let humans = if notes.agent.is_some() && dir.join(HUMANS_DIR).exists() { HUMANS.as_slice() } else { &[] };
    let humans = humans.iter().map(|(name, ..)| ((*name).to_owned(), HumanFile::new(name))).collect();
    let (agent, signing_agent) = (notes.agent, notes.signing_agent);
    Ok(Layout { dir: dir.clone(), roots: notes.roots, agent, signing_agent, agents, humans, _ports: ports })
}

fn shipped(name: &str, credentials: &[&str]) -> AgentFile {
    let id = if name == OPERATOR { spiffe(name) } else { name.to_owned() };
    AgentFile::new(name, &id, credentials)
}

/// The SPIFFE ids that get a certificate, by name.
fn identities(notes: &Notes) -> BTreeMap<String, String> {
    if notes.agent.is_none() {
        return notes.agents.clone();
    }
    // the gateway uses that of the sample agent to answer handshakes in its name
    let names = AGENTS.iter().map(|(name, _)| *name).chain([SAMPLE_AGENT, GATEWAY, CONSOLE]);
    let names = names.chain([CONSOLE_SERVER]).chain(HUMANS.iter().map(|(name, ..)| *name));
    names.map(|name| (name.to_owned(), spiffe(name))).collect()
}

/// The addresses of the command line, in the order of their ports.
fn addresses(args: &UpArgs) -> [Option<SocketAddr>; 10] {
    [
        args.authority,
        args.authority_admin,
        args.l8,
        args.a2a,
        args.a2h,
        args.ldp,
        args.admin,
        args.people,
        args.console,
        args.agent,
    ]
}

fn first_start(args: &UpArgs, ports: &mut Ports) -> Result<Notes, Fault> {
    let dir = &args.dir;
    for part in
        [dir.clone(), dir.join("agents"), dir.join("firewall"), dir.join(POLICIES), dir.join(HUMANS_DIR)]
    {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&part);
        made.map_err(|why| unwritable(&part, &why))?;
    }
    let [authority, authority_admin, l8, a2a, a2h, ldp, admin, people, console, agent] =
        ports.fill(addresses(args))?;
    let [iac, signing_agent] = ports.fill_udp([args.iac, None])?;
    let made = init(dir, &options(authority, authority_admin)).map_err(|e| {
        Fault::new(e)
            .hint("an earlier start was interrupted: remove the directory, or name another with `--dir`")
    })?;
    let roots = made.roots.strip_prefix(dir).unwrap_or(&made.roots).to_path_buf();
    for (name, text) in &PolicySource::shipped().files {
        write_once(&dir.join(POLICIES).join(name), text.as_bytes())?;
    }
    let entities = signing_key::with_keys(dir, &PolicySource::shipped().entities)?;
    write_once(&dir.join(POLICIES).join("entities.json"), &entities)?;
    let firewall = firewall_toml(
        &roots,
        &made.log_key,
        authority,
        [l8, a2a, a2h, ldp, iac, admin, people, agent, signing_agent],
    );
    write_once(&dir.join(FIREWALL_TOML), firewall.as_bytes())?;
    let card = sample_agent::delegate_card(&sample_agent::delegate_url(agent));
    write_once(&dir.join(IDENTITY_CARD), format!("{card:#}\n").as_bytes())?;
    people::write(dir, &roots, &ConsoleAddresses { listen: console, admin, people, authority })?;
    let notes =
        Notes { agent: Some(agent), signing_agent: Some(signing_agent), roots, agents: BTreeMap::new() };
    // Last, as proof that everything above is there.
    write_once(&dir.join(UP_TOML), toml::to_string(&notes).doing("notes")?.as_bytes())?;
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
        publishers: vec![
            Publisher::of_everything(&spiffe(OPERATOR)),
            Publisher::of_everything(&spiffe("bob.sre")),
        ],
        listen,
        admin,
        status_lifetime: Duration::from_secs(600),
        server_names: vec!["localhost".to_owned()],
        server_addresses: own_addresses([listen.ip()]),
    }
}

/// Addresses for a server's certificate: loopback, and these without unspecified ones.
pub fn own_addresses(listening: impl IntoIterator<Item = IpAddr>) -> Vec<IpAddr> {
    let mut all = vec![IpAddr::V4(Ipv4Addr::LOCALHOST)];
    for ip in listening.into_iter().filter(|ip| !ip.is_unspecified()) {
        if !all.contains(&ip) {
            all.push(ip);
        }
    }
    all
}

fn firewall_toml(roots: &Path, log_key: &str, authority: SocketAddr, at: [SocketAddr; 9]) -> String {
    let [l8, a2a, a2h, ldp, iac, admin, people, agent, signing_agent] = at;
    let signing = signing_key::file(GATEWAY);
    let signing = signing.display();
    let roots = roots.display();
    let (receiver, console, desk) = (spiffe(SAMPLE_AGENT), spiffe(CONSOLE), spiffe(DESK));
    let contexts = "contexts = [\"*\"]";
    let delegate = sample_agent::delegate_url(agent);
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

[approvals]
listen = "{people}"
humans = "{HUMANS_DIR}"
console = ["{console}"]

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
sstp = true
{contexts}
{handshake}

[[route]]
name = "a2h"
listen = "{a2h}"
binding = "a2h"
receiver = "{desk}"
default_human = "human://bob.sre"

[[route]]
name = "ldp"
listen = "{ldp}"
binding = "ldp"
receiver = "{receiver}"
upstream = "{delegate}"
{contexts}
default_context = "{TASKS}"
identity_card = "{IDENTITY_CARD}"

[[route]]
name = "iac"
listen = "quic://{iac}"
binding = "iac"
receiver = "{receiver}"
upstream = "quic://{signing_agent}"
{contexts}
{handshake}
signing_key = "{signing}"
"#
    )
}

/// One line of 32 random bytes, as in `docs/spec/locks.md`.
pub fn lock_secret() -> Result<String, Fault> {
    let mut secret = [0; 32];
    ring_random().fill(&mut secret).map_err(|_| Fault::new("the system's random source failed"))?;
    Ok(format!("{}\n", URL_SAFE_NO_PAD.encode(secret)))
}

/// Issues the short-lived certificates of these names and of the gateway, which names the addresses of its listeners.
pub fn certificates(dir: &Path, identities: &BTreeMap<String, String>) -> Result<(), Fault> {
    // whoever took the issuing key off the machine renews by hand
    let issues = dir.join(ISSUING_KEY).exists();
    for (name, spiffe) in identities.iter().filter(|(name, _)| issues || !dir.join(cert(name)).exists()) {
        let serves = name == GATEWAY || name == CONSOLE_SERVER;
        let request = TlsRequest {
            usage: if serves { TlsUse::Server } else { TlsUse::Agent },
            spiffe: spiffe.clone(),
            dns: if serves { vec!["localhost".to_owned()] } else { Vec::new() },
            addresses: if serves { own_addresses(listening(dir)?) } else { Vec::new() },
            lifetime: LIFETIME,
        };
        let leaf = issue_tls(dir, &request).doing(format_args!("certificate of `{name}`"))?;
        write(&dir.join(key(name)), leaf.key_pem.as_bytes())?;
        write(&dir.join(cert(name)), leaf.chain_pem.as_bytes())?;
    }
    Ok(())
}

/// The addresses on which the gateway listens.
fn listening(dir: &Path) -> Result<Vec<IpAddr>, Fault> {
    let config = crate::firewall::load(&dir.join(FIREWALL_TOML))?;
    let lanes = config.routes.iter().filter_map(|route| route.a2a.push.as_ref().map(|push| &push.listen));
    let all = config.routes.iter().map(|route| &route.listen).chain(lanes);
    let tcp = all.filter_map(|listen| match listen {
        Listen::Tcp(address) => Some(address.ip()),
        Listen::Quic(_) | Listen::Unix(_) => None,
    });
    Ok(tcp.collect())
}

/// Writes a file, mode 0600, unless it is there.
///
/// # Errors
/// The error of the file system.
pub fn write_once(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    if path.exists() { Ok(()) } else { write(path, bytes) }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    use std::io::Write;
    let doing = || format!("writing `{}`", path.display());
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path).doing(doing())?;
    file.write_all(bytes).doing(doing())
}
