//! `console.toml`: parsed strictly and checked as a whole. This module binds no port and opens no key.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use semgate_certs::SpiffeId;
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::fault::ConfigFault;
use crate::roles::Role;

/// A PEM chain, leaf first, and the PEM PKCS#8 key of its leaf.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdentityFiles {
    /// PEM certificate chain, leaf first.
    pub certificate: PathBuf,
    /// PEM PKCS#8 private key, file mode 0600.
    pub key: PathBuf,
}

/// A gateway that the console looks at.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GatewayConfig {
    /// Its name on the pages: 1 to 64 letters, digits, hyphens, dots, underscores.
    pub name: String,
    /// Its admin address, a URL. Plain HTTP only on loopback.
    pub admin: String,
    /// The address of its approvals, an `https` URL; without it the gateway asks nobody.
    pub approvals: Option<String>,
    /// PEM roots that verify both addresses. An `https` address needs them.
    pub roots: Option<PathBuf>,
}

/// The authority that the console reads, and writes to in the name of operators.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuthorityConfig {
    /// Its public address, an `https` URL.
    pub url: String,
    /// PEM roots that verify it.
    pub roots: PathBuf,
}

/// A person who may log in.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PersonConfig {
    /// The SPIFFE id of the person's client certificate, by which the authority knows the person too.
    pub id: String,
    /// The id of the person's Human Card, such as `human://bob.sre`, by which gateways know the person. Approvers need it.
    pub human: Option<String>,
    /// The name on the pages.
    pub name: String,
    /// The roles; the person has the rights of all of them.
    pub roles: BTreeSet<Role>,
}

/// A complete configuration.
///
/// Guarantees resolved paths, unique names and persons, and TLS on every address off loopback. Does not guarantee that the
/// files exist.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The address of the pages, always with TLS.
    #[schemars(with = "String")]
    pub listen: SocketAddr,
    /// The origin by which browsers reach the pages; default: `https://LISTEN`.
    pub url: Option<String>,
    /// The server certificate of the pages.
    pub tls: IdentityFiles,
    /// The client certificate towards gateways and the authority.
    pub identity: IdentityFiles,
    /// PEM roots of the client certificates of people.
    pub people_roots: PathBuf,
    /// The file of the console's own audit log, mode 0600. Each act is on disk before it is sent.
    pub audit_file: PathBuf,
    /// The audit log of a gateway, to look decisions up that left its ring.
    pub audit: Option<PathBuf>,
    /// A policy directory, read and analysed here, never by a gateway.
    pub policies: Option<PathBuf>,
    /// A second policy directory, which the pages compare with the first.
    pub shadow: Option<PathBuf>,
    /// Prints a link at the start that logs this person in once, within five minutes. `listen` and `url` must be on loopback.
    pub link: Option<String>,
    /// The authority.
    pub authority: AuthorityConfig,
    /// The gateways.
    #[serde(default, rename = "gateway")]
    pub gateways: Vec<GatewayConfig>,
    /// The persons who may log in.
    #[serde(default, rename = "person")]
    pub persons: Vec<PersonConfig>,
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or as [`Config::parse`].
    pub fn load(file: &Path) -> Result<Self, ConfigFault> {
        let text = std::fs::read_to_string(file)
            .map_err(|why| ConfigFault::Read { path: file.to_owned(), what: why.to_string() })?;
        Self::parse(&text, file.parent().unwrap_or_else(|| Path::new("")))
    }

    /// Reads the text of a file whose relative paths start at `base`.
    ///
    /// # Errors
    /// Invalid TOML, an unknown key, an invalid value, or settings that disagree.
    pub fn parse(text: &str, base: &Path) -> Result<Self, ConfigFault> {
        let mut read: Self = toml::from_str(text).map_err(|fault| ConfigFault::parsed(&fault, text))?;
        read.resolve(base);
        read.check()?;
        Ok(read)
    }

    /// JSON Schema 2020-12 of the file.
    #[must_use]
    pub fn schema() -> serde_json::Value {
        let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
        let mut schema = settings.into_generator().into_root_schema_for::<Self>().to_value();
        if let Some(members) = schema.as_object_mut() {
            members.insert("title".to_owned(), "console.toml".into());
        }
        schema
    }

    /// The origin of the pages, such as `https://console.example`.
    #[must_use]
    pub fn origin(&self) -> String {
        let own = || format!("https://{}", self.listen);
        self.url.as_deref().map_or_else(own, |url| url.trim_end_matches('/').to_owned())
    }

    fn resolve(&mut self, base: &Path) {
        let fixed = [
            &mut self.tls.certificate,
            &mut self.tls.key,
            &mut self.identity.certificate,
            &mut self.identity.key,
            &mut self.people_roots,
            &mut self.audit_file,
            &mut self.authority.roots,
        ];
        let optional = [&mut self.audit, &mut self.policies, &mut self.shadow].into_iter().flatten();
        let of_gateways = self.gateways.iter_mut().filter_map(|gateway| gateway.roots.as_mut());
        for path in fixed.into_iter().chain(optional).chain(of_gateways) {
            *path = base.join(&path);
        }
    }

    fn check(&self) -> Result<(), ConfigFault> {
        let origin = self.origin();
        let parsed = Url::parse(&origin).ok().filter(|url| url.scheme() == "https" && url.path() == "/");
        if parsed.is_none_or(|url| url.origin().ascii_serialization() != origin) {
            return Err(ConfigFault::rule("`url` must be an `https` origin without a path, in lower case"));
        }
        https("authority.url", &self.authority.url)?;
        let mut names = BTreeSet::new();
        for gateway in &self.gateways {
            gateway.check()?;
            if !names.insert(&gateway.name) {
                return Err(ConfigFault::rule(format_args!("`gateway.name` names `{}` twice", gateway.name)));
            }
        }
        if self.persons.is_empty() {
            return Err(ConfigFault::rule("`person` is missing: without one nobody could log in"));
        }
        let (mut ids, mut humans) = (BTreeSet::new(), BTreeSet::new());
        for person in &self.persons {
            person.check()?;
            if !ids.insert(&person.id) || person.human.as_ref().is_some_and(|human| !humans.insert(human)) {
                return Err(ConfigFault::rule(format_args!("`person` names `{}` twice", person.id)));
            }
        }
        self.check_link()
    }

    fn check_link(&self) -> Result<(), ConfigFault> {
        let Some(link) = &self.link else { return Ok(()) };
        let reached = Url::parse(&self.origin()).is_ok_and(|url| is_loopback(&url));
        if !self.listen.ip().is_loopback() || !reached {
            return Err(ConfigFault::rule(
                "`link` is for a console on loopback alone, in `listen` and `url`: off it, people log in by certificate",
            ));
        }
        match self.persons.iter().any(|person| person.human.as_ref() == Some(link)) {
            true => Ok(()),
            false => Err(ConfigFault::rule("`link` must be the `human` of a `[[person]]`")),
        }
    }
}

