//! Verifies contexts that an authority serves: under the configured roots, with the issuing certificates and log keys of its current trust
//! list. Reports parts that could not be verified on standard error, whatever the output format.

use std::sync::Arc;

use clap::Args;
use semgate_certs::Roots;
use semgate_contexts::{ContextResolver, DocumentLimits, Prefix};
use semgate_statement::root::{Anchors, MAX_ROOT_KEYS};
use semgate_statement::{
    CheckpointRules, Follower, Lines, ProofRules, Quorum, RootKnowledge, SignedContext, Stapled,
    TextProofFault, Trust, View,
};

use super::files::verified;
use crate::authority_client::{Asked, AuthorityArgs, AuthorityClient, answer};
use crate::fault::{Doing, Fault};
use crate::log::tell_threshold;
use crate::system::{now, read_roots};
use crate::trust::{LocalTrust, follow_once, root_statements};
use crate::up_directory::followed;

/// Trust settings for another authority; for that of `--dir` they come from its gateway.
#[derive(Debug, Args)]
pub struct Keys {
    /// The verifier key of the log of `--authority`; default: the one in its trust list
    #[arg(long, value_name = "VKEY", requires = "authority")]
    log_key: Option<String>,
    /// Number of root keys that spoke for the root of `--authority` before its first trust list: above 1 nothing counts before it
    #[arg(long, value_name = "N", requires = "authority", value_parser = clap::value_parser!(u64).range(1..=MAX_ROOT_KEYS as u64))]
    root_threshold: Option<u64>,
}

/// The configured trust in an authority, and a way to reach it.
pub struct AuthorityKeys {
    /// Client and roots.
    pub reach: AuthorityClient,
    log: Vec<String>,
    threshold: u64,
}

/// The keys that count below the root of an authority now.
pub struct TrustedRoots {
    roots: Roots,
    root_knowledge: Option<RootKnowledge>,
}

impl Keys {
    /// The configured trust in the named authority.
    ///
    /// # Errors
    /// A directory or a file cannot be read.
    pub fn resolve(&self, at: &AuthorityArgs) -> Result<AuthorityKeys, Fault> {
        let reach = at.reach()?;
        match at.asked()? {
            Asked::Named(named) => {
                let log = self.log_key.clone().or(named.log_key).map(|key| key.trim().to_owned());
                let threshold = self.root_threshold.unwrap_or(1);
                Ok(AuthorityKeys { reach, log: log.into_iter().collect(), threshold })
            }
            Asked::Directory(up_dir) => {
                let known = followed(&up_dir)?;
                Ok(AuthorityKeys { reach, log: vec![known.log_key], threshold: known.root_threshold })
            }
        }
    }
}

impl AuthorityKeys {
    /// The served trust list, unverified.
    async fn trust_list(&self, roots: &Roots) -> Result<Trust, Fault> {
        let reply = self.reach.get("/v1/trust").await?;
        answer(&reply).map_err(|fault| fault.within("its trust list"))?;
        Trust::read(&reply.body, roots.limits()).doing("trust document")
    }

    fn local<'a>(&'a self, trust: &'a Trust) -> LocalTrust<'a> {
        LocalTrust { trust, keys: &self.log, threshold: self.threshold }
    }

    /// Fetches and verifies everything that the authority publishes, as a gateway does.
    ///
    /// # Errors
    /// No answer; it fails verification, or is too old; no log key is known.
    pub async fn view(&self) -> Result<Arc<View>, Fault> {
        Ok(self.follower(Lines::All).await?.view())
    }

    /// As [`AuthorityKeys::view`], of these lines, with the follower, which can follow on.
    ///
    /// # Errors
    /// As [`AuthorityKeys::view`].
    pub async fn follower(&self, lines: Lines) -> Result<Follower, Fault> {
        let trust = self.trust_list(&read_roots(&self.reach.roots)?).await?;
        match follow_once(&self.reach, &self.local(&trust), lines).await? {
            Some((_, follower)) => Ok(follower),
            None => Err(Fault::new("no log key is known: the authority has no trust list yet")
                .hint("give the key of its log with `--log-key`")),
        }
    }

    /// Fetches the trust list. Follows the authority for a moment, so that the list belongs to a fresh head and is complete.
    ///
    /// # Errors
    /// No answer; it fails verification, or is too old; a split root without a list.
    pub async fn fetch_trusted_roots(&self) -> Result<TrustedRoots, Fault> {
        let roots = read_roots(&self.reach.roots)?;
        let trust = self.trust_list(&roots).await?;
        let anchors = match root_statements(&self.reach, &self.local(&trust)).await? {
            Some((log, said)) => {
                let anchors = Anchors::new(trust.authority(), log.name(), &roots, self.threshold, &log);
                Some(anchors.with_entries(&said, u64::MAX, &Prefix::default()).doing("trust document")?)
            }
            None => None,
        };
        if self.threshold > 1 && anchors.as_ref().is_none_or(|anchors| anchors.list().is_none()) {
            return Err(Fault::new("the issuing certificate is not in the trust list: there is none yet")
                .hint("one root key alone can make any issuing certificate: wait until the first trust list is submitted"));
        }
        match anchors {
            Some(anchors) => {
                tell_threshold(self.threshold, anchors.threshold());
                Ok(TrustedRoots {
                    roots: anchors.roots().clone(),
                    root_knowledge: Some(RootKnowledge { anchors, trust }),
                })
            }
            None => {
                tell!(
                    "not checked: its publication and what the root took back: there is no trust list, and `--log-key` names no key of the log"
                );
                Ok(TrustedRoots { roots, root_knowledge: None })
            }
        }
    }
}

impl TrustedRoots {
    /// Returns true if a proof of publication can be checked.
    pub fn checks_proofs(&self) -> bool {
        self.root_knowledge.is_some()
    }

    /// Verifies a served context: by its proof of publication, at that time. Without a proof it is judged now, and no signer counts with a
    /// key that was ever compromised, because the time of signing is unknown.
    ///
    /// # Errors
    /// The proof or the context is not valid.
    pub fn verify(
        &self,
        served: &Stapled,
        others: &ContextResolver<'_>,
    ) -> Result<SignedContext, TextProofFault> {
        let (Some(known), Some(proof)) = (&self.root_knowledge, &served.proof) else {
            let held =
                verified(&served.signed, &self.roots, now(), others).map_err(TextProofFault::Context)?;
            let named =
                self.root_knowledge.as_ref().and_then(|heard| heard.anchors.compromised(held.signer_id()));
            return named.map_or(Ok(held), |from| Err(TextProofFault::SignerCompromised { from }));
        };
        let nobody = Quorum::default();
        let latest = now().saturating_add(semgate_statement::head::MAX_AHEAD);
        let rules = ProofRules {
            roots: &self.roots,
            checkpoint: CheckpointRules { log: known.anchors.log(), quorum: &nobody, latest },
            prefix: &Prefix::default(),
            documents: &DocumentLimits::default(),
            root_knowledge: Some(known),
        };
        rules.verify(&served.signed, proof, others).map(|proved| proved.context)
    }
}
