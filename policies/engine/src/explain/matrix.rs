//! The permissions of all agents by concepts and performatives.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use semgate_contexts::{Context, Performative, Shape, json::Object};

use super::scope::{self, Fit};
use super::truth::{Members, Open, Truth, Unknown};
use super::{Against, Explainer};
use crate::ask::Resolved;
use crate::catalogue::{ShapeInfo, TypeInfo};
use crate::parse::Written;
use crate::{AgentEntry, Circumstances, PolicyFault, PolicyLimits, Question, negotiated_terms};

/// What becomes of everything that one agent could say of one concept under one performative. It is computed without a message: where it
/// says never or always, no message comes out otherwise as far as policies go.
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

impl Explainer {
    /// The matrix of everything that these policies know.
    ///
    /// # Errors
    /// [`PolicyFault::TooLarge`] if it would take more looks at policies than [`PolicyLimits::max_matrix_looks`].
    pub fn matrix(&self, limits: &PolicyLimits) -> Result<Matrix, PolicyFault> {
        let classes = self.classes();
        let catalogue = &self.policies.asker().catalogue;
        let columns = catalogue.types.iter().map(|info| info.performatives.len()).sum::<usize>();
        let looks = columns.saturating_mul(classes.len()).saturating_mul(self.written.len());
        if looks > limits.max_matrix_looks {
            let what = format!(
                "looks of a matrix of {} kinds of agents by {columns} performatives of concepts over {} policies",
                classes.len(),
                self.written.len()
            );
            return Err(PolicyFault::TooLarge { what, limit: limits.max_matrix_looks });
        }
        let mut matrix = Matrix::default();
        for (of_type, info) in catalogue.types.iter().enumerate() {
            let Some((context, shape, own, texts)) = self.stand_in(of_type, info) else { continue };
            let texts = texts || may_have_text_outside(info);
            let mut rows: Vec<MatrixRow> = Vec::new();
            for class in &classes {
                let cell = |action| (action, self.cell(class, action, (context, shape, own, info), texts));
                let cells: BTreeMap<Performative, Cell> = info.performatives.iter().map(cell).collect();
                match rows.iter_mut().find(|row| row.cells == cells) {
                    Some(row) => row.agents.extend(class.names.iter().cloned()),
                    None => rows.push(MatrixRow { agents: class.names.clone(), cells }),
                }
            }
            matrix.concepts.insert(info.name.clone(), rows);
        }
        Ok(matrix)
    }

    /// Agents of the same groups, credentials and trust domain that no policy names; one that some policy names is alone.
    fn classes(&self) -> Vec<Class<'_>> {
        let named: BTreeSet<String> = self
            .written
            .iter()
            .flat_map(|written| written.policy.entity_literals())
            .map(|uid| uid.id().unescaped().to_owned())
            .collect();
        let mut seen: BTreeMap<Alike<'_>, usize> = BTreeMap::new();
        let mut classes: Vec<Class<'_>> = Vec::new();
        for entry in self.policies.agents() {
            let own = if named.contains(&entry.id) { entry.id.as_str() } else { "" };
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

    /// Some shape of a type, to ask about it at all, and whether free text may stand in or beside any of its versions. For a learnt type,
    /// which no document defines, any shape.
    fn stand_in<'s>(
        &'s self,
        of_type: usize,
        info: &TypeInfo,
    ) -> Option<(&'s Context, &'s Shape, &'s ShapeInfo, bool)> {
        let catalogue = &self.policies.asker().catalogue;
        let all = || {
            self.contexts.iter().flat_map(|context| context.shapes().map(move |shape| (&**context, shape)))
        };
        if negotiated_terms::is_learnt(info) {
            let own = catalogue.learnt(info.name.rsplit("::").next()?)?;
            return all().next().map(|(context, shape)| (context, shape, own, false));
        }
        let of = |(context, shape): &(&'s Context, &'s Shape)| {
            catalogue.shape(context.digest(), shape.name()).filter(|resolved| resolved.of_type == of_type)
        };
        let texts = all().any(|both| of(&both).is_some() && both.1.may_have_free_text());
        all().find_map(|both| Some((both.0, both.1, of(&both)?, texts)))
    }

