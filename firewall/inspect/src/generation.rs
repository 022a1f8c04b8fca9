//! The state that messages are judged by: contexts and status of every authority, floors, policies.

use crate::{
    Shadow,
    meter::AMBIGUOUS,
    owners::About,
    scan::TextScanner,
    standing::{Hindered, hindered},
    tools::Forms,
};
use semgate_contexts::{Context, ContextUrn, Digest, Line, Prefix, Version};
use semgate_policies::Policies;
use semgate_protocol::{Binding, ContentFormat};
use semgate_statement::{Lines, LoadedContext, Status, View};
use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Arc, OnceLock},
};

/// Line and version of the control vocabulary. Its concepts are allowed under any context.
const CONTROL: (&str, Version) = ("snl", Version::new(1, 0));

/// Returns true if a term is the rate-limited ambiguous question, in any version of the control vocabulary.
#[must_use]
pub fn asks_ambiguously(context: &Context, term: &str) -> bool {
    term == AMBIGUOUS && context.urn().line().as_str() == CONTROL.0
}

/// The inputs of a verdict, apart from message, meters and clock.
///
/// Immutable. A change makes a new generation, which the [`crate::Inspector`] puts in force at once.
#[derive(Debug)]
pub struct Generation {
    number: u64,
    sources: Vec<Source>,
    policies: Arc<Policies>,
    stands_in: bool,
    shadow: Option<Shadow>,
    scanner: Arc<TextScanner>,
    operator_floors: BTreeMap<Line, Version>,
    prefix: Prefix,
    control_urn: ContextUrn,
    /// The context of each protocol. It defines the operations, and the message parts that name no concept.
    ///
    /// Other documents may define the same names; the binding decides which vocabulary applies.
    protocol_urns: Vec<(Binding, ContextUrn)>,
    /// The context of each format of content.
    format_urns: Vec<(ContentFormat, ContextUrn)>,
    named: HashMap<Box<str>, Named>,
    newest: HashMap<Line, Version>,
    /// Built on the first MCP message that needs it.
    pinned: OnceLock<Forms>,
}

/// One authority in this generation.
#[derive(Clone, Debug)]
pub struct Source {
    view: Arc<View>,
}

/// A published context with its verified document.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    context: Arc<Context>,
    about: Arc<About>,
    floor: Option<Version>,
    hindered: Option<Box<Hindered>>,
}

/// Reason why a generation cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GenerationFault {
    /// Two authorities are configured for one line.
    SharedLine {
        /// One authority.
        first: String,
        /// The other.
        second: String,
    },
    /// The control vocabulary or a protocol vocabulary has no valid URN under this prefix.
    Control,
}

impl fmt::Display for GenerationFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SharedLine { first, second } => {
                write!(f, "the authorities `{first}` and `{second}` are both configured for the same line")
            }
            Self::Control => f.write_str("the control vocabulary has no name under this prefix"),
        }
    }
}

impl std::error::Error for GenerationFault {}

impl Generation {
    /// A generation of these parts. The inspector assigns its number.
    ///
    /// # Errors
    /// [`GenerationFault::SharedLine`] if two views may hold the same line.
    pub fn new(
        views: Vec<Arc<View>>,
        policies: Arc<Policies>,
        operator_floors: BTreeMap<Line, Version>,
        prefix: Prefix,
    ) -> Result<Self, GenerationFault> {
        apart(&views)?;
        let urn = |(line, version): (&str, Version)| {
            let line = Line::parse(line).map_err(|_| GenerationFault::Control)?;
            Ok(ContextUrn::new(&prefix, line, version))
        };
        let control_urn = urn(CONTROL)?;
        let protocol = |binding: Binding| Some((binding, binding.protocol().vocabulary()?));
        let protocol_urns = Binding::ALL.into_iter().filter_map(protocol);
        let protocol_urns =
            protocol_urns.map(|(binding, of)| Ok((binding, urn(of)?))).collect::<Result<_, _>>()?;
        let format_urns =
            ContentFormat::ALL.into_iter().map(|format| Ok((format, urn(format.vocabulary())?)));
        let format_urns = format_urns.collect::<Result<_, _>>()?;
        let (mut named, mut newest) = (HashMap::new(), HashMap::<Line, Version>::new());
        for view in &views {
            let loaded = view.contexts().filter(|loaded| view.lines().holds(loaded.urn.line()).is_some());
            for (loaded, context) in loaded.filter_map(|l| l.context.as_ref().map(|context| (l, context))) {
                let urn = &loaded.urn;
                let hindered = hindered(view, context, &operator_floors);
                let about = About { urn: urn.clone(), digest: *context.digest() };
                let about = Arc::new(about);
                let known =
                    Named { context: Arc::clone(context), about, floor: view.floor(urn.line()), hindered };
                named.insert(urn.as_str().into(), known);
                if loaded.status == Some(Status::Valid) {
                    let best = newest.entry(urn.line().clone()).or_insert(urn.version());
                    *best = urn.version().max(*best);
                }
            }
        }
        let sources = views.into_iter().map(|view| Source { view }).collect();
        Ok(Self {
            number: 0,
            sources,
            policies,
            stands_in: false,
            shadow: None,
            scanner: TextScanner::shipped(),
            operator_floors,
            prefix,
            control_urn,
            protocol_urns,
            format_urns,
            named,
            newest,
            pinned: OnceLock::new(),
        })
    }

