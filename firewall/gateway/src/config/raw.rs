//! The configuration file as written: strings, and a closed set of keys.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use semgate_inspect::Undefined;
use serde::{Deserialize, Serialize};

use super::choices::HandshakeChoice;
use super::issuer::FileIssuer;
use super::limits::FileLimits;
use super::push::FilePush;
use super::span::Span;
use super::{
    AuthorityConfig, CardChoice, Config, IdentityFiles, PolicyPlace, Protocol, RouteConfig, TrustDomain,
};

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub state: PathBuf,
    pub admin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policies: Option<PathBuf>,
    pub audit: PathBuf,
    pub audit_fsync: Option<bool>,
    pub workers: Option<u64>,
    pub prefix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_secret: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<FileTls>,
    #[serde(default)]
    pub floors: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_bundle: Option<FileBundle>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<FileShadow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_values: Option<BTreeMap<String, String>>,
    #[serde(default)]
    pub limits: FileLimits,
    #[serde(default)]
    pub trust_domain: Vec<FileDomain>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credential_issuer: Vec<FileIssuer>,
    #[serde(default)]
    pub authority: Vec<FileAuthority>,
    #[serde(default)]
    pub route: Vec<FileRoute>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileTls {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileHandshake {
    pub certificate: PathBuf,
    pub key: PathBuf,
    pub agent: Option<bool>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileBundle {
    pub file: PathBuf,
    pub roots: PathBuf,
    pub signers: Vec<String>,
    pub require_analysed: Option<bool>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileShadow {
    pub policies: PathBuf,
    pub one_in: Option<u64>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileDomain {
    pub name: String,
    pub roots: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crls: Option<FileCrls>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileCrls {
    pub authority: String,
    pub shards: u32,
    pub sets: Option<Vec<String>>,
    pub every: Option<Span>,
}

impl FileDomain {
    fn of(domain: &TrustDomain) -> Self {
        let crls = domain.crls.as_ref().map(|crls| FileCrls {
            authority: crls.authority.clone(),
            shards: crls.shards,
            sets: Some(crls.sets.clone()),
            every: Some(Span(crls.every)),
        });
        Self { name: domain.name.clone(), roots: domain.roots.clone(), crls }
    }
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileAuthority {
    pub name: String,
    pub url: String,
    pub roots: PathBuf,
    pub root_threshold: Option<u64>,
    pub tls_roots: Option<PathBuf>,
    pub present_certificate: Option<bool>,
    pub origin: String,
    pub log_key: String,
    pub lines: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub witnesses: Vec<String>,
    pub witness_quorum: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recognised_by: Option<String>,
    pub distrusted: Option<bool>,
    pub max_status_age: Option<Span>,
    pub poll: Option<Span>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileRoute {
    pub name: String,
    pub listen: String,
    pub binding: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub receiver: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub upstream: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub members: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_replies: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_time: Option<Span>,
    pub upstream_http2: Option<bool>,
    pub contexts: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plain_sender: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versions: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transports: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_context: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_contexts: Option<Vec<String>>,
    pub admit: Option<Vec<String>>,
    pub keeps_callers_apart: Option<bool>,
    pub require_lock: Option<bool>,
    pub answer_from_code_lists: Option<bool>,
    pub undefined: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origins: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unnamed_tools: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub null_arguments: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json_lines: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withhold_stray_progress: Option<bool>,
    pub forward_authorization: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization_servers: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_header: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub websocket: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card_from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card_keys: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card_texts: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handshake: Option<FileHandshake>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub push: Option<FilePush>,
}

impl File {
    pub(super) fn of(config: &Config) -> Self {
        Self {
            state: config.state.clone(),
            admin: Some(config.admin.to_string()),
            policies: match &config.policies {
                PolicyPlace::Directory(path) => Some(path.clone()),
                PolicyPlace::Bundle(_) => None,
            },
            policy_bundle: match &config.policies {
                PolicyPlace::Directory(_) => None,
                PolicyPlace::Bundle(bundle) => Some(FileBundle {
                    file: bundle.file.clone(),
                    roots: bundle.roots.clone(),
                    signers: bundle.signers.clone(),
                    require_analysed: Some(bundle.require_analysed),
                }),
            },
            audit: config.audit.path.clone(),
            audit_fsync: Some(config.audit.fsync),
            workers: Some(config.workers as u64),
            prefix: Some(config.prefix.as_str().to_owned()),
            lock_secret: config.lock_secret.clone(),
            tls: config.tls.as_ref().map(FileTls::of),
            floors: config
                .floors
                .iter()
                .map(|(line, version)| (line.as_str().to_owned(), version.to_string()))
                .collect(),
            shadow: config
                .shadow
                .as_ref()
                .map(|shadow| FileShadow { policies: shadow.policies.clone(), one_in: Some(shadow.one_in) }),
            audit_values: config.audit.values.as_ref().map(|values| {
                values.iter().map(|(member, keep)| (member.clone(), keep.as_str().to_owned())).collect()
            }),
            limits: FileLimits::of(&config.limits),
            trust_domain: config.trust_domains.iter().map(FileDomain::of).collect(),
            credential_issuer: config.credential_issuers.iter().map(FileIssuer::of).collect(),
            authority: config.authorities.iter().map(FileAuthority::of).collect(),
            route: config.routes.iter().map(FileRoute::of).collect(),
        }
    }

    pub(super) fn print(&self) -> String {
        toml::to_string_pretty(self).unwrap_or_else(|fault| format!("# cannot be printed: {fault}\n"))
    }
}

impl FileTls {
    fn of(files: &IdentityFiles) -> Self {
        Self { certificate: files.certificate.clone(), key: files.key.clone() }
    }

    pub(super) fn under(&self, base: &Path) -> IdentityFiles {
        IdentityFiles { certificate: base.join(&self.certificate), key: base.join(&self.key) }
    }
}

impl FileHandshake {
    fn of(choice: &HandshakeChoice) -> Self {
        let FileTls { certificate, key } = FileTls::of(&choice.identity);
        Self { certificate, key, agent: Some(choice.agent) }
    }

    pub(super) fn under(&self, base: &Path) -> HandshakeChoice {
        let files = FileTls { certificate: self.certificate.clone(), key: self.key.clone() };
        HandshakeChoice { identity: files.under(base), agent: self.agent.unwrap_or(false) }
    }
}

impl FileAuthority {
    fn of(authority: &AuthorityConfig) -> Self {
        Self {
            name: authority.name.clone(),
            url: authority.url.to_string(),
            roots: authority.roots.clone(),
            root_threshold: Some(authority.root_threshold),
            tls_roots: Some(authority.tls_roots.clone()),
            present_certificate: Some(authority.present_certificate),
            origin: authority.origin.clone(),
            log_key: authority.log_key.clone(),
            lines: authority.lines.clone(),
            witnesses: authority.witnesses.clone(),
            witness_quorum: Some(authority.witness_quorum as u64),
            recognised_by: authority.recognised_by.clone(),
            distrusted: Some(authority.distrusted),
            max_status_age: Some(Span(authority.max_status_age)),
            poll: Some(Span(authority.poll)),
        }
    }
}

impl FileRoute {
    fn of(route: &RouteConfig) -> Self {
        let (choices, a2a) = (&route.choices, route.protocol == Protocol::A2a);
        let (plain, mcp) = (route.plain_sender.is_some(), route.protocol == Protocol::Mcp);
        let (card, card_keys) = match &choices.card {
            CardChoice::Rebuilt => ("rebuilt", None),
            CardChoice::Untouched { keys } => ("untouched", Some(keys.clone())),
        };
        let group = choices.group.as_ref();
        let words = |words: Vec<&str>| a2a.then(|| words.into_iter().map(str::to_owned).collect());
        Self {
            name: route.name.clone(),
            listen: route.listen.to_string(),
            binding: route.protocol.as_str().to_owned(),
            receiver: if group.is_some() { String::new() } else { route.receiver.clone() },
            upstream: if group.is_some() { String::new() } else { route.upstream.to_string() },
            group: group.map(|group| group.name.clone()),
            members: group.map(|group| group.members.clone()),
            max_replies: group.map(|group| group.replies as u64),
            reply_time: group.map(|group| Span(group.time)),
            upstream_http2: Some(route.upstream_http2),
            contexts: route.contexts.iter().map(ToString::to_string).collect(),
            plain_sender: route.plain_sender.clone(),
            public_url: route.public_url.clone(),
            versions: words(choices.versions.iter().map(|version| version.as_str()).collect()),
            transports: words(choices.transports.iter().map(|transport| transport.as_str()).collect()),
            default_context: match choices.default_contexts.as_slice() {
                [one] => Some(one.to_string()),
                _ => None,
            },
            default_contexts: Some(&choices.default_contexts)
                .filter(|urns| urns.len() > 1)
                .map(|urns| urns.iter().map(ToString::to_string).collect()),
            admit: Some(choices.admit.words()),
            keeps_callers_apart: Some(choices.keeps_callers_apart),
            require_lock: Some(choices.require_lock),
            answer_from_code_lists: Some(choices.answer_from_code_lists),
            undefined: Some(
                match choices.undefined {
                    Undefined::Reject => "reject",
                    Undefined::Disambiguate => "disambiguate",
                }
                .to_owned(),
            ),
            hosts: plain.then(|| choices.hosts.clone()),
            origins: Some(choices.origins.clone()),
            unnamed_tools: mcp.then(|| choices.unnamed_tools.as_str().to_owned()),
            json_lines: mcp.then_some(choices.streams.json_lines),
            withhold_stray_progress: mcp.then_some(choices.streams.withhold_stray_progress),
            null_arguments: mcp.then(|| choices.null_arguments.as_str().to_owned()),
            meta: (mcp || a2a).then(|| choices.meta.entries().map(str::to_owned).collect()),
            forward_authorization: Some(choices.forward_authorization),
            authorization_servers: choices.authorization_servers.clone(),
            api_key_header: choices.api_key_header.clone(),
            websocket: (route.protocol == Protocol::L8).then_some(choices.websocket),
            card_from: route.card_from.as_ref().map(ToString::to_string),
            card: a2a.then(|| card.to_owned()),
            card_keys,
            card_texts: a2a.then_some(choices.card_texts),
            handshake: choices.handshake.as_ref().map(FileHandshake::of),
            push: choices.push.as_ref().map(FilePush::of),
        }
    }
}
