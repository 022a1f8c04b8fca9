//! Other gateways for the comparison of checkpoints.

use std::collections::HashSet;
use std::path::Path;

use super::raw::FilePeer;
use super::rules::once;
use super::{ConfigFault, PeerConfig, Upstream};

/// Maximum number of peers. The gateway asks each every `limits.peer_interval`; a few in other networks suffice.
const MAX_PEERS: usize = 32;

pub(super) fn peers(files: &[FilePeer], base: &Path) -> Result<Vec<PeerConfig>, ConfigFault> {
    let mut names = HashSet::new();
    if files.len() > MAX_PEERS {
        return Err(ConfigFault::value("peer", "at most 32 gateways"));
    }
    files.iter().map(|file| peer(file, base, &mut names)).collect()
}

fn peer<'a>(
    file: &'a FilePeer,
    base: &Path,
    names: &mut HashSet<&'a str>,
) -> Result<PeerConfig, ConfigFault> {
    if file.name.is_empty() || file.name.len() > 128 || file.name.bytes().any(|b| !b.is_ascii_graphic()) {
        return Err(ConfigFault::value("peer.name", "up to 128 visible characters"));
    }
    once(names, "peer.name", &file.name)?;
    let url = Upstream::parse(&file.url, base).filter(|url| (url.tls || url.local()) && url.path == "/");
    let url = url.ok_or_else(|| {
        ConfigFault::value(
            "peer.url",
            "`https://host:port` without a path, or `http://` or `unix:` on this machine",
        )
    })?;
    if url.tls != file.tls_roots.is_some() {
        return Err(ConfigFault::value("peer.tls_roots", "the roots of an https peer, and of no other"));
    }
    Ok(PeerConfig {
        name: file.name.clone(),
        url,
        tls_roots: file.tls_roots.as_ref().map(|path| base.join(path)),
    })
}