    /// The same generation with other views, after a change of status, floors or contexts.
    ///
    /// # Errors
    /// As [`Generation::new`].
    pub fn with_views(&self, views: Vec<Arc<View>>) -> Result<Self, GenerationFault> {
        Self::new(views, Arc::clone(&self.policies), self.operator_floors.clone(), self.prefix.clone())
            .map(|next| next.with_scanner(Arc::clone(&self.scanner)))
    }

    /// The same generation with other policies.
    ///
    /// # Errors
    /// As [`Generation::new`].
    pub fn with_policies(&self, policies: Arc<Policies>) -> Result<Self, GenerationFault> {
        Self::new(self.views(), policies, self.operator_floors.clone(), self.prefix.clone())
            .map(|next| next.with_scanner(Arc::clone(&self.scanner)))
    }

    /// The same generation, marked as standing in: its policies are not the operator's, and they permit
    /// nothing until those load.
    #[must_use]
    pub fn standing_in(mut self) -> Self {
        self.stands_in = true;
        self
    }

    /// The same generation with a shadow policy set, which is asked beside the live one and never obeyed.
    #[must_use]
    pub fn with_shadow(mut self, shadow: Option<Shadow>) -> Self {
        self.shadow = shadow;
        self
    }

    /// The same generation with another model and other baselines than those in the program.
    #[must_use]
    pub fn with_scanner(mut self, scanner: Arc<TextScanner>) -> Self {
        self.scanner = scanner;
        self
    }

    /// The model and the baselines of scores of text.
    pub fn scanner(&self) -> &TextScanner {
        &self.scanner
    }

    pub(crate) fn shadow(&self) -> Option<&Shadow> {
        self.shadow.as_ref()
    }

    /// Digest of the operator's live policies; none while others stand in for them.
    pub fn policy_digest(&self) -> Option<Digest> {
        (!self.stands_in).then(|| self.policies.digest())
    }

    /// The number; 0 before an inspector takes the generation.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The views, one per authority.
    pub fn views(&self) -> Vec<Arc<View>> {
        self.sources.iter().map(|source| Arc::clone(&source.view)).collect()
    }

    /// The policies.
    pub fn policies(&self) -> &Policies {
        &self.policies
    }

    /// The operator's floor of a line.
    pub fn operator_floor(&self, line: &Line) -> Option<Version> {
        self.operator_floors.get(line).copied()
    }

    /// The prefix of every URN.
    pub fn prefix(&self) -> &Prefix {
        &self.prefix
    }

    /// URN of the control vocabulary, also the A2A extension URI.
    pub fn extension(&self) -> &str {
        self.control_urn.as_str()
    }

    pub(crate) fn numbered(mut self, number: u64) -> Self {
        self.number = number;
        self
    }

    /// Finds a document by the exact text of its URN: one look-up, no allocation.
    pub(crate) fn named(&self, urn: &str) -> Option<&Named> {
        self.named.get(urn)
    }

    /// Every available document, in no order.
    pub(crate) fn all_named(&self) -> impl Iterator<Item = &Named> {
        self.named.values()
    }