impl GatewayConfig {
    fn check(&self) -> Result<(), ConfigFault> {
        let named = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        if !(1..=64).contains(&self.name.len()) || !self.name.bytes().all(named) {
            return Err(ConfigFault::rule(
                "`gateway.name` must be 1 to 64 letters, digits, hyphens, dots, underscores",
            ));
        }
        let admin =
            Url::parse(&self.admin).map_err(|_| ConfigFault::rule("`gateway.admin` must be a url"))?;
        match admin.scheme() {
            "https" => {}
            "http" if is_loopback(&admin) => {}
            _ => return Err(ConfigFault::rule("`gateway.admin` must be `https`, or `http` on loopback")),
        }
        if let Some(approvals) = &self.approvals {
            https("gateway.approvals", approvals)?;
        }
        let secured = admin.scheme() == "https" || self.approvals.is_some();
        match secured && self.roots.is_none() {
            true => Err(ConfigFault::rule(
                "`gateway.roots` is missing: `https` addresses are verified under them",
            )),
            false => Ok(()),
        }
    }
}

impl PersonConfig {
    fn check(&self) -> Result<(), ConfigFault> {
        if SpiffeId::parse(&self.id).is_err() {
            return Err(ConfigFault::rule("`person.id` must be a spiffe id"));
        }
        if self.human.as_ref().is_some_and(|human| !human.starts_with("human://")) {
            return Err(ConfigFault::rule("`person.human` must begin with `human://`"));
        }
        if self.roles.is_empty() {
            return Err(ConfigFault::rule(format_args!("`person.roles` of `{}` is empty", self.id)));
        }
        match self.roles.contains(&Role::Approver) && self.human.is_none() {
            true => Err(ConfigFault::rule(format_args!(
                "`person.human` is missing: `{}` is an approver",
                self.id
            ))),
            false => Ok(()),
        }
    }
}

fn https(key: &str, text: &str) -> Result<(), ConfigFault> {
    let fits = Url::parse(text).is_ok_and(|url| url.scheme() == "https" && url.has_host());
    if fits { Ok(()) } else { Err(ConfigFault::rule(format_args!("`{key}` must be an `https` url"))) }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

#[cfg(test)]
mod tests;
