//! The making: certificates first, in memory; then every file, none of which may exist.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ring::rand::SystemRandom;
use semgate_certs::{
    BACKDATE, Chain, ChainLimits, Family, IssueFault, Issuer, IssuingProfile, KeyPair, LeafProfile,
    LineScope, RootProfile, SpiffeId, Usage,
};

use semgate_contexts::Line;
use semgate_statement::jws::MultiJws;
use semgate_statement::root::MAX_ROOT_KEYS;
use semgate_statement::{KeyList, LogKey, RootAct, RootStatement, Statement};

use super::{InitFault, InitOptions, Initialised, TlsLeaf, TlsRequest, TlsUse};
use crate::disk;

const DAY: u64 = 86_400;
/// The longest lifetime of a leaf: `init` serves machines without an issuing service.
const LEAF_LIFETIME: u64 = 90 * DAY;
/// The state directory below the directory of the configuration.
const STATE: &str = "authority";
/// The last checkpoint, apart from the state: the operator should move it to another volume.
const LAST_CHECKPOINT: &str = "last-checkpoint";
/// The role keys, below the directory of the configuration.
const KEYS: &str = "authority/keys";
/// The first trust list of a split root.
const FIRST_LIST: &str = "trust-1.json";
/// Roots of publishers' chains if the root is split: its one issuing certificate for TLS. Under the roots themselves, the holder of any one
/// root key could certify anybody.
const CLIENT_ROOTS: &str = "client-roots.pem";
/// Directory of the keys that the running authority never needs; the operator should move them out of reach.
const OFFLINE: &str = "offline";

/// Makes a new authority below `dir`: `roots.pem`, `authority.toml`, the state directory with its role keys (`authority/keys`), and the
/// keys of root and TLS issuing certificate (`offline`). Several root keys add `client-roots.pem`. The running authority never reads
/// `offline`. Files are 0600, directories 0700.
///
/// # Errors
/// A file to be written exists, and then nothing is written; or no certificate can hold an option.
pub fn init(dir: &Path, options: &InitOptions) -> Result<Initialised, InitFault> {
    let origin = options.origin.clone().unwrap_or_else(|| format!("{}/log", options.authority));
    let made = Generated::new(options, &origin)?;
    let (skey, vkey) = log_key(&origin)?;
    let config = config_text(options, &origin);
    let mut files: Vec<(String, String)> = vec![
        ("roots.pem".into(), made.roots.iter().map(|root| root.chain().to_pem()).collect()),
        (format!("{OFFLINE}/tls-issuing.pem"), made.tls.chain().to_pem()),
        (format!("{OFFLINE}/tls-issuing.key"), pem(&made.tls)),
        (format!("{KEYS}/context-issuing.pem"), made.contexts.chain().to_pem()),
        (format!("{KEYS}/context-issuing.key"), pem(&made.contexts)),
        (format!("{KEYS}/status.pem"), made.status.0.to_pem()),
        (format!("{KEYS}/status.key"), made.status.1.to_pem()),
        (format!("{KEYS}/feed.pem"), made.feed.0.to_pem()),
        (format!("{KEYS}/feed.key"), made.feed.1.to_pem()),
        (format!("{KEYS}/tls.pem"), made.server.0.to_pem()),
        (format!("{KEYS}/tls.key"), made.server.1.to_pem()),
        (format!("{KEYS}/log.key"), skey),
        (format!("{KEYS}/log.pub"), format!("{vkey}\n")),
        ("authority.toml".into(), config),
    ];
    for (n, root) in (1..).zip(&made.roots) {
        let name = if options.root_keys == 1 { "root".to_owned() } else { format!("root-{n}") };
        files.push((format!("{OFFLINE}/{name}.pem"), root.chain().to_pem()));
        files.push((format!("{OFFLINE}/{name}.key"), pem(root)));
    }
    if options.root_keys > 1 {
        files.push((CLIENT_ROOTS.into(), made.tls.chain().to_pem()));
    }
    let first_list = match options.root_keys {
        1 => None,
        _ => {
            files.push((FIRST_LIST.into(), made.first_list(options, &vkey)?));
            Some(dir.join(FIRST_LIST))
        }
    };
    let written = write_new(dir, &files)?;
    Ok(Initialised {
        config: dir.join("authority.toml"),
        roots: dir.join("roots.pem"),
        first_list,
        log_key: vkey,
        origin,
        written,
    })
}