    fn cell(
        &self,
        class: &Class<'_>,
        action: Performative,
        (context, shape, own, info): (&Context, &Shape, &ShapeInfo, &TypeInfo),
        texts: bool,
    ) -> Cell {
        if class.entry.is_some_and(|entry| entry.disabled) {
            return Cell::Never;
        }
        let asker = self.policies.asker();
        let sender = class.entry.map_or(NOBODY, |entry| entry.id.as_str());
        let reaches = |written: &Written| {
            written.permits()
                && [
                    scope::resource(written, info),
                    scope::principal(written, sender, class.entry),
                    scope::action(written, action),
                ]
                .iter()
                .all(|fit| *fit == Fit::Yes)
        };
        if !self.written.iter().any(reaches) {
            return Cell::Never;
        }
        let nothing = Object::default();
        let question = Question {
            sender,
            receiver: NOBODY,
            action,
            context,
            shape,
            value: &nothing,
            without: None,
            binding: "",
            direction: "",
            circumstances: Circumstances::at(0),
        };
        let position = class.entry.and_then(|entry| asker.agents.list.position(&entry.id));
        let resolved = Resolved { shape: own, info, sender: position, receiver: None, free_text: false };
        let members = crate::catalogue::CONTEXT_MEMBERS.iter().map(|member| (*member).to_owned());
        let unknown = Unknown {
            resource: Members::Unknown,
            context: if texts {
                Members::Unknown
            } else {
                // where no version has free text, there is none
                Members::But(members.filter(|member| member != "free_text").collect())
            },
            shown: true,
            stranger: class.entry.is_none(),
            ..Unknown::default()
        };
        let Ok(scene) = self.scene(&question, &resolved, unknown) else {
            return Cell::Depends(BTreeSet::from(["what cannot be asked".to_owned()]));
        };
        let mut all = self.against((sender, action), &resolved, &scene);
        all.retain(Against::in_scope);
        asking(&all, settled(&all).unwrap_or_else(|open| Cell::Depends(open.reads)))
    }
}

/// Returns true if free text may stand in the message outside of an instance of this type. MCP has such text, and the vocabulary of A2A is
/// never said there.
fn may_have_text_outside(info: &TypeInfo) -> bool {
    !negotiated_terms::is_learnt(info) && info.line.as_str() != "a2a"
}

/// The same with approvals: one permit that applies and asks for one is enough to need it.
fn asking(all: &[Against<'_>], cell: Cell) -> Cell {
    if cell == Cell::Never {
        return cell;
    }
    let asks = |one: &&Against<'_>| one.written.asks();
    let permits = || all.iter().filter(|one| one.written.permits() && one.truth != Truth::False);
    let always = permits().filter(asks).any(|one| one.truth == Truth::True);
    let reads = match &cell {
        Cell::Depends(reads) => reads.clone(),
        _ => BTreeSet::new(),
    };
    if always || permits().all(|one| asks(&one)) {
        return Cell::Asks(reads);
    }
    // whether it asks depends on what its permit reads
    let open = permits().filter(asks).filter_map(|one| match &one.truth {
        Truth::Open(open) => Some(open.reads.clone()),
        _ => None,
    });
    let more: BTreeSet<String> = open.flatten().collect();
    if more.is_empty() { cell } else { Cell::Depends(reads.into_iter().chain(more).collect()) }
}

/// The verdict over policies of which some are open; or what it depends on.
pub(super) fn settled(all: &[Against<'_>]) -> Result<Cell, Open> {
    let of = |permits: bool| all.iter().filter(move |one| one.written.permits() == permits);
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
            if !permitted || !one.written.permits() || own.may_fail {
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
