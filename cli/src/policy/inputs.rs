//! Inputs of every policy command: a directory of policies, and the contexts that type them.

mod typed;

pub use typed::{TypedBy, Typing};

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use semgate_contexts::{Context, DocumentLimits, Line, Prefix, Version, library};
use semgate_policies::{Floors, Policies, PolicyFault, PolicyLimits, PolicySource};
use semgate_policy_analysis::Explainer;
use serde_json::json;

use crate::fault::{Doing, Fault, Finding};

/// The documents that type policies.
#[derive(Debug, Args)]
pub struct Contexts {
    /// Context documents that type the policies, in addition to the shipped library
    #[arg(long = "context", value_name = "FILE")]
    contexts: Vec<PathBuf>,
    /// Without the shipped library
    #[arg(long)]
    no_library: bool,
    /// The floor of a line, as in a gateway's `[floors]`: a literal that only lower versions accept is a fault
    #[arg(long = "floor", value_name = "LINE=VERSION", value_parser = floor)]
    floors: Vec<(Line, Version)>,
}

fn floor(text: &str) -> Result<(Line, Version), String> {
    let form = || format!("`{text}` is not of the form `payment=v2.0`");
    let (line, version) = text.split_once('=').ok_or_else(form)?;
    Ok((Line::parse(line).map_err(|why| why.to_string())?, version.parse().map_err(|_| form())?))
}

impl Contexts {
    /// Returns true if any option is given, beyond the shipped library.
    pub const fn given(&self) -> bool {
        !self.contexts.is_empty() || !self.floors.is_empty() || self.no_library
    }

    /// The floors, by line; the last of a line counts.
    pub fn floors(&self) -> Floors {
        self.floors.iter().cloned().collect()
    }

    /// The documents of the library and of the files, checked.
    ///
    /// # Errors
    /// The first file without a valid document.
    pub fn read(&self) -> Result<Vec<Arc<Context>>, Fault> {
        let mut contexts = Vec::new();
        let shipped = if self.no_library { &[][..] } else { library::all() };
        for (name, bytes) in shipped {
            let context =
                Context::check(bytes, &Prefix::default(), &DocumentLimits::default()).doing(name)?;
            contexts.push(Arc::new(context));
        }
        contexts.extend(self.files()?);
        Ok(contexts)
    }

    /// The documents of the files, checked.
    fn files(&self) -> Result<Vec<Arc<Context>>, Fault> {
        let documents = crate::context::Documents::with_library(&self.contexts)?;
        self.contexts.iter().map(|file| documents.file(file).map(Arc::new)).collect()
    }

    /// The source of [`Contexts::read`], in words.
    pub fn shown(&self, count: usize) -> String {
        let files = match self.contexts.len() {
            0 => "",
            _ if self.no_library => "the files of `--context`",
            _ => " and the files of `--context`",
        };
        let library = if self.no_library { "" } else { "the built-in library" };
        format!(
            "typed by {library}{files}, {count} contexts; the gateway may know others: add `--config firewall.toml`"
        )
    }
}

/// The text of a policy directory.
///
/// # Errors
/// It cannot be read.
pub fn source(dir: &Path) -> Result<PolicySource, Fault> {
    PolicySource::read_dir(dir).map_err(|why| {
        let hint = match &why {
            PolicyFault::NearlyNamed { .. } => {
                "a set consists of `*.cedar`, `entities.json` and `limits.json`, in lower case: rename the file, or move it out of the directory"
            }
            PolicyFault::Syntax { .. } => "save the file again, or restore its last good version",
            _ => "name a directory with `*.cedar` files and `entities.json`",
        };
        Fault::new(&why).hint(hint)
    })
}

/// The policies of a directory, as a gateway would load them.
///
/// # Errors
/// They would not load; every fault is printed, a line each.
pub fn load(
    source: &PolicySource,
    contexts: &[Arc<Context>],
    floors: &Floors,
    json: bool,
) -> Result<Policies, Fault> {
    Policies::load_above(source, contexts, floors, &PolicyLimits::default())
        .map_err(|faults| rejected(&faults, source, json))
}

/// An explainer of the policies in a directory, with their text.
///
/// # Errors
/// As [`source`] and [`load`].
pub fn explainer(dir: &Path, typed: &TypedBy, json: bool) -> Result<Explainer, Fault> {
    let source = source(dir)?;
    typed.announce();
    Explainer::load(&source, &typed.contexts, &PolicyLimits::default())
        .map_err(|faults| rejected(&faults, &source, json))
}

/// Prints every fault with its source line; returns the final fault.
pub fn rejected(faults: &[PolicyFault], source: &PolicySource, json: bool) -> Fault {
    printed(faults, source, json);
    let count = faults.len();
    Fault::new(format_args!("{count} fault(s): this policy set would not be loaded"))
        .with_findings(faults.iter().map(finding))
        .hint("a set is loaded whole or not at all; more faults may show once these are fixed")
}

/// Prints every warning with its source line; returns the final fault.
pub fn warned(warnings: &[PolicyFault], source: &PolicySource, json: bool) -> Fault {
    printed(warnings, source, json);
    let count = warnings.len();
    Fault::new(format_args!(
        "{count} warning(s): a gateway would load this policy set, but these have no effect in it"
    ))
    .with_findings(warnings.iter().map(finding))
    .hint("a gateway only warns about a literal below a floor, so a rising floor rejects no set")
}

fn finding(fault: &PolicyFault) -> Finding {
    let message = fault.to_string();
    match fault.location() {
        Some(at) => Finding { message, file: at.file.clone(), line: at.line, column: at.column },
        None => Finding::new(message),
    }
}

fn printed(faults: &[PolicyFault], source: &PolicySource, json: bool) {
    for fault in faults {
        if json {
            out!("{}", json!({"fault": fault.to_string()}));
            continue;
        }
        out!("{fault}");
        if let Some(excerpt) = fault.excerpt(source) {
            out!("{excerpt}");
        }
    }
}
