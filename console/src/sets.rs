//! Policy sets of directories, analysed here. A set is analysed once for each state of its files and of the contexts.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use semgate_contexts::{Context, Digest};
use semgate_policies::{Floors, Policies, PolicyFault, PolicyLimits, PolicySource};
use semgate_policy_analysis::{Explainer, Matrix};

/// Sets kept: the policies and the shadow.
const KEPT: usize = 4;

/// A fault of a set, as the page shows it.
#[derive(Debug, Clone)]
pub(crate) struct SetFault {
    /// `file:line:column`, empty for the whole set.
    pub(crate) location: String,
    pub(crate) text: String,
    /// The line at fault with a caret below its column.
    pub(crate) excerpt: Option<String>,
}

/// A set that would load.
pub(crate) struct Analysed {
    pub(crate) explainer: Explainer,
    pub(crate) contexts: Vec<Arc<Context>>,
    /// The matrix, or the reason for none.
    pub(crate) matrix: Result<Matrix, String>,
    pub(crate) warnings: Vec<SetFault>,
}

/// One directory with its state.
pub(crate) struct PolicySet {
    pub(crate) digest: String,
    pub(crate) files: usize,
    pub(crate) outcome: Result<Analysed, Vec<SetFault>>,
}

/// The newest analysed sets.
#[derive(Default)]
pub(crate) struct Sets(Mutex<Vec<(Digest, Arc<PolicySet>)>>);

impl Sets {
    /// The set of a directory, typed by these contexts above these floors. Slow for a new state: for a blocking thread.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub(crate) fn of(
        &self,
        directory: &Path,
        contexts: &[Arc<Context>],
        floors: &Floors,
    ) -> Result<Arc<PolicySet>, String> {
        let source = PolicySource::read_dir(directory).map_err(|why| why.to_string())?;
        let mut parts = vec![source.digest().to_string()];
        parts.extend(contexts.iter().map(|context| context.digest().to_string()));
        parts.extend(floors.iter().map(|(line, version)| format!("{} {version}", line.as_str())));
        let key = Digest::of(parts.join("\n").as_bytes());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = kept.iter().find(|(of, _)| *of == key) {
            return Ok(Arc::clone(known));
        }
        // others wait meanwhile: they would do the same work
        let made = Arc::new(analyse(&source, contexts, floors));
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((key, Arc::clone(&made)));
        Ok(made)
    }
}

fn analyse(source: &PolicySource, contexts: &[Arc<Context>], floors: &Floors) -> PolicySet {
    let limits = PolicyLimits::default();
    let shown = |faults: &[PolicyFault]| faults.iter().map(|fault| SetFault::of(fault, source)).collect();
    let loaded = Policies::load_above(source, contexts, floors, &limits)
        .and_then(|above| Ok((above, Explainer::load(source, contexts, &limits)?)));
    let outcome = match loaded {
        Err(faults) => Err(shown(&faults)),
        Ok((above, explainer)) => Ok(Analysed {
            matrix: explainer.matrix(&limits).map_err(|why| why.to_string()),
            warnings: shown(above.warnings()),
            contexts: contexts.to_vec(),
            explainer,
        }),
    };
    PolicySet { digest: source.digest().to_string(), files: source.files.len(), outcome }
}

impl SetFault {
    fn of(fault: &PolicyFault, source: &PolicySource) -> Self {
        Self {
            location: fault.location().map(ToString::to_string).unwrap_or_default(),
            text: fault.to_string(),
            excerpt: fault.excerpt(source),
        }
    }
}
