//! Rules beside the rights of `[[publisher]]`: the authority's own policies, and the acts that need two persons. They narrow the rights and
//! never widen them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use semgate_contexts::{Digest, Line, Version};
use semgate_policies::{PolicyLimits, PolicySource, PublisherAct, PublisherPolicies, Ruling};

use crate::http::problem::{Code, Problem};
use crate::{Config, RunFault};

/// The policies in effect; replaced as a whole.
#[derive(Debug)]
pub(crate) struct Rules {
    dir: Option<PathBuf>,
    live: RwLock<Option<Arc<PublisherPolicies>>>,
    /// Acts that need a second person whatever the policies say.
    four_eyes: Vec<PublisherAct>,
}

/// A permitted act.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AllowedAct {
    /// True if a second person must agree.
    pub four_eyes: bool,
    /// The policies that decided.
    pub policies: Vec<String>,
    /// Digest of the policies asked; none if none are configured.
    pub digest: Option<String>,
}

/// A forbidden act: the text for the caller, and the one for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeniedAct {
    pub problem: Problem,
    pub policies: Vec<String>,
    pub digest: Option<String>,
}

impl Rules {
    /// Loads the configured policies. For those that were live before, a name that nobody holds any more is only a warning.
    pub fn load(config: &Config) -> Result<Self, RunFault> {
        let rules = Self {
            dir: config.policies.clone(),
            live: RwLock::default(),
            four_eyes: config.four_eyes.clone(),
        };
        if let Some(dir) = &rules.dir {
            let live = read(dir, None)?;
            tracing::info!("policies of publishers: {} of {}", live.count(), live.digest());
            rules.go_live(live);
        }
        Ok(rules)
    }

    fn go_live(&self, policies: PublisherPolicies) {
        for why in policies.warnings() {
            tracing::warn!("policies of publishers: {why}");
        }
        *self.live.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(policies));
    }

    fn live(&self) -> Option<Arc<PublisherPolicies>> {
        self.live.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Digest of the policies in effect.
    pub fn digest(&self) -> Option<Digest> {
        self.live().map(|live| *live.digest())
    }

    /// Reads the directory again: all of it goes live, or nothing.
    pub fn reload(&self) {
        let Some(dir) = &self.dir else { return };
        match read(dir, self.live().as_deref()) {
            Ok(policies) => {
                tracing::info!("policies of publishers reloaded: {}", policies.digest());
                self.go_live(policies);
            }
            Err(fault) => tracing::error!("the policies of publishers stay as they were: {fault}"),
        }
    }

    /// Decides about an act of a caller who holds the right, and if it needs a second person.
    pub fn rule(
        &self,
        who: &str,
        act: PublisherAct,
        line: &Line,
        version: Version,
    ) -> Result<AllowedAct, DeniedAct> {
        let four_eyes = self.four_eyes.contains(&act);
        let Some(live) = self.live() else {
            return Ok(AllowedAct { four_eyes, ..AllowedAct::default() });
        };
        let digest = Some(live.digest().to_string());
        let denied = |what: &str, policies| {
            let detail = format!("{what} to `{}` this version to `{who}`", act.as_str());
            DeniedAct { problem: Problem::new(Code::NotPermitted, detail), policies, digest: digest.clone() }
        };
        // a spelling never stops an act that takes something back
        let brings = matches!(act, PublisherAct::Publish | PublisherAct::Override);
        if let Some(named) = live.spelt_otherwise(line).filter(|_| brings) {
            let detail = format!("the policies of this authority spell this line `{named}`");
            return Err(DeniedAct {
                problem: Problem::new(Code::LineCaseTaken, detail),
                policies: Vec::new(),
                digest,
            });
        }
        match live.decide(who, act, line, version) {
            Ruling::Permitted(policies) => Ok(AllowedAct { four_eyes, policies, digest: digest.clone() }),
            Ruling::FourEyes(policies) => {
                Ok(AllowedAct { four_eyes: true, policies, digest: digest.clone() })
            }
            Ruling::Denied(policies) => Err(denied("the policies of this authority do not permit", policies)),
            Ruling::Errored(policies) => {
                tracing::error!("a policy about publishers could not be evaluated: {}", policies.join(", "));
                Err(denied("the policies of this authority cannot decide whether to permit", policies))
            }
        }
    }
}

fn read(dir: &Path, live: Option<&PublisherPolicies>) -> Result<PublisherPolicies, RunFault> {
    let limits = PolicyLimits::default();
    let fault = |what: String| RunFault::Config(format!("`policies`, `{}`: {what}", dir.display()));
    let source = PolicySource::read_dir(dir).map_err(|e| fault(e.to_string()))?;
    let loaded = match live {
        Some(live) => live.reload(&source, &limits),
        None => PublisherPolicies::load(&source, &limits),
    };
    loaded.map_err(|faults| {
        let all: Vec<String> = faults.iter().map(ToString::to_string).collect();
        fault(all.join("; "))
    })
}