    /// The tools that any context pins.
    pub(crate) fn pinned(&self) -> &Forms {
        self.pinned.get_or_init(|| Forms::of(self.all_named().map(Named::context)))
    }

    pub(crate) fn control(&self) -> Option<&Named> {
        self.named(self.control_urn.as_str())
    }

    pub(crate) fn control_line(&self) -> &Line {
        self.control_urn.line()
    }

    pub(crate) fn control_version(&self) -> Version {
        self.control_urn.version()
    }

    /// URN of the protocol context of a binding; `None` for native L8, which has no operations of its own.
    pub fn protocol_urn(&self, binding: Binding) -> Option<&ContextUrn> {
        self.protocol_urns.iter().find(|(known, _)| *known == binding).map(|(_, urn)| urn)
    }

    /// The protocol context of a binding, if it is published.
    pub(crate) fn protocol(&self, binding: Binding) -> Option<&Named> {
        self.named(self.protocol_urn(binding)?.as_str())
    }

    /// The binding whose protocol context this is. Only that binding may use its names.
    pub(crate) fn binding_of(&self, urn: &ContextUrn) -> Option<Binding> {
        self.protocol_urns.iter().find(|(_, known)| known == urn).map(|(binding, _)| *binding)
    }

    /// URN of the context of a format.
    pub fn format_urn(&self, format: ContentFormat) -> Option<&ContextUrn> {
        self.format_urns.iter().find(|(known, _)| *known == format).map(|(_, urn)| urn)
    }

    /// The format whose context this is.
    pub(crate) fn format_of(&self, urn: &ContextUrn) -> Option<ContentFormat> {
        self.format_urns.iter().find(|(_, known)| known == urn).map(|(format, _)| *format)
    }

    /// True of the context of a protocol or of a format: a message uses its names only through the binding.
    pub(crate) fn is_house(&self, urn: &ContextUrn) -> bool {
        self.binding_of(urn).is_some() || self.format_of(urn).is_some()
    }

    /// The authority of a line.
    pub(crate) fn source_of(&self, line: &Line) -> Option<&Source> {
        self.sources.iter().find(|source| source.view.lines().holds(line).is_some())
    }

    /// The newest valid version of a line, according to its authority's last status list.
    pub(crate) fn newest(&self, line: &Line) -> Option<Version> {
        self.newest.get(line).copied()
    }
}

impl Source {
    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    pub(crate) fn loaded(&self, urn: &ContextUrn) -> Option<&LoadedContext> {
        self.view.loaded(urn).map(Arc::as_ref)
    }

    /// The last second at which the status is fresh and the recognition of the authority is in effect.
    pub(crate) fn fresh_until(&self) -> u64 {
        self.view.counts_until().saturating_sub(1)
    }
}

impl Named {
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) fn urn(&self) -> &ContextUrn {
        self.context.urn()
    }

    /// URN and digest.
    pub(crate) fn about(&self) -> &Arc<About> {
        &self.about
    }

    /// The authority's floor for the line.
    pub(crate) fn floor(&self) -> Option<Version> {
        self.floor
    }

    /// The first obstacle among its references.
    pub(crate) fn hindered(&self) -> Option<&Hindered> {
        self.hindered.as_deref()
    }
}

/// Checks that no two views may hold the same line.
fn apart(views: &[Arc<View>]) -> Result<(), GenerationFault> {
    for (n, second) in views.iter().enumerate() {
        if let Some(first) = views.iter().take(n).find(|first| share(first.lines(), second.lines())) {
            return Err(GenerationFault::SharedLine {
                first: first.authority().to_owned(),
                second: second.authority().to_owned(),
            });
        }
    }
    Ok(())
}

/// Returns true if two authorities could both claim some line.
fn share(first: &Lines, second: &Lines) -> bool {
    let (Lines::Only { lines: a, below: a_trees }, Lines::Only { lines: b, below: b_trees }) =
        (first, second)
    else {
        return true;
    };
    let nested = |x: &Line, y: &Line| {
        x == y || x.as_str().strip_prefix(y.as_str()).is_some_and(|rest| rest.starts_with('.'))
    };
    a.iter().any(|line| second.holds(line).is_some())
        || b.iter().any(|line| first.holds(line).is_some())
        || a_trees.iter().any(|x| b_trees.iter().any(|y| nested(x, y) || nested(y, x)))
}
