//! The contexts that type policies: those that a gateway remembers, those of an authority, or the built-in library.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use semgate_contexts::{Context, ContextUrn, Prefix};
use semgate_gateway::{Config, Remembered};
use semgate_inspect::Code;
use semgate_policies::Floors;
use semgate_statement::{Standing, View};

use super::Contexts;
use crate::authority_client::AuthorityArgs;
use crate::context::Keys;
use crate::fault::{Doing, Fault};

/// The policy directory without `--config`.
const UP: &str = "./.semgate/policies";

/// The source of the contexts.
#[derive(Debug, Args)]
pub struct Typing {
    #[command(flatten)]
    contexts: Contexts,
    /// A gateway's configuration: type by the contexts, status and floors that its state directory remembers, not by the library
    #[arg(long, value_name = "FILE", conflicts_with_all = ["authority", "no_library"])]
    config: Option<PathBuf>,
    #[command(flatten)]
    at: AuthorityArgs,
    #[command(flatten)]
    keys: Keys,
}

/// Contexts with everything that a gateway knows about them.
pub struct TypedBy {
    /// All documents, in any status, because policies may name them.
    pub contexts: Vec<Arc<Context>>,
    /// All floors.
    pub floors: Floors,
    /// The operator's floors, of the configuration and the command line.
    pub own: Floors,
    /// The views by which messages are judged, as if each head were fresh.
    pub views: Vec<Arc<View>>,
    /// The prefix of every URN.
    pub prefix: Prefix,
    /// Unchecked parts, with the reason.
    pub unjudged: Vec<String>,
    /// The gateway's configuration, if named.
    pub config: Option<Config>,
    /// The source of the contexts, for people.
    by: String,
}

impl Typing {
    /// True if a gateway's configuration is named.
    pub const fn is_of_a_gateway(&self) -> bool {
        self.config.is_some()
    }

    /// Reads the contexts.
    ///
    /// # Errors
    /// A file, the state of the gateway or the authority cannot be read or verified, or it knows no context.
    pub fn read(&self) -> Result<TypedBy, Fault> {
        let mut typed = match &self.config {
            Some(file) => self.remembered(file)?,
            None if self.at.authority.is_some() => self.served()?,
            None => self.library()?,
        };
        let given = self.contexts.floors();
        typed.own.retain(|line, _| !given.contains_key(line));
        typed.own.extend(given.clone());
        for (line, version) in &typed.own {
            let floor = typed.floors.entry(line.clone()).or_insert(*version);
            *floor = if given.contains_key(line) { *version } else { (*floor).max(*version) };
        }
        Ok(typed)
    }

    fn library(&self) -> Result<TypedBy, Fault> {
        let contexts = self.contexts.read()?;
        let by = self.contexts.shown(contexts.len());
        let view = View::of_documents(contexts.iter().cloned());
        Ok(TypedBy { contexts, by, ..TypedBy::of(vec![Arc::new(view)]) })
    }

    /// The memory of a gateway's followers, verified as the gateway verifies it.
    fn remembered(&self, file: &Path) -> Result<TypedBy, Fault> {
        let config = crate::firewall::load(file)?;
        let Remembered { views, floors, unheard } = semgate_gateway::remembered(&config)
            .hinted(format_args!("the state of `{}`", file.display()), "ask as the user of the gateway")?;
        let mut typed = self.candidates(TypedBy::of(views))?;
        let names: Vec<&str> = config.authorities.iter().map(|authority| authority.name.as_str()).collect();
        if typed.contexts.is_empty() {
            return Err(Fault::new(format_args!(
                "`{}` remembers no context of {}",
                config.state.display(),
                names.join(", ")
            ))
            .hint("start the gateway once, so that it fetches them, or ask the authority itself with `--authority`"));
        }
        typed.by = format!(
            "typed by what the gateway of `{}` knows of {}, {} contexts",
            file.display(),
            names.join(", "),
            typed.contexts.len()
        );
        typed.unjudged = unheard
            .iter()
            .map(|name| {
                format!(
                    "contexts and floors of the authority `{name}` are unknown: `{}` remembers nothing of it",
                    config.state.display()
                )
            })
            .collect();
        typed.floors = floors;
        typed.own = config.floors.iter().cloned().collect();
        typed.prefix = config.prefix.clone();
        Ok(TypedBy { config: Some(config), ..typed })
    }

