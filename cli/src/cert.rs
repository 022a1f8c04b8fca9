//! `semgate cert root | issuing | leaf | renew | show`: certificates by the profiles of `docs/spec/certificates.md`.

mod crl;
mod renew;
mod show;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use semgate_certs::{
    BACKDATE, Chain, Family, Issuer, IssuingProfile, KeyPair, LeafProfile, LineScope, RootProfile,
    SigningKey, SpiffeId, Usage,
};
use semgate_contexts::Line;
use serde_json::json;

use crate::fault::{Doing, Fault};
use crate::system::{now, read_chain, read_key, ring_random, signing_key, write_new};

/// Roots, issuing certificates and leaves
#[derive(Debug, Subcommand)]
pub enum CertJob {
    /// A new self-signed root, to be kept offline
    Root(Root),
    /// A new issuing certificate below a root
    Issuing(Issuing),
    /// A new leaf of at most 90 days
    Leaf(Leaf),
    /// Replace a leaf by one with the same usage, names and lifetime
    Renew(renew::Renew),
    /// Show the certificates of PEM files
    Show(show::Show),
    /// Record certificates that their issuer revokes
    Revoke(crl::Revoke),
    /// Sign an issuer's revocation lists, in shards by serial number
    Crl(crl::Crl),
}

/// Files of a new certificate: `NAME.pem` and `NAME.key`.
#[derive(Debug, Args)]
struct Out {
    /// Write `OUT.pem` and `OUT.key` (0600); nothing is overwritten
    #[arg(long, value_name = "OUT")]
    out: PathBuf,
}

/// The issuing certificate.
#[derive(Debug, Args)]
struct By {
    /// The issuer's `NAME` of `NAME.pem` and `NAME.key`
    #[arg(long, value_name = "NAME")]
    by: PathBuf,
}

