//! The witnesses of `authority.toml`.

use std::path::{Path, PathBuf};

use semgate_statement::{CosignerVerifier, Quorum};
use serde::{Deserialize, Serialize};

use super::WitnessConfig;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWitness {
    url: String,
    key: String,
    roots: Option<PathBuf>,
}

impl RawWitness {
    pub fn of(witness: &WitnessConfig) -> Self {
        Self { url: witness.url.clone(), key: witness.key.clone(), roots: witness.roots.clone() }
    }
}

/// Number of cosignatures wanted; all witnesses by default.
pub(super) fn quorum(given: Option<usize>, witnesses: &[RawWitness]) -> Result<usize, String> {
    let need = given.unwrap_or(witnesses.len());
    let keys =
        witnesses.iter().map(|w| CosignerVerifier::parse(&w.key).map_err(|e| format!("`witness.key`: {e}")));
    Quorum::new(keys.collect::<Result<_, _>>()?, need).map_err(|e| format!("`witness_quorum`: {e}"))?;
    Ok(need)
}

pub(super) fn check(witnesses: Vec<RawWitness>, base: &Path) -> Result<Vec<WitnessConfig>, String> {
    let one = |w: RawWitness| {
        let url = is_good(&w.url).ok_or_else(|| {
            format!(
                "`witness.url` is `{}`; it is `https://host[:port][/path]`, or `http://` on loopback",
                w.url
            )
        });
        url.map(|()| WitnessConfig { url: w.url, key: w.key, roots: w.roots.map(|path| base.join(path)) })
    };
    witnesses.into_iter().map(one).collect()
}

fn is_good(url: &str) -> Option<()> {
    let uri: http::Uri = url.parse().ok()?;
    let host = uri.host()?.trim_start_matches('[').trim_end_matches(']');
    let loopback = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    let good = match uri.scheme_str()? {
        "https" => true,
        "http" => loopback,
        _ => false,
    };
    (good && uri.query().is_none()).then_some(())
}
