//! The trust below a split root for commands without a log: the keys that its trust list names.

use std::path::{Path, PathBuf};

use clap::Args;
use semgate_certs::Roots;
use semgate_contexts::Prefix;
use semgate_statement::root::{Anchors, MAX_ROOT_KEYS};
use semgate_statement::{LogVerifier, RootKnowledge, Trust};

use crate::fault::{Doing, Fault};
use crate::system::read;

/// Options for a root that may be split among several keys.
#[derive(Debug, Args)]
pub struct RootTrustArgs {
    /// Number of root keys that spoke for the root before the first trust list; above 1 nothing counts without `--trust`
    #[arg(long, value_name = "N", default_value_t = 1, requires = "log_key", value_parser = clap::value_parser!(u64).range(1..=MAX_ROOT_KEYS as u64))]
    root_threshold: u64,
    /// The file served at `/v1/trust` (`v1/trust` in a mirror). The issuing certificates and log keys of its trust list count, once enough
    /// root keys have signed it; signatures of compromised keys are refused
    #[arg(long, value_name = "FILE", requires = "log_key")]
    trust: Option<PathBuf>,
}

/// The keys that count below a root.
pub struct RootTrust {
    /// The roots, with the issuing certificates that count.
    pub roots: Roots,
    /// The keys of the log.
    pub log: LogVerifier,
    /// The root's statements, if a trust document was given.
    pub root_knowledge: Option<RootKnowledge>,
}

impl RootTrustArgs {
    /// Does the same as [`resolve_roots`].
    ///
    /// # Errors
    /// As for `counted`.
    pub fn resolve(&self, roots: Roots, log: &LogVerifier) -> Result<RootTrust, Fault> {
        resolve_roots(roots, log, self.root_threshold, self.trust.as_deref())
    }
}

/// Reports that fewer root keys speak than were demanded. That many signed the trust list, and its own number counts from it on.
pub fn tell_threshold(demanded: u64, counts: u64) {
    if counts < demanded {
        tell!(
            "note: {counts} root keys speak for the root by its trust list, which {demanded} of them signed: `--root-threshold {demanded}` applies up to that list"
        );
    }
}

/// The roots with their valid issuing certificates, and the log keys: as given, or from the trust list in the file. A threshold of the root
/// keys must have signed that list. Without the file, warns that compromised keys go unnoticed.
///
/// # Errors
/// A threshold above one without a file; or a file that fails verification, or has no trust list.
pub fn resolve_roots(
    roots: Roots,
    log: &LogVerifier,
    threshold: u64,
    trust: Option<&Path>,
) -> Result<RootTrust, Fault> {
    let unlisted = |why: &str| {
        Fault::new(format_args!("the issuing certificate is not in the trust list: {why}")).hint(
            "one root key alone can make any issuing certificate: give the file that the authority serves at `/v1/trust` as `--trust FILE`",
        )
    };
    let Some(file) = trust else {
        if threshold > 1 {
            return Err(unlisted("none was given"));
        }
        tell!("not checked: whether the root has named the signer's key as compromised (give `--trust`)");
        return Ok(RootTrust { roots, log: log.clone(), root_knowledge: None });
    };
    let shown = format!("`{}`", file.display());
    let trust = Trust::read(read(file)?.as_bytes(), roots.limits())
        .hinted(&shown, "name a file that an authority serves at `/v1/trust`")?;
    let configured = Anchors::new(trust.authority(), log.name(), &roots, threshold, log);
    let anchors = configured.with_entries(trust.root(), u64::MAX, &Prefix::default()).map_err(|fault| {
        Fault::new(format_args!("{shown} is not valid: {fault}")).hint(
            "check that roots, threshold and log key belong to this authority; if so, keep the file as evidence",
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
