//! Reasons why an authority is not followed, for the log, `/status` and `check --online`.

use std::fmt;

use semgate_certs::ChainFault;
use semgate_statement::{FollowFault, HeadFault, JwsFault};

use super::fetch::FetchFault;
use crate::upstream::ConnectFault;

/// One reason: the text for people, and a stable name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Obstacle {
    cause: &'static str,
    text: String,
}

impl Obstacle {
    /// Stable name: that of [`ConnectFault::cause`], of [`FollowFault::as_str`], `other_roots`, `http` or `timeout`.
    pub(crate) fn cause(&self) -> &'static str {
        self.cause
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<&FetchFault> for Obstacle {
    fn from(fault: &FetchFault) -> Self {
        let (cause, hint) = match fault {
            FetchFault::Connect(why @ ConnectFault::Tls(_)) => match why.cause() {
                cause @ "unknown_issuer" => (cause, "; check `tls_roots`"),
                cause @ "not_tls" => (cause, "; check the port of `url`"),
                cause @ "other_name" => (cause, "; `url` must have a name of its certificate"),
                cause => (cause, ""),
            },
            FetchFault::Connect(why) => (why.cause(), ""),
            FetchFault::Path | FetchFault::Http(_) => ("http", ""),
            FetchFault::Timeout => ("timeout", ""),
        };
        Self { cause, text: format!("the authority could not be reached: {fault}{hint}") }
    }
}

impl From<&FollowFault> for Obstacle {
    fn from(fault: &FollowFault) -> Self {
        let foreign = matches!(
            fault,
            FollowFault::Head(HeadFault::Jws(JwsFault::Chain(
                ChainFault::UnknownIssuer | ChainFault::BadSignature
            )))
        );
        match foreign {
            true => {
                Self { cause: "other_roots", text: format!("{fault}; its head is not signed under `roots`") }
            }
            false => Self { cause: fault.as_str(), text: fault.to_string() },
        }
    }
}
