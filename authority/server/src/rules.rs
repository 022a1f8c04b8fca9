//! Rules beside the rights of `[[publisher]]`: the authority's own policies, and the acts that need two persons. They narrow the rights and
//! never widen them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use semgate_contexts::{Digest, Line, Version};
use semgate_policies::{Lived, PolicyLimits, PolicySource, PublisherAct, PublisherPolicies, Ruling};

use crate::http::problem::{Code, Problem};
use crate::{Config, RunFault, disk};

/// The policies in effect; replaced as a whole.
#[derive(Debug)]
pub(crate) struct Rules {
    dir: Option<PathBuf>,
    /// File that remembers the live policies for the next start.
    lived: PathBuf,
    live: RwLock<Option<Arc<PublisherPolicies>>>,
    /// Acts that need a second person whatever the policies say.
    four_eyes: Vec<PublisherAct>,
}

/// A permitted act.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ruled {
    /// True if a second person must agree.
    pub four_eyes: bool,
    /// The policies that decided.
    pub policies: Vec<String>,
    /// Digest of the policies asked; none if none are configured.
    pub digest: Option<String>,
}

/// A forbidden act: the text for the caller, and the one for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unruled {
    pub problem: Problem,
    pub policies: Vec<String>,
    pub digest: Option<String>,
}

impl Rules {
    /// Loads the configured policies. For those that were live before, a name that nobody holds any more is only a warning.
    pub fn load(config: &Config) -> Result<Self, RunFault> {
        let rules = Self {
            dir: config.policies.clone(),
            lived: config.state.join("policies-lived.json"),
            live: RwLock::default(),
            four_eyes: config.four_eyes.clone(),
        };
        match &rules.dir {
            Some(dir) => {
                let lived = recall(&rules.lived, dir);
                let live = read(dir, &lived)?;
                tracing::info!("policies of publishers: {} of {}", live.count(), live.digest());
                rules.go_live(live, dir, &lived);
            }
            // none are live, so earlier ones say nothing about later ones
            None => forget(&rules.lived).map_err(RunFault::io("removing", &rules.lived))?,
        }
        Ok(rules)
    }

    /// Takes policies into use; `before` is the memory of the earlier ones.
    fn go_live(&self, policies: PublisherPolicies, dir: &Path, before: &Lived) {
        for why in policies.warnings() {
            tracing::warn!("policies of publishers: {why}");
        }
        let lived = policies.lived();
        if lived != before
            && let Err(why) = disk::write(&self.lived, lived.text(dir).as_bytes())
        {
            tracing::error!("which policies of publishers are live cannot be kept over a restart: {why}");
            // a policy that is no longer live is no reason to accept it again
            let left = if before.is_within(lived) { Ok(()) } else { forget(&self.lived) };
            if let Err(why) = left {
                tracing::error!("nor can `{}` be removed, of those before: {why}", self.lived.display());
            }
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
        let lived = self.live().map(|live| live.lived().clone()).unwrap_or_default();
        match read(dir, &lived) {
            Ok(policies) => {
                tracing::info!("policies of publishers reloaded: {}", policies.digest());
                self.go_live(policies, dir, &recall(&self.lived, dir));
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
    ) -> Result<Ruled, Unruled> {
        let four_eyes = self.four_eyes.contains(&act);
        let Some(live) = self.live() else {
            return Ok(Ruled { four_eyes, ..Ruled::default() });
        };
        let digest = Some(live.digest().to_string());
        let denied = |what: &str, policies| {
            let detail = format!("{what} to `{}` this version to `{who}`", act.as_str());
            Unruled { problem: Problem::new(Code::NotPermitted, detail), policies, digest: digest.clone() }
        };
        // a spelling never stops an act that takes something back
        let brings = matches!(act, PublisherAct::Publish | PublisherAct::Override);
        if let Some(named) = live.spelt_otherwise(line).filter(|_| brings) {
            let detail =
                format!("the policies of this authority have `{named}`, in other letters than this line");
            return Err(Unruled {
                problem: Problem::new(Code::LineCaseTaken, detail),
                policies: Vec::new(),
                digest,
            });
        }
        match live.decide(who, act, line, version) {
            Ruling::Permitted(policies) => Ok(Ruled { four_eyes, policies, digest: digest.clone() }),
            Ruling::FourEyes(policies) => Ok(Ruled { four_eyes: true, policies, digest: digest.clone() }),
            Ruling::Denied(policies) => Err(denied("the policies of this authority do not permit", policies)),
            Ruling::Errored(policies) => {
                tracing::error!("a policy about publishers could not be evaluated: {}", policies.join(", "));
                Err(denied("the policies of this authority cannot decide whether to permit", policies))
            }
        }
    }
}

/// The memory of live policies for this directory; empty if it is unknown, so that every policy is judged as a new one.
fn recall(path: &Path, dir: &Path) -> Lived {
    let read = disk::read(path).map_err(|why| why.to_string()).and_then(|bytes| match bytes {
        Some(bytes) => Lived::read(&bytes, dir, &PolicyLimits::default()).map_err(|why| why.to_string()),
        None => Ok(Lived::default()),
    });
    read.unwrap_or_else(|why| {
        tracing::warn!("which policies of publishers were live cannot be told: `{}`: {why}", path.display());
        Lived::default()
    })
}

fn forget(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
        _ => Ok(()),
    }
}

fn read(dir: &Path, lived: &Lived) -> Result<PublisherPolicies, RunFault> {
    let limits = PolicyLimits::default();
    let fault = |what: String| RunFault::Config(format!("`policies`, `{}`: {what}", dir.display()));
    let source = PolicySource::read_dir(dir).map_err(|e| fault(e.to_string()))?;
    PublisherPolicies::load_again(&source, lived, &limits).map_err(|faults| {
        let all: Vec<String> = faults.iter().map(ToString::to_string).collect();
        fault(all.join("; "))
    })
}