struct Generated {
    roots: Vec<Issuer>,
    contexts: Issuer,
    tls: Issuer,
    status: (Chain, KeyPair),
    feed: (Chain, KeyPair),
    server: (Chain, KeyPair),
}

impl Generated {
    fn new(options: &InitOptions, origin: &str) -> Result<Self, InitFault> {
        if origin.is_empty() || options.authority.is_empty() {
            return Err(InitFault::Option("the authority and its origin need a name".to_owned()));
        }
        let random = &SystemRandom::new();
        let from = now().saturating_sub(BACKDATE);
        let name = &options.authority;
        let (keys, threshold) = (options.root_keys, options.root_threshold);
        if keys == 0 || keys > MAX_ROOT_KEYS as u64 || threshold == 0 || threshold > keys {
            return Err(InitFault::Option(format!(
                "{threshold} of {keys} root keys is not possible; there are at most {MAX_ROOT_KEYS}"
            )));
        }
        let roots = (1..=keys)
            .map(|n| {
                let name = if keys == 1 { format!("{name} root") } else { format!("{name} root {n}") };
                Issuer::root(&RootProfile::new(name, from), key(random)?, random).map_err(issue("root"))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let root = roots.first().ok_or_else(|| InitFault::Option("there is no root key".to_owned()))?;
        let lines = scope(&options.lines)?;
        let profile = IssuingProfile::new(format!("{name} contexts"), Family::Contexts, from);
        let contexts = root
            .issuing(&profile.lines(lines.clone()), key(random)?, random)
            .map_err(issue("issuing certificate for contexts"))?;
        let profile = IssuingProfile::new(format!("{name} tls"), Family::Tls, from);
        let tls =
            root.issuing(&profile, key(random)?, random).map_err(issue("issuing certificate for tls"))?;
        let status = role(&contexts, Usage::Status, &lines, from)?;
        let feed = role(&contexts, Usage::Feed, &lines, from)?;
        let server = TlsRequest {
            usage: TlsUse::Server,
            spiffe: format!("spiffe://{}/authority", options.trust_domain),
            dns: options.server_names.clone(),
            addresses: options.server_addresses.clone(),
            lifetime: std::time::Duration::from_secs(LEAF_LIFETIME),
        };
        let server = tls_leaf(&tls, &server)?;
        Ok(Self { roots, contexts, tls, status, feed, server })
    }

    /// The first trust list, signed by every root key.
    fn first_list(&self, options: &InitOptions, vkey: &str) -> Result<String, InitFault> {
        let random = &SystemRandom::new();
        let roots = self.roots.iter().flat_map(|root| root.chain().certificates().to_vec()).collect();
        let list = KeyList::new(
            options.root_threshold,
            roots,
            vec![self.contexts.chain().thumbprint()],
            vec![vkey.to_owned()],
        );
        let statement = RootStatement {
            authority: options.authority.clone(),
            number: 1,
            act: RootAct::Keys(list),
            reason: "the first trust list".to_owned(),
        };
        let wrong = |what: &dyn std::fmt::Display| InitFault::Option(format!("trust list: {what}"));
        let payload = Statement::Root(Box::new(statement)).to_bytes().map_err(|e| wrong(&e))?;
        let mut jws = MultiJws::draft(&payload, semgate_statement::statement::TYPE);
        for root in &self.roots {
            jws.sign(root.key().as_ref(), &root.chain().thumbprint(), random).map_err(|e| wrong(&e))?;
        }
        jws.to_text().map_err(|e| wrong(&e))
    }
}

fn scope(lines: &[String]) -> Result<LineScope, InitFault> {
    if lines.is_empty() {
        return Ok(LineScope::All);
    }
    let parsed: Result<Vec<Line>, InitFault> = lines
        .iter()
        .map(|line| Line::parse(line).map_err(|e| InitFault::Option(format!("line `{line}`: {e}"))))
        .collect();
    parsed.map(LineScope::Trees)
}

/// Issues a TLS identity from the TLS issuing key that [`init`] left below `dir` in `offline`. Writes nothing.
///
/// # Errors
/// The issuing key is missing (taken offline), or the request cannot be certified.
pub fn issue_tls(dir: &Path, request: &TlsRequest) -> Result<TlsLeaf, InitFault> {
    let read = |name: &str| {
        let path = dir.join(OFFLINE).join(name);
        std::fs::read_to_string(&path).map_err(|source| InitFault::Io { path, source })
    };
    let chain = Chain::from_pem(&read("tls-issuing.pem")?, &ChainLimits::default())
        .map_err(|e| InitFault::Option(format!("tls-issuing.pem: {e}")))?;
    let key = KeyPair::from_pem(&read("tls-issuing.key")?, &SystemRandom::new())
        .map_err(|e| InitFault::Option(format!("tls-issuing.key: {e}")))?;
    let issuer = Issuer::from_parts(chain, key).map_err(issue("issuing certificate for tls"))?;
    let (chain, key) = tls_leaf(&issuer, request)?;
    Ok(TlsLeaf { chain_pem: chain.to_pem(), key_pem: key.to_pem() })
}

fn tls_leaf(issuer: &Issuer, request: &TlsRequest) -> Result<(Chain, KeyPair), InitFault> {
    let random = &SystemRandom::new();
    let from = now().saturating_sub(BACKDATE);
    let id = SpiffeId::parse(&request.spiffe)
        .map_err(|e| InitFault::Option(format!("`{}`: {e}", request.spiffe)))?;
    let profile = match request.usage {
        TlsUse::Server => {
            LeafProfile::server(Some(id), request.dns.clone(), request.addresses.clone(), from).also_client()
        }
        TlsUse::Agent => LeafProfile::agent(id, from),
    };
    let key = key(random)?;
    let chain = issuer
        .leaf(&profile.lifetime(request.lifetime.as_secs()), key.public(), random)
        .map_err(issue("tls certificate"))?;
    Ok((chain, key))
}

fn role(issuer: &Issuer, usage: Usage, lines: &LineScope, from: u64) -> Result<(Chain, KeyPair), InitFault> {
    let random = &SystemRandom::new();
    let key = key(random)?;
    let profile = LeafProfile::role(usage, lines.clone(), from).lifetime(LEAF_LIFETIME);
    let chain = issuer.leaf(&profile, key.public(), random).map_err(issue("role certificate"))?;
    Ok((chain, key))
}

fn key(random: &SystemRandom) -> Result<KeyPair, InitFault> {
    KeyPair::generate(random).map_err(|e| InitFault::Option(e.to_string()))
}

/// The key of an issuer that was made here, in memory.
fn pem(issuer: &Issuer) -> String {
    issuer.key().pem().unwrap_or_default()
}

fn issue(what: &'static str) -> impl FnOnce(IssueFault) -> InitFault {
    move |fault| InitFault::Option(format!("{what}: {fault}"))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

fn log_key(origin: &str) -> Result<(String, String), InitFault> {
    let key = LogKey::generate(origin, &SystemRandom::new())
        .map_err(|e| InitFault::Option(format!("log key for `{origin}`: {e}")))?;
    Ok((key.to_text().unwrap_or_default().to_owned() + "\n", key.verifier().to_string()))
}

fn config_text(options: &InitOptions, origin: &str) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    // Writing into a String cannot fail.
    let _ = write!(
        text,
        "# An authority of Semgate; see docs/reference/config.md. Paths are relative to this file.\n\
         authority = {authority}\norigin = {origin}\nlisten = \"{listen}\"\nadmin = \"{admin}\"\n\
         {public_url}state = \"{STATE}\"\nlast_checkpoint = \"{LAST_CHECKPOINT}\"\nstatus_lifetime = {lifetime}\nroots = \"roots.pem\"\n{threshold}{at_start}\n\
         [tls]\ncertificate = \"{KEYS}/tls.pem\"\nkey = \"{KEYS}/tls.key\"\nclient_roots = \"{client_roots}\"\n\
         trust_domains = [{domain}]\n\n\
         [keys]\n\
         context_issuing = {{ certificate = \"{KEYS}/context-issuing.pem\", key = \"{KEYS}/context-issuing.key\" }}\n\
         status = {{ certificate = \"{KEYS}/status.pem\", key = \"{KEYS}/status.key\" }}\n\
         feed = {{ certificate = \"{KEYS}/feed.pem\", key = \"{KEYS}/feed.key\" }}\n\
         log = {{ key = \"{KEYS}/log.key\" }}\n",
        authority = quoted(&options.authority),
        origin = quoted(origin),
        listen = options.listen,
        admin = options.admin,
        public_url = public_url(options),
        threshold = match options.root_threshold {
            1 => String::new(),
            more => format!("root_threshold = {more}\n"),
        },
        at_start = at_start(options),
        client_roots = if options.root_keys > 1 { CLIENT_ROOTS } else { "roots.pem" },
        lifetime = options.status_lifetime.as_secs(),
        domain = quoted(&options.trust_domain),
    );
    for publisher in &options.publishers {
        let list = |patterns: &[crate::LinePattern]| {
            patterns.iter().map(|p| quoted(&p.to_string())).collect::<Vec<_>>().join(", ")
        };
        let _ = write!(
            text,
            "\n[[publisher]]\nid = {}\npublish = [{}]\nrevoke = [{}]\nfloor = [{}]\noverride = [{}]\n",
            quoted(&publisher.id),
            list(&publisher.publish),
            list(&publisher.revoke),
            list(&publisher.floor),
            list(&publisher.overrides)
        );
    }
    text
}

/// The line with the documents of each start.
fn at_start(options: &InitOptions) -> String {
    if options.publish_at_start.is_empty() {
        return String::new();
    }
    let all: Vec<String> = options.publish_at_start.iter().map(|one| quoted(&one.to_string())).collect();
    format!(
        "# published at each start where missing: lines that ship with Semgate, and files\npublish_at_start = [{}]\n",
        all.join(", ")
    )
}

/// The line with the public URL. Status list tokens name it, so they must be served there. None for port 0, because the port is not known
/// yet.
fn public_url(options: &InitOptions) -> String {
    let (ip, port) = (options.listen.ip(), options.listen.port());
    if port == 0 {
        return String::new();
    }
    let name = if ip.is_loopback() { None } else { options.server_names.first().cloned() };
    let host = name.unwrap_or_else(|| {
        let ip = match options.server_addresses.first() {
            Some(first) if !ip.is_loopback() => *first,
            _ => ip,
        };
        if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() }
    });
    let port = if port == 443 { String::new() } else { format!(":{port}") };
    format!("public_url = {}\n", quoted(&format!("https://{host}{port}")))
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Writes every file or, if one of them exists, none.
fn write_new(dir: &Path, files: &[(String, String)]) -> Result<Vec<PathBuf>, InitFault> {
    // A leftover of another log would stop this one.
    let names = files.iter().map(|(name, _)| name.as_str()).chain([LAST_CHECKPOINT]);
    if let Some(name) = names.into_iter().find(|name| dir.join(name).exists()) {
        return Err(InitFault::Exists(dir.join(name)));
    }
    let mut written = Vec::with_capacity(files.len());
    for (name, text) in files {
        let path = dir.join(name);
        disk::make_dir(&disk::parent(&path)).map_err(|e| InitFault::Option(e.to_string()))?;
        let done =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).and_then(|mut file| {
                file.write_all(text.as_bytes())?;
                file.sync_all()
            });
        done.map_err(|source| match source.kind() {
            std::io::ErrorKind::AlreadyExists => InitFault::Exists(path.clone()),
            _ => InitFault::Io { path: path.clone(), source },
        })?;
        written.push(path);
    }
    Ok(written)
}
