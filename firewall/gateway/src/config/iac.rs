//! Options of routes for IAC agents.

use std::path::PathBuf;

use schemars::JsonSchema;
use semgate_contexts::Digest;
use serde::{Deserialize, Deserializer, Serialize};

use super::read::{between, fault, one, text};
use super::{ConfigFault, Endpoint, Listen, RouteConfig};

/// The most dictionaries of a route.
const MOST_DICTIONARIES: usize = 16;

/// Options of IAC.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IacOptions {
    /// File of the Ed25519 key that signs the gateway's own replies, PEM PKCS#8, mode 0600. Required.
    pub signing_key: Option<PathBuf>,
    /// Digest of the agent's certificate. Required off loopback; without it any certificate is accepted there.
    #[serde(with = "pin")]
    #[schemars(with = "Option<String>")]
    pub upstream_certificate: Option<Digest>,
    /// Congestion control of QUIC.
    #[serde(with = "one")]
    #[schemars(with = "String")]
    pub congestion: Congestion,
    /// Bytes of one frame as it arrives, compressed. 64 KiB: the stock server takes no more.
    #[serde(deserialize_with = "between::<_, _, 256, 67_108_864>")]
    pub frame_bytes: usize,
    /// Bytes of one file over all its chunks. 64 MiB.
    #[serde(deserialize_with = "between::<_, _, 1, 1_099_511_627_776>")]
    pub file_bytes: u64,
    /// Zstd dictionaries that frames may use.
    #[serde(deserialize_with = "dictionaries")]
    pub dictionaries: Vec<ZstdDictionary>,
}

/// A dictionary that frames name by its id.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZstdDictionary {
    /// File in the format of RFC 8878, section 5.
    pub file: PathBuf,
    /// Digest of the file.
    #[serde(with = "digest")]
    #[schemars(with = "String")]
    pub digest: Digest,
}

impl Default for IacOptions {
    fn default() -> Self {
        Self {
            signing_key: None,
            upstream_certificate: None,
            congestion: Congestion::Cubic,
            frame_bytes: 64 << 10,
            file_bytes: 64 << 20,
            dictionaries: Vec::new(),
        }
    }
}

/// Congestion control of QUIC connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// CUBIC (RFC 9438).
    Cubic,
    /// BBR, which IAC recommends.
    Bbr,
}

text!(
    Congestion,
    "`cubic` or `bbr`",
    |text| match text {
        "cubic" => Some(Congestion::Cubic),
        "bbr" => Some(Congestion::Bbr),
        _ => None,
    },
    |choice| match choice {
        Congestion::Cubic => "cubic".to_owned(),
        Congestion::Bbr => "bbr".to_owned(),
    }
);

fn dictionaries<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<ZstdDictionary>, D::Error> {
    let all = Vec::deserialize(d)?;
    if all.len() > MOST_DICTIONARIES {
        return Err(fault("at most 16 dictionaries"));
    }
    Ok(all)
}

/// Serde functions of a digest.
mod digest {
    use super::{Digest, fault};
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Digest, D::Error> {
        Digest::parse(&String::deserialize(d)?).map_err(|_| fault("`sha-256:` and 64 hex digits"))
    }

    pub(super) fn serialize<S: Serializer>(digest: &Digest, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(digest)
    }
}

/// Serde functions of a digest that may be absent.
mod pin {
    use super::{Digest, digest};
    use serde::{Deserializer, Serializer};

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Digest>, D::Error> {
        digest::deserialize(d).map(Some)
    }

    pub(super) fn serialize<S: Serializer>(digest: &Option<Digest>, s: S) -> Result<S::Ok, S::Error> {
        match digest {
            Some(digest) => s.collect_str(digest),
            None => s.serialize_none(),
        }
    }
}

/// Checks addresses and options of routes whose messages are signed, and that no other route uses QUIC.
///
/// # Errors
/// Refuses an option that identifies callers otherwise, an upstream over HTTP, and one off this machine without
/// `upstream_certificate`.
pub(super) fn check(route: &RouteConfig) -> Result<(), ConfigFault> {
    let wrong = |name: &str, must: &str| {
        let key = format!("route `{}`: {name}", route.name);
        Err(ConfigFault::value(key, must))
    };
    let quic = matches!(route.upstream.endpoint, Endpoint::Quic(..));
    if !route.binding.protocol().traits().signs_messages {
        return match (&route.listen, quic) {
            (Listen::Quic(_), _) => wrong("listen", "without `quic://` unless the binding is `iac`"),
            (_, true) => wrong("upstream", "without `quic://` unless the binding is `iac`"),
            _ => Ok(()),
        };
    }
    let strange = [
        ("plain_sender", route.plain_sender.is_some()),
        ("public_url", route.public_url.is_some()),
        ("forward_authorization", route.forward_authorization),
        ("api_key_header", route.api_key_header.is_some()),
        ("upstream_http2", route.agent.upstream_http2),
        ("answer_from_code_lists", route.speech.answer_from_code_lists),
    ];
    if let Some((name, _)) = strange.into_iter().find(|(_, set)| *set) {
        return wrong(name, "left out: each message is signed by its sender, and none travels over HTTP");
    }
    if route.agent.handshake.as_ref().is_some_and(|choice| choice.agent) {
        return wrong(
            "handshake",
            "without `agent`: the gateway answers for an agent whose messages are signed",
        );
    }
    if !quic && !matches!(route.upstream.endpoint, Endpoint::Unix(_)) {
        return wrong("upstream", "`quic://host:port` or `unix:/path`");
    }
    if route.iac.upstream_certificate.is_some() && !quic {
        return wrong("upstream_certificate", "left out unless `upstream` is `quic://`");
    }
    if route.iac.signing_key.is_none() {
        let key = format!("route `{}`: signing_key", route.name);
        return Err(ConfigFault::missing(key, "it signs the gateway's refusals"));
    }
    Ok(())
}
