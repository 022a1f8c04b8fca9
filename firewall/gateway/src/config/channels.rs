//! `[approvals.slack]`, `[approvals.mail]` and `[approvals.egress]`: how people are reached.

use std::net::IpAddr;
use std::path::PathBuf;

use ipnet::IpNet;
use lettre::Address;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ConfigFault;
use super::read::{list, one, some, text};
use crate::upstream::egress::target::{Rule, Targets};

/// Clicks in Slack. Messages to Slack need `[approvals.egress]` only.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlackConfig {
    /// File with the signing secret of the Slack app, file mode 0600.
    pub signing_secret: PathBuf,
}

/// Mail to people.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MailConfig {
    /// Server that takes the mails: `smtps://HOST`, `starttls://HOST`, or `smtp://` to a loopback address.
    #[serde(with = "one")]
    #[schemars(with = "String")]
    pub server: MailServer,
    /// Sender of the mails.
    #[serde(with = "one")]
    #[schemars(with = "String")]
    pub from: Address,
    /// File with `USER:PASSWORD`, file mode 0600.
    pub credentials: Option<PathBuf>,
    /// PEM roots of the server's certificate; without it those of the system.
    pub roots: Option<PathBuf>,
}

/// Targets of webhooks and callbacks. Everything else is refused.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EgressConfig {
    /// Permitted targets.
    #[serde(with = "some")]
    #[schemars(with = "Vec<String>")]
    pub(crate) targets: Vec<Rule>,
    /// PEM roots of the targets' certificates.
    pub roots: Option<PathBuf>,
    /// Non-public addresses that are permitted.
    #[serde(default, with = "list")]
    #[schemars(with = "Vec<String>")]
    pub(crate) networks: Vec<IpNet>,
}

impl EgressConfig {
    /// The permitted targets.
    pub(crate) fn permitted(&self) -> Targets {
        Targets { rules: self.targets.clone(), networks: self.networks.clone() }
    }

    /// Returns true for a permitted target.
    pub(crate) fn lists(&self, url: &str) -> bool {
        self.permitted().listed(url).is_ok()
    }
}

/// Protection of the connection to a mail server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailSecurity {
    /// TLS from the first byte.
    Implicit,
    /// TLS after the `STARTTLS` command, without which nothing is sent.
    StartTls,
    /// None, on a loopback address.
    Loopback,
}

/// Address of a mail server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailServer {
    /// Protection.
    pub security: MailSecurity,
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
}

text!(
    MailServer,
    "`smtps://HOST`, `starttls://HOST`, or `smtp://ADDRESS` on loopback",
    MailServer::parse,
    MailServer::text
);

text!(Address, "a mail address", |text| text.parse().ok(), ToString::to_string);

impl MailServer {
    fn parse(text: &str) -> Option<Self> {
        let url = url::Url::parse(text).ok()?;
        let (security, port) = match url.scheme() {
            "smtps" => (MailSecurity::Implicit, 465),
            "starttls" => (MailSecurity::StartTls, 587),
            "smtp" => (MailSecurity::Loopback, 25),
            _ => return None,
        };
        let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
        let server = Self { security, host, port: url.port().unwrap_or(port) };
        let is_bare = matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
        let is_anonymous = url.username().is_empty() && url.password().is_none();
        (is_bare && is_anonymous && (security != MailSecurity::Loopback || server.is_local()))
            .then_some(server)
    }

    fn is_local(&self) -> bool {
        self.host == "localhost" || self.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    fn text(&self) -> String {
        let scheme = match self.security {
            MailSecurity::Implicit => "smtps",
            MailSecurity::StartTls => "starttls",
            MailSecurity::Loopback => "smtp",
        };
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("{scheme}://{host}:{}", self.port)
    }
}

impl MailConfig {
    /// # Errors
    /// Refuses a password on a connection without TLS.
    pub(super) fn check(&self) -> Result<(), ConfigFault> {
        let is_plain = self.server.security == MailSecurity::Loopback;
        match is_plain && self.credentials.is_some() {
            true => {
                Err(ConfigFault::value("approvals.mail.credentials", "left out on a connection without TLS"))
            }
            false => Ok(()),
        }
    }

    pub(super) fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        self.credentials.iter_mut().chain(&mut self.roots)
    }
}

impl EgressConfig {
    /// # Errors
    /// Refuses https without roots.
    pub(super) fn check(&self) -> Result<(), ConfigFault> {
        match self.roots.is_none() && self.targets.iter().any(Rule::is_tls) {
            true => Err(ConfigFault::missing(
                "approvals.egress.roots",
                "without it no certificate of a target can be verified",
            )),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::read::Text;

    #[test]
    fn a_mail_server_has_tls_or_is_on_this_machine() {
        for (text, written) in [
            ("smtps://mail.example", "smtps://mail.example:465"),
            ("starttls://mail.example:2587", "starttls://mail.example:2587"),
            ("smtp://127.0.0.1:2525", "smtp://127.0.0.1:2525"),
            ("smtp://[::1]", "smtp://[::1]:25"),
        ] {
            let server = MailServer::read(text).unwrap();
            assert_eq!(server.write(), written);
            assert_eq!(MailServer::read(written), Ok(server));
        }
        for text in [
            "smtp://mail.example",
            "smtp://10.0.0.1:25",
            "smtps://user:pass@mail.example",
            "smtps://mail.example/?tls=none",
            "smtps://",
            "https://mail.example",
            "mail.example",
        ] {
            assert!(MailServer::read(text).is_err(), "{text}");
        }
    }
}