/// A root.
#[derive(Debug, Args)]
pub struct Root {
    /// Its common name
    #[arg(long, default_value = "Semgate root")]
    name: String,
    #[command(flatten)]
    out: Out,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FamilyName {
    Contexts,
    Tls,
}

/// An issuing certificate.
#[derive(Debug, Args)]
pub struct Issuing {
    /// The usages of its leaves: sign contexts, status, feed and log, or speak on connections
    #[arg(long, value_enum)]
    family: FamilyName,
    /// A URN line that it may delegate, with those below it; default: all
    #[arg(long = "line", value_name = "LINE")]
    lines: Vec<String>,
    /// Its common name
    #[arg(long, default_value = "Semgate issuing")]
    name: String,
    /// Its key: a PEM file, or a `pkcs11:` URI (RFC 7512); default: a new one
    #[arg(long)]
    key: Option<String>,
    #[command(flatten)]
    by: By,
    #[command(flatten)]
    out: Out,
}

/// A leaf.
#[derive(Debug, Args)]
pub struct Leaf {
    /// gateway (server and client in one), server, agent, context, status, feed, log or policy
    #[arg(long)]
    usage: String,
    /// A URN line that it may sign (context)
    #[arg(long = "line", value_name = "LINE")]
    lines: Vec<String>,
    /// Its identity (policy, server, agent)
    #[arg(long, value_name = "SPIFFE-ID")]
    spiffe: Option<String>,
    /// A host name that it answers to (gateway, server); default: `localhost`, if there is no `--ip` either
    #[arg(long, value_name = "HOST")]
    dns: Vec<String>,
    /// An address that it answers at (gateway, server); default: loopback, if there is no `--dns` either
    #[arg(long, value_name = "ADDRESS")]
    ip: Vec<IpAddr>,
    /// Lifetime in days, at most 90
    #[arg(long, default_value_t = 30)]
    days: u64,
    /// Its key: a PEM file, or a `pkcs11:` URI (RFC 7512); default: a new one
    #[arg(long)]
    key: Option<String>,
    #[command(flatten)]
    places: crl::Places,
    #[command(flatten)]
    by: By,
    #[command(flatten)]
    out: Out,
}

/// Hint for a certificate that its issuer refuses.
const BY_ROOT: &str = "a root issues it, within the lines and the lifetime of that root";
const BY_ISSUING: &str = "an issuing certificate of the right family issues it (`cert issuing --family`), within the lines and the lifetime of that certificate";
const A_LINE: &str = "a line is the middle of a URN: `payment`, `acme.logistics`";

/// Makes the certificate.
///
/// # Errors
/// A file exists, an issuer cannot be read, or the profile refuses a name.
pub fn run(job: CertJob, json: bool) -> Result<(), Fault> {
    let random = ring_random();
    let now = now();
    match job {
        CertJob::Root(root) => {
            let key = KeyPair::generate(&random).doing("key")?;
            let issuer =
                Issuer::root(&RootProfile::new(root.name, now.saturating_sub(BACKDATE)), key, &random)
                    .doing("root")?;
            store(&root.out.out, issuer.chain(), issuer.key().as_ref(), json)
        }
        CertJob::Issuing(issuing) => {
            let family = match issuing.family {
                FamilyName::Contexts => Family::Contexts,
                FamilyName::Tls => Family::Tls,
            };
            let scope = scope(&issuing.lines)?;
            let by = issuer(&issuing.by.by)?;
            let profile = IssuingProfile::new(issuing.name, family, by.begins(now, BACKDATE)).lines(scope);
            let key = subject(issuing.key.as_deref())?;
            let issuer = by.issuing(&profile, key, &random).hinted("issuing certificate", BY_ROOT)?;
            store(&issuing.out.out, issuer.chain(), issuer.key().as_ref(), json)
        }
        CertJob::Leaf(leaf) => {
            let key = subject(leaf.key.as_deref())?;
            let by = issuer(&leaf.by.by)?;
            let mut profile =
                leaf.profile(by.begins(now, BACKDATE))?.lifetime(leaf.days.saturating_mul(86_400));
            profile.crl = leaf.places.shards()?;
            let chain = by.leaf(&profile, key.public(), &random).hinted("leaf", BY_ISSUING)?;
            store(&leaf.out.out, &chain, key.as_ref(), json)
        }
        CertJob::Renew(renew) => renew.run(json),
        CertJob::Show(show) => show.run(json),
        CertJob::Revoke(revoke) => revoke.run(json),
        CertJob::Crl(crl) => crl.run(json),
    }
}

impl Leaf {
    fn profile(&self, from: u64) -> Result<LeafProfile, Fault> {
        let gateway = self.usage == "gateway";
        let usage = if gateway { Some(Usage::Server) } else { Usage::parse(&self.usage) };
        let usage = usage.ok_or_else(|| {
            Fault::new("no such usage")
                .status(2)
                .hint("one of gateway, server, agent, context, status, feed, log, policy")
        })?;
        let id = match &self.spiffe {
            Some(text) => Some(
                SpiffeId::parse(text).hinted("`--spiffe`", "for instance `spiffe://domain/agent/name`")?,
            ),
            None => None,
        };
        Ok(match usage {
            Usage::Context if self.lines.is_empty() => {
                return Err(Fault::new("a context signer needs its lines")
                    .hint("add `--line payment`")
                    .status(2));
            }
            Usage::Context => LeafProfile::context(lines(&self.lines)?, from),
            Usage::Status | Usage::Feed | Usage::Log => LeafProfile::role(usage, scope(&self.lines)?, from),
            Usage::Policy => {
                let id = id.ok_or_else(|| {
                    Fault::new("a policy signer needs its identity")
                        .hint("add `--spiffe spiffe://domain/policy-signer`")
                        .status(2)
                })?;
                LeafProfile::policy(id, from)
            }
            Usage::Server if gateway && id.is_none() => {
                return Err(Fault::new("a gateway needs its identity, which agents see")
                    .hint("add `--spiffe spiffe://domain/gateway`")
                    .status(2));
            }
            Usage::Server => {
                let (hosts, addresses) = self.hosts(id.is_none() || gateway);
                LeafProfile::server(id, hosts, addresses, from).also_client()
            }
            Usage::Agent => {
                let id = id.ok_or_else(|| {
                    Fault::new("an agent needs its identity")
                        .hint("add `--spiffe spiffe://domain/agent/name`")
                        .status(2)
                })?;
                LeafProfile::agent(id, from)
            }
        })
    }
}

impl Leaf {
    /// Names of a server. Without any, a gateway, or a server that has no identity either, gets those of loopback.
    fn hosts(&self, needed: bool) -> (Vec<String>, Vec<IpAddr>) {
        if needed && self.dns.is_empty() && self.ip.is_empty() {
            let loopback = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
            return (vec!["localhost".to_owned()], loopback.to_vec());
        }
        (self.dns.clone(), self.ip.clone())
    }
}

fn lines(names: &[String]) -> Result<Vec<Line>, Fault> {
    names.iter().map(|n| Line::parse(n).hinted(format_args!("line `{n}`"), A_LINE)).collect()
}

fn scope(names: &[String]) -> Result<LineScope, Fault> {
    if names.is_empty() { Ok(LineScope::All) } else { Ok(LineScope::Trees(lines(names)?)) }
}

/// The key of a new certificate.
fn subject(named: Option<&str>) -> Result<Arc<dyn SigningKey>, Fault> {
    match named {
        None => Ok(KeyPair::generate(&ring_random()).doing("key")?.into()),
        Some(place) => signing_key(place),
    }
}

/// Reads an issuer from `NAME.pem` and `NAME.key`.
fn issuer(name: &Path) -> Result<Issuer, Fault> {
    let (chain, key) = (read_chain(&name.with_extension("pem"))?, read_key(&name.with_extension("key"))?);
    Issuer::from_parts(chain, key).hinted("issuer", "name a root or an issuing certificate, with its own key")
}

/// Writes the certificate, and the key beside it unless it is in a device.
fn store(out: &Path, chain: &Chain, key: &dyn SigningKey, json: bool) -> Result<(), Fault> {
    let (cert_file, key_file) = (out.with_extension("pem"), out.with_extension("key"));
    let pem = key.pem();
    if let Some(pem) = &pem {
        write_new(&key_file, pem.as_bytes(), 0o600)?;
    }
    write_new(&cert_file, chain.to_pem().as_bytes(), 0o644)?;
    let thumbprint = chain.thumbprint().to_string();
    if pem.is_none() {
        let shown = json!({"certificate": cert_file, "x5t#S256": thumbprint});
        crate::terminal::print_members(&shown, json);
    } else if json {
        out!("{}", json!({"certificate": cert_file, "key": key_file, "x5t#S256": thumbprint}));
    } else {
        out!("{} and {} (x5t#S256 {thumbprint})", cert_file.display(), key_file.display());
    }
    Ok(())
}
