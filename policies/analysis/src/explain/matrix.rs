//! The permissions of all agents by concepts and performatives.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use semgate_contexts::{Context, Performative, Shape, json::Object};
use semgate_policies::{
    AgentEntry, CONTEXT_MEMBERS, Circumstances, ConceptType, ParsedPolicy, PolicyFault, PolicyLimits,
    Question, TypedShape, dotted,
};

use super::scope::{self, Fit};
use super::truth::{Members, Open, Truth, Unknown};
use super::{Against, Explainer};

/// The verdict of all messages of one agent about one concept under one performative, computed without a message. Where it is never or
/// always, policies decide no message otherwise.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cell {
    /// No policy lets it pass, whatever is in it.
    Never,
    /// Policies let it pass, whatever is in it.
    Always,
    /// Nothing passes without a human's approval (`@approve`): whatever is in it, or, where members are named, as far as policies let it
    /// pass at all by these.
    Asks(BTreeSet<String>),
    /// It depends on these members, as policies write them.
    Depends(BTreeSet<String>),
}

/// Agents that may say the same of a concept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatrixRow {
    /// Aliases, or ids of agents without one, in the order of `entities.json`; `anyone else` for a certificate without an entry.
    pub agents: Vec<String>,
    /// One for each performative that the concept takes.
    pub cells: BTreeMap<Performative, Cell>,
}

/// Every concept by the name that policies know it by, sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matrix {
    /// The rows of each concept.
    pub concepts: BTreeMap<String, Vec<MatrixRow>>,
}

/// The name of the row of agents without an entry.
const OTHERS: &str = "anyone else";

/// A sender without an entry, which no policy can name.
const NOBODY: &str = "spiffe://-/-";

/// By what policies could tell two agents apart: groups, credentials, disabled, trust domain, and the id of one that a policy names.
type Alike<'e> = (&'e [String], &'e [String], bool, &'e str, &'e str);

/// Agents that no policy can tell apart.
struct Class<'e> {
    names: Vec<String>,
    entry: Option<&'e AgentEntry>,
}

impl Class<'_> {
    fn id(&self) -> &str {
        self.entry.map_or(NOBODY, |entry| &entry.id)
    }
}

/// One version of a concept, to ask about the concept at all.
struct Sample<'p> {
    context: &'p Context,
    shape: &'p Shape,
    typed: TypedShape<'p>,
    /// True if free text may stand in any version, or outside of the instance.
    texts: bool,
    /// The versions whose signed context requires approval.
    required: Required,
}

/// The versions of a term that require approval.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Required {
    None,
    Some,
    All,
}

impl Explainer {
    /// The matrix of everything that these policies know.
    ///
    /// # Errors
    /// [`PolicyFault::TooLarge`] if it would take more looks at policies than [`PolicyLimits::max_matrix_looks`].
    pub fn matrix(&self, limits: &PolicyLimits) -> Result<Matrix, PolicyFault> {
        let classes = self.classes();
        let columns =
            self.policies.concept_types().map(|concept| concept.performatives().len()).sum::<usize>();
        let looks = columns.saturating_mul(classes.len()).saturating_mul(self.parsed.len());
        if looks > limits.max_matrix_looks {
            let what = format!(
                "evaluations for a matrix of {} kinds of agents by {columns} performatives of concepts over {} policies",
                classes.len(),
                self.parsed.len()
            );
            return Err(PolicyFault::TooLarge { what, limit: limits.max_matrix_looks });
        }
        let mut matrix = Matrix::default();
        for concept in self.policies.concept_types() {
            let Some(sample) = self.sample(concept) else { continue };
            let mut rows: Vec<MatrixRow> = Vec::new();
            for class in &classes {
                let cell = |action| (action, self.cell(class, action, &sample));
                let cells: BTreeMap<Performative, Cell> = concept.performatives().iter().map(cell).collect();
                match rows.iter_mut().find(|row| row.cells == cells) {
                    Some(row) => row.agents.extend(class.names.iter().cloned()),
                    None => rows.push(MatrixRow { agents: class.names.clone(), cells }),
                }
            }
            matrix.concepts.insert(concept.name().to_owned(), rows);
        }
        Ok(matrix)
    }

