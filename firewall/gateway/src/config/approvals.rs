//! `[approvals]`: people who decide, and where they are reached.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use semgate_approvals::{BookSettings, HumanId};
use semgate_certs::SpiffeId;
use semgate_policies::Approvers;
use serde::{Deserialize, Serialize};

use super::address::public_url;
use super::read::{between, number, one, text};
use super::{Config, ConfigFault, EgressConfig, MailConfig, SlackConfig};

/// Approvals by people. Without this table, a message that needs a person is refused with `approval_required`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalsConfig {
    /// Address for people and their chat services: https with the certificate of `[tls]`.
    #[schemars(with = "String")]
    pub listen: SocketAddr,
    /// The address as people see it, if not `listen`.
    #[serde(default, deserialize_with = "public_url")]
    pub url: Option<String>,
    /// Directory of Human Cards.
    pub humans: PathBuf,
    /// Key of sealed endpoints in cards; without it every endpoint is plain.
    #[serde(default)]
    pub card_key: Option<PathBuf>,
    /// SPIFFE ids of operators, who may make enrolment links.
    #[serde(default)]
    pub operators: Vec<String>,
    /// People who decide where a demand names nobody.
    #[serde(with = "one", default = "ApprovalsConfig::everyone")]
    #[schemars(with = "String")]
    pub approvers: Approvers,
    /// SPIFFE ids of consoles that act for people they have logged in.
    #[serde(default)]
    pub console: Vec<String>,
    /// Base address of the console, for links to a request.
    #[serde(default, deserialize_with = "public_url")]
    pub page: Option<String>,
    /// Seconds for which a caller is held. 20: common clients give up after 30.
    #[serde(default = "number::<20>", deserialize_with = "between::<_, _, 0, 25>")]
    pub hold_seconds: u64,
    /// Seconds to use an approval. 300: an agent that was sent away comes back within minutes.
    #[serde(default = "number::<300>", deserialize_with = "between::<_, _, 1, 86_400>")]
    pub use_seconds: u64,
    /// Clicks in Slack.
    pub slack: Option<SlackConfig>,
    /// Mail.
    pub mail: Option<MailConfig>,
    /// Targets of webhooks and callbacks.
    pub egress: Option<EgressConfig>,
}

text!(
    Approvers,
    "`capability:NAME`, `group:NAME` or `human://NAME`",
    |text| Approvers::parse(text).ok().filter(names_somebody),
    ToString::to_string
);

/// Returns false for a person's id that no card can have.
fn names_somebody(approvers: &Approvers) -> bool {
    !matches!(approvers, Approvers::Human(id) if HumanId::parse(id).is_none())
}

impl ApprovalsConfig {
    fn everyone() -> Approvers {
        Approvers::Capability("approver".into())
    }

    /// Time for which a caller is held.
    pub(crate) fn hold(&self) -> Duration {
        Duration::from_secs(self.hold_seconds)
    }

    /// Settings of the book.
    pub(crate) fn book(&self) -> BookSettings {
        BookSettings { approvers: self.approvers.clone(), use_seconds: self.use_seconds }
    }

    /// Base address of the listener for people, as they see it.
    #[must_use]
    pub fn base(&self) -> String {
        let own = || format!("https://{}", self.listen);
        self.url.as_ref().map_or_else(own, |url| url.trim_end_matches('/').to_owned())
    }

    /// Address at which people see a request, if there is a console.
    pub(crate) fn location(&self, id: &semgate_approvals::HoldId) -> Option<String> {
        self.page.as_ref().map(|page| format!("{}/approvals/{id}", page.trim_end_matches('/')))
    }

    /// Files that only the gateway may read.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &PathBuf> {
        let slack = self.slack.iter().map(|slack| &slack.signing_secret);
        slack.chain(self.mail.iter().flat_map(|mail| &mail.credentials))
    }

    /// Every path of a file or directory.
    pub(super) fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let slack = self.slack.iter_mut().map(|slack| &mut slack.signing_secret);
        let roots = self.egress.iter_mut().flat_map(|egress| &mut egress.roots);
        let mail = self.mail.iter_mut().flat_map(MailConfig::paths);
        std::iter::once(&mut self.humans).chain(&mut self.card_key).chain(slack).chain(roots).chain(mail)
    }

    /// # Errors
    /// Refuses an address without the gateway's certificate, and consoles that nobody can prove.
    pub(super) fn check(&self, config: &Config) -> Result<(), ConfigFault> {
        if config.tls.is_none() {
            return Err(ConfigFault::missing("tls", "`[approvals]` needs the gateway's own certificate"));
        }
        self.mail.as_ref().map_or(Ok(()), MailConfig::check)?;
        self.egress.as_ref().map_or(Ok(()), EgressConfig::check)?;
        let domain = |id: &String| SpiffeId::parse(id).map(|id| id.trust_domain().as_str().to_owned());
        let is_known =
            |id| domain(id).is_ok_and(|name| config.trust_domains.iter().any(|domain| domain.name == name));
        match self.console.iter().chain(&self.operators).all(is_known) {
            true => Ok(()),
            false => Err(ConfigFault::value(
                "approvals.console",
                "spiffe ids of a `[[trust_domain]]`, as `operators`",
            )),
        }
    }
}
