//! What counts below the root of an authority whose root is split among several keys, where no log is at hand: what its trust list names.

use std::path::{Path, PathBuf};

use clap::Args;
use semgate_certs::Roots;
use semgate_contexts::Prefix;
use semgate_statement::root::{Anchors, MAX_ROOT_KEYS};
use semgate_statement::{LogVerifier, RootKnowledge, Trust};

use crate::fault::{Doing, Fault};
use crate::system::read;

/// The root of an authority, where it may be split among several keys.
#[derive(Debug, Args)]
pub struct RootTrustArgs {
    /// How many root keys spoke for the root before the first trust list; above 1 nothing counts without `--trust`
    #[arg(long, value_name = "N", default_value_t = 1, requires = "log_key", value_parser = clap::value_parser!(u64).range(1..=MAX_ROOT_KEYS as u64))]
    root_threshold: u64,
    /// What the authority serves at `/v1/trust`, or a mirror has as `v1/trust`: then the issuing certificates and log keys of the trust list
    /// in it count, once enough root keys have signed it, and nothing that a key gave which the root has named as compromised
    #[arg(long, value_name = "FILE", requires = "log_key")]
    trust: Option<PathBuf>,
}

/// What counts below a root.
pub struct RootTrust {
    /// The roots, with the issuing certificates that count.
    pub roots: Roots,
    /// The keys of the log.
    pub log: LogVerifier,
    /// What the root has said, where a trust document was given.
    pub root_knowledge: Option<RootKnowledge>,
}

impl RootTrustArgs {
    /// As [`resolve_roots`].
    ///
    /// # Errors
    /// As there.
    pub fn resolve(&self, roots: Roots, log: &LogVerifier) -> Result<RootTrust, Fault> {
        resolve_roots(roots, log, self.root_threshold, self.trust.as_deref())
    }
}

/// That fewer root keys speak than were demanded: as many as were signed the trust list that says so, and from it on its own number counts.
pub fn tell_threshold(demanded: u64, counts: u64) {
    if counts < demanded {
        tell!(
            "note: {counts} root keys speak for the root, as its trust list says, which {demanded} of them signed: `--root-threshold {demanded}` holds up to that list"
        );
    }
}

/// The roots with the issuing certificates that count below them, and the keys of the log: as they were told, or as the trust list in the
/// file has it, which a threshold of the root keys must have signed. Without the file it says that nobody looks for compromised keys.
///
/// # Errors
/// A threshold above one, and no file; a file that does not hold, or has no trust list in it then.
pub fn resolve_roots(
    roots: Roots,
    log: &LogVerifier,
    threshold: u64,
    trust: Option<&Path>,
) -> Result<RootTrust, Fault> {
    let unlisted = |why: &str| {
        Fault::new(format_args!("the issuing certificate is not in the trust list: {why}")).hint(
            "one root key alone makes any issuing certificate: give what the authority serves at `/v1/trust` as `--trust FILE`",
        )
    };
    let Some(file) = trust else {
        if threshold > 1 {
            return Err(unlisted("none was given"));
        }
        tell!(
            "not checked: whether the root has named the signer's key as compromised (that takes `--trust`)"
        );
        return Ok(RootTrust { roots, log: log.clone(), root_knowledge: None });
    };
    let shown = format!("`{}`", file.display());
    let trust = Trust::read(read(file)?.as_bytes(), roots.limits())
        .hinted(&shown, "what an authority serves at `/v1/trust` is meant")?;
    let configured = Anchors::new(trust.authority(), log.name(), &roots, threshold, log);
    let anchors = configured.with_entries(trust.root(), u64::MAX, &Prefix::default()).map_err(|fault| {
        Fault::new(format_args!("{shown} does not hold: {fault}")).hint(
            "are roots, threshold and log key those of this authority? If so, keep the file as evidence",
        )
    })?;
    if let Some(key) = anchors.unlisted_log_keys().next() {
        return Err(super::unlisted(key));
    }
    tell_threshold(threshold, anchors.threshold());
    if threshold > 1 && anchors.list().is_none() {
        return Err(unlisted("there is none in the file"));
    }
    Ok(RootTrust {
        roots: anchors.roots().clone(),
        log: anchors.log().clone(),
        root_knowledge: Some(RootKnowledge { anchors, trust }),
    })
}