    /// Groups agents of the same groups, credentials and trust domain; an agent that a policy names is alone.
    fn classes(&self) -> Vec<Class<'_>> {
        let mut seen: BTreeMap<Alike<'_>, usize> = BTreeMap::new();
        let mut classes: Vec<Class<'_>> = Vec::new();
        for entry in self.policies.agents() {
            let own = if self.named.contains(&entry.id) { entry.id.as_str() } else { "" };
            let domain = entry.id.split('/').nth(2).unwrap_or_default();
            let key = (entry.groups.as_slice(), entry.credentials.as_slice(), entry.disabled, domain, own);
            let name = entry.alias.clone().unwrap_or_else(|| entry.id.clone());
            match seen.get(&key).and_then(|at| classes.get_mut(*at)) {
                Some(class) => class.names.push(name),
                None => {
                    seen.insert(key, classes.len());
                    classes.push(Class { names: vec![name], entry: Some(entry) });
                }
            }
        }
        classes.push(Class { names: vec![OTHERS.to_owned()], entry: None });
        classes
    }

    /// The first version of a concept. A learnt term, which no document defines, takes any shape.
    fn sample<'s>(&'s self, concept: ConceptType<'s>) -> Option<Sample<'s>> {
        let learnt = match concept.is_learnt() {
            true => Some(self.policies.learnt_shape(concept.name().rsplit("::").next()?)?),
            false => None,
        };
        let all =
            self.contexts.iter().flat_map(|context| context.shapes().map(move |shape| (context, shape)));
        let mut of_concept = all.filter_map(|(context, shape)| {
            let own = || self.policies.typed_shape(context.digest(), shape.name());
            let typed = learnt.or_else(own).filter(|typed| typed.concept.name() == concept.name())?;
            let required = shape.requires_approval().map_or(Required::None, |_| Required::All);
            Some(Sample { context, shape, typed, texts: shape.may_have_free_text(), required })
        });
        let mut first = of_concept.next()?;
        let others: Vec<Sample<'_>> = of_concept.collect();
        first.texts = !concept.is_learnt()
            // MCP has text outside of instances, and nobody says the vocabulary of A2A there
            && (concept.line().as_str() != "a2a" || first.texts || others.iter().any(|other| other.texts));
        if others.iter().any(|other| other.required != first.required) {
            first.required = Required::Some;
        }
        Some(first)
    }

    fn cell(&self, class: &Class<'_>, action: Performative, sample: &Sample<'_>) -> Cell {
        if class.entry.is_some_and(|entry| entry.disabled) {
            return Cell::Never;
        }
        let reaches = |parsed: &ParsedPolicy| {
            parsed.permits()
                && scope::resource(parsed, sample.typed.concept) == Fit::Yes
                && scope::principal(parsed, class.id(), class.entry) == Fit::Yes
                && scope::action(parsed, action) == Fit::Yes
        };
        if !self.parsed.iter().any(reaches) {
            return Cell::Never;
        }
        let nothing = Object::default();
        let question = Question {
            sender: class.id(),
            receiver: NOBODY,
            action,
            context: sample.context,
            shape: sample.shape,
            value: &nothing,
            without: None,
            binding: "",
            direction: "",
            circumstances: Circumstances::at(0),
        };
        let members = CONTEXT_MEMBERS.iter().map(|member| (*member).to_owned());
        let unknown = Unknown {
            resource: Members::Unknown,
            context: if sample.texts {
                Members::Unknown
            } else {
                // where no version has free text, there is none
                Members::But(members.filter(|member| member != "free_text").collect())
            },
            shown: true,
            stranger: class.entry.is_none(),
            ..Unknown::default()
        };
        let Ok(scene) = self.scene(&question, sample.typed, false, unknown) else {
            return Cell::Depends(BTreeSet::from(["what cannot be asked".to_owned()]));
        };
        let mut all = self.against(&question, sample.typed, &scene);
        all.retain(Against::in_scope);
        let cell = asking(&all, settled(&all).unwrap_or_else(|open| Cell::Depends(open.reads)));
        sample.required.with(cell)
    }
}

impl Required {
    /// The cell of messages that the signed context may make wait for a person.
    fn with(self, cell: Cell) -> Cell {
        let reads = match (&cell, self) {
            (Cell::Never, _) | (_, Self::None) => return cell,
            (Cell::Always, _) => BTreeSet::new(),
            (Cell::Asks(reads) | Cell::Depends(reads), _) => reads.clone(),
        };
        match (self, cell) {
            (Self::All, _) | (_, Cell::Asks(_)) => Cell::Asks(reads),
            _ => Cell::Depends(reads.into_iter().chain(["context.minor".to_owned()]).collect()),
        }
    }
}