    /// The contexts of an authority, fetched and verified as a gateway does.
    fn served(&self) -> Result<TypedBy, Fault> {
        let view = crate::block_on(async { self.keys.resolve(&self.at)?.view().await })?;
        let mut typed = TypedBy::of(vec![view]);
        typed.floors = typed.views.iter().flat_map(|view| view.floors().clone()).collect();
        let mut typed = self.candidates(typed)?;
        if typed.contexts.is_empty() {
            return Err(Fault::new("the authority publishes no context")
                .hint("publish one with `semgate context publish`"));
        }
        typed.by = format!("typed by what the authority publishes, {} contexts", typed.contexts.len());
        Ok(typed)
    }

    /// Adds the files of `--context` to the view that holds their line.
    fn candidates(&self, mut typed: TypedBy) -> Result<TypedBy, Fault> {
        for candidate in self.contexts.files()? {
            let line = candidate.urn().line();
            let Some(view) = typed.views.iter_mut().find(|view| view.lines().holds(line).is_some()) else {
                return Err(Fault::new(format_args!("no `[[authority]]` speaks for the line `{line}`"))
                    .hint("add it to the `lines` of the authority that will publish it"));
            };
            *view = Arc::new(view.on_trial([candidate]));
        }
        Ok(TypedBy { contexts: documents(&typed.views), ..typed })
    }
}

fn documents(views: &[Arc<View>]) -> Vec<Arc<Context>> {
    let all = views.iter().flat_map(|view| view.contexts().filter_map(|loaded| loaded.context.clone()));
    let mut all: Vec<Arc<Context>> = all.collect();
    all.sort_by(|one, other| one.urn().cmp(other.urn()));
    all
}

impl TypedBy {
    fn of(views: Vec<Arc<View>>) -> Self {
        let views: Vec<_> = views.iter().map(|view| Arc::new(view.on_trial([]))).collect();
        Self {
            contexts: documents(&views),
            floors: Floors::new(),
            own: Floors::new(),
            views,
            prefix: Prefix::default(),
            unjudged: Vec::new(),
            config: None,
            by: String::new(),
        }
    }

    /// Says on standard error by which contexts it types.
    pub fn announce(&self) {
        tell!("{}", self.by);
    }

    /// The code with which a gateway refuses every message under this context; none for a usable one.
    pub fn unusable(&self, urn: &ContextUrn) -> Option<Code> {
        let view = self.views.iter().find(|view| view.lines().holds(urn.line()).is_some())?;
        match view.standing(urn, view.issued_at()) {
            Standing::Valid | Standing::Deprecated => {
                let floor = self.floors.get(urn.line()).copied().max(view.floor(urn.line()))?;
                (urn.version() < floor).then_some(Code::ContextBelowFloor)
            }
            Standing::Revoked => Some(Code::ContextRevoked),
            Standing::Suspended => Some(Code::ContextSuspended),
            Standing::Unrecognised(_) => Some(Code::ContextUntrusted),
            Standing::Stale => Some(Code::StatusStale),
            Standing::NotCovered | Standing::UnknownAuthority => Some(Code::ContextUnknown),
        }
    }

    /// The policy directory: the named one, else that of the configuration, else that of `up`.
    ///
    /// # Errors
    /// The configuration takes its policies from a bundle, and no directory is named.
    pub fn directory(&self, named: Option<&Path>) -> Result<PathBuf, Fault> {
        match (named, &self.config) {
            (Some(directory), _) => Ok(directory.to_owned()),
            (None, None) => Ok(PathBuf::from(UP)),
            (None, Some(config)) => config.policies.clone().ok_or_else(|| {
                Fault::new("the configuration takes its policies from a bundle")
                    .hint("name the directory that was signed")
                    .status(2)
            }),
        }
    }
}
