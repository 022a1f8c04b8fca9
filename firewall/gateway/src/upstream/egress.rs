//! Egress of a route: the only way out for the agent's own notifications (A2A push notifications).
//!
//! The agent gets an address of the push lane, with an unguessable token, in place of the caller's target. The target's
//! credentials stay in the gateway. A notification posted there is judged like an event of the task's stream, and then
//! delivered.

pub(crate) mod deliver;
pub(crate) mod outbound;
pub(crate) mod target;

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use semgate_inspect::{Code, Refusal};

use crate::config::PushConfig;
use crate::fault::RunFault;
use crate::pipeline::admit::host::Names;
use outbound::Outbound;
use target::Targets;

/// Bytes of a token: the length of a key, so that it cannot be guessed.
const TOKEN: usize = 32;
/// Length of a token as base64url text.
const TOKEN_TEXT: usize = 43;

/// The push lane of one route on one core.
pub(crate) struct Egress {
    /// Address given to the agent, up to the token.
    base: String,
    /// Path of that address.
    path: String,
    pub(crate) out: Outbound,
    /// Names of the listener.
    pub(crate) names: Names,
    random: SystemRandom,
}

impl fmt::Debug for Egress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "egress at {}", self.base)
    }
}

impl Egress {
    /// Creates the egress. `url` is the agent's address of the push lane.
    ///
    /// # Errors
    /// Unreadable or invalid roots.
    pub(crate) fn new(push: &PushConfig, url: &str) -> Result<Self, RunFault> {
        let base = format!("{}/", url.trim_end_matches('/'));
        let rest = base.split_once("://").map_or(base.as_str(), |(_, rest)| rest);
        let path = rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/").to_owned();
        let targets = Targets { rules: push.targets.clone(), networks: push.networks.clone() };
        let out = Outbound::new(targets, push.roots.as_deref())?;
        let names = Names::of_lane(push, url);
        Ok(Self { base, path, out, names, random: SystemRandom::new() })
    }

    /// Draws a token for one configuration.
    ///
    /// # Errors
    /// Refuses the configuration if the system has no randomness.
    pub(crate) fn token(&self) -> Result<String, Refusal> {
        let mut bytes = [0; TOKEN];
        self.random.fill(&mut bytes).map_err(|_| {
            Refusal::new(Code::UpstreamUnavailable, "cannot create an address for the push configuration")
                .with_hint("try again later")
                .with_detail("the system's random source failed")
        })?;
        Ok(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Address given to the agent.
    pub(crate) fn address(&self, token: &str) -> String {
        format!("{}{token}", self.base)
    }

    /// Token of an address given to the agent.
    pub(crate) fn token_of<'u>(&self, url: &'u str) -> Option<&'u str> {
        token(url.strip_prefix(&self.base)?)
    }

    /// Token in the path of the agent's request.
    pub(crate) fn posted_to<'p>(&self, path: &'p str) -> Option<&'p str> {
        token(path.strip_prefix(&self.path)?)
    }
}

fn token(text: &str) -> Option<&str> {
    let fits =
        text.len() == TOKEN_TEXT && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    fits.then_some(text)
}

/// Refusal of a target.
pub(crate) fn refused() -> Refusal {
    Refusal::new(Code::TargetRefused, "notifications are not delivered to this address")
        .with_hint("ask the operator which addresses the route delivers to")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn egress(url: &str) -> Egress {
        let targets = Targets { rules: Vec::new(), networks: Vec::new() };
        let push = PushConfig {
            listen: crate::config::Listen::Tcp("127.0.0.1:0".parse().unwrap()),
            plain: true,
            url: None,
            targets: targets.rules,
            roots: None,
            networks: targets.networks,
        };
        Egress::new(&push, url).unwrap()
    }

    #[test]
    fn a_token_is_found_in_what_the_agent_was_told_and_nowhere_else() {
        for (url, path) in [("http://127.0.0.1:9", "/"), ("https://gw.test/push/", "/push/")] {
            let egress = egress(url);
            let (one, two) = (egress.token().unwrap(), egress.token().unwrap());
            assert_ne!(one, two);
            let address = egress.address(&one);
            assert_eq!(egress.token_of(&address), Some(one.as_str()));
            assert_eq!(egress.posted_to(&format!("{path}{one}")), Some(one.as_str()));
            for other in
                [format!("{address}/"), format!("{address}?x"), address.replace("://", "://x"), String::new()]
            {
                assert_eq!(egress.token_of(&other), None, "{other}");
            }
            assert_eq!(egress.posted_to(&format!("{path}{}", &one[1..])), None);
        }
    }
}