/// The inputs of the triggers of a policy's `@approve`; empty where it asks about every message.
fn triggers(parsed: &ParsedPolicy) -> BTreeSet<String> {
    let Some(when) = parsed.obligation.as_ref().map(|one| &one.when) else { return BTreeSet::new() };
    let confidence = when.confidence.as_ref().map(|floor| format!("resource.{}", dotted(&floor.path)));
    let steps = when.steps.map(|_| "the steps of the session".to_owned());
    confidence.into_iter().chain(steps).collect()
}

/// The same with approvals: one permit that applies and asks for one is enough to need it.
fn asking(all: &[Against<'_>], cell: Cell) -> Cell {
    if cell == Cell::Never {
        return cell;
    }
    let asks = |one: &&Against<'_>| one.parsed.asks() && triggers(one.parsed).is_empty();
    let permits = || all.iter().filter(|one| one.parsed.permits() && one.truth != Truth::False);
    let always = permits().filter(asks).any(|one| one.truth == Truth::True);
    let reads = match &cell {
        Cell::Depends(reads) => reads.clone(),
        _ => BTreeSet::new(),
    };
    if always || permits().all(|one| asks(&one)) {
        return Cell::Asks(reads);
    }
    // asking depends on what the permit and its triggers read
    let open = permits().filter(|one| one.parsed.asks()).flat_map(|one| {
        let reads = match &one.truth {
            Truth::Open(open) => open.reads.clone(),
            _ => BTreeSet::new(),
        };
        reads.into_iter().chain(triggers(one.parsed))
    });
    let more: BTreeSet<String> = open.collect();
    if more.is_empty() { cell } else { Cell::Depends(reads.into_iter().chain(more).collect()) }
}

/// The verdict over policies of which some are open; or what it depends on.
pub(super) fn settled(all: &[Against<'_>]) -> Result<Cell, Open> {
    let of = |permits: bool| all.iter().filter(move |one| one.parsed.permits() == permits);
    let is = |one: &Against<'_>, truth: &Truth| one.truth == *truth;
    if all.iter().any(|one| matches!(one.truth, Truth::Error(_)))
        || of(false).any(|one| is(one, &Truth::True))
        || of(true).all(|one| is(one, &Truth::False))
    {
        return Ok(Cell::Never);
    }
    let permitted = of(true).any(|one| is(one, &Truth::True));
    let mut open = Open::default();
    let mut any = false;
    for one in all {
        if let Truth::Open(own) = &one.truth {
            // another permit changes nothing, unless it could fail
            if !permitted || !one.parsed.permits() || own.may_fail {
                any = true;
                open = open.with(own.clone());
            }
        }
    }
    if any || !permitted { Err(open) } else { Ok(Cell::Always) }
}

impl fmt::Display for Matrix {
    /// A text that does not change unless the policies, agents or concepts do: sorted, one line for each kind of verdict.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "# Who may say what, as `semgate policy matrix` writes it. A concept takes the performatives that are named; a row without\n\
             # any holds for all of them.\n",
        )?;
        for (concept, rows) in &self.concepts {
            write!(f, "\n{concept}\n")?;
            for row in rows {
                writeln!(f, "  {}", row.agents.join(", "))?;
                row.write(f)?;
            }
        }
        Ok(())
    }
}

impl MatrixRow {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut by_cell: BTreeMap<&Cell, Vec<&str>> = BTreeMap::new();
        for (performative, cell) in &self.cells {
            by_cell.entry(cell).or_default().push(performative.as_str());
        }
        let alone = by_cell.len() == 1;
        for (cell, performatives) in by_cell {
            if alone {
                writeln!(f, "    {cell}")?;
            } else {
                writeln!(f, "    {cell}: {}", performatives.join(", "))?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::Always => f.write_str("always"),
            Self::Asks(members) if members.is_empty() => f.write_str("asks"),
            Self::Asks(members) => {
                let members: Vec<&str> = members.iter().map(String::as_str).collect();
                write!(f, "asks, depends on {}", members.join(", "))
            }
            Self::Depends(members) => {
                let members: Vec<&str> = members.iter().map(String::as_str).collect();
                write!(f, "depends on {}", members.join(", "))
            }
        }
    }
}
