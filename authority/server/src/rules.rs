//! Who may do what, beside the rights of `[[publisher]]`: the policies of the authority's own, and where two persons are needed. They narrow
//! the rights and never widen them.

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
    /// Where it is kept what was live last, for the next start.
    history_file: PathBuf,
    live: RwLock<Option<Arc<PublisherPolicies>>>,
    /// Acts that need a second person whatever the policies say.
    four_eyes: Vec<PublisherAct>,
}

/// An act that may be done, alone or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AllowedAct {
    /// Whether a second person must agree.
    pub four_eyes: bool,
    /// The policies that decided.
    pub policies: Vec<String>,
    /// The set that was asked; none where none is configured.
    pub digest: Option<String>,
}

/// An act that may not be done: what the caller is told, and what the operator is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeniedAct {
    pub problem: Problem,
    pub policies: Vec<String>,
    pub digest: Option<String>,
}

impl Rules {
    /// Loads what is configured; of policies that were live before it only warns of names that nobody has any more.
    pub fn load(config: &Config) -> Result<Self, RunFault> {
        let rules = Self {
            dir: config.policies.clone(),
            history_file: config.state.join("policies-lived.json"),
            live: RwLock::default(),
            four_eyes: config.four_eyes.clone(),
        };
        match &rules.dir {
            Some(dir) => {
                let history = recall(&rules.history_file, dir);
                let live = read(dir, &history)?;
                tracing::info!("policies of publishers: {} of {}", live.count(), live.digest());
                rules.go_live(live, dir, &history);
            }
            // none are live, so that those which were say nothing of those that will be
            None => forget(&rules.history_file).map_err(RunFault::io("removing", &rules.history_file))?,
        }
        Ok(rules)
    }

    /// `before` is what was kept of those that were live.
    fn go_live(&self, policies: PublisherPolicies, dir: &Path, before: &Lived) {
        for why in policies.warnings() {
            tracing::warn!("policies of publishers: {why}");
        }
        let history = policies.lived();
        if history != before
            && let Err(why) = disk::write(&self.history_file, history.text(dir).as_bytes())
        {
            tracing::error!("which policies of publishers are live cannot be kept over a restart: {why}");
            // what is not live any more is no reason to take it again
            let left = if before.is_within(history) { Ok(()) } else { forget(&self.history_file) };
            if let Err(why) = left {
                tracing::error!(
                    "nor can `{}` be removed, of those before: {why}",
                    self.history_file.display()
                );
            }
        }
        *self.live.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(policies));
    }

    fn live(&self) -> Option<Arc<PublisherPolicies>> {
        self.live.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The digest of what is in effect.
    pub fn digest(&self) -> Option<Digest> {
        self.live().map(|live| *live.digest())
    }

    /// Reads the directory again: all of it goes live, or nothing.
    pub fn reload(&self) {
        let Some(dir) = &self.dir else { return };
        let history = self.live().map(|live| live.lived().clone()).unwrap_or_default();
        match read(dir, &history) {
            Ok(policies) => {
                tracing::info!("policies of publishers reloaded: {}", policies.digest());
                self.go_live(policies, dir, &recall(&self.history_file, dir));
            }
            Err(fault) => tracing::error!("the policies of publishers stay as they were: {fault}"),
        }
    }

    /// Whether somebody who holds the right may do this, and whether alone.
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
        // what takes something back is stopped by no spelling
        let brings = matches!(act, PublisherAct::Publish | PublisherAct::Override);
        if let Some(named) = live.spelt_otherwise(line).filter(|_| brings) {
            let detail =
                format!("the policies of this authority have `{named}`, in other letters than this line");
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

/// What was live last of this directory; nothing where that cannot be told, so that every policy is judged as a new one.
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

fn read(dir: &Path, history: &Lived) -> Result<PublisherPolicies, RunFault> {
    let limits = PolicyLimits::default();
    let fault = |what: String| RunFault::Config(format!("`policies`, `{}`: {what}", dir.display()));
    let source = PolicySource::read_dir(dir).map_err(|e| fault(e.to_string()))?;
    PublisherPolicies::load_again(&source, history, &limits).map_err(|faults| {
        let all: Vec<String> = faults.iter().map(ToString::to_string).collect();
        fault(all.join("; "))
    })
}
