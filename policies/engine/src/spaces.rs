//! Namespaces that two lines could have: `shop::v2` is that of the line `shop.v2`, and of major 2 of the line `shop` where its majors
//! disagree. Who has one keeps it, so that no publisher takes the name that another's permits are about.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use semgate_contexts::{Context, Digest, Line};

use crate::names::namespace;

/// The state that contexts are typed after.
#[derive(Debug, Clone, Default)]
pub(crate) struct After {
    /// Documents that are live: of a line, they are typed before the others.
    pub live: HashSet<Digest>,
    /// The holders of namespaces that two could have ([`Holder::name`]).
    pub held: BTreeSet<String>,
    /// Namespaces that two would have, neither of them before the other: nobody has them.
    pub barred: BTreeSet<String>,
}

/// A possible holder of a namespace `P::vN`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Holder {
    /// The line `P.vN`.
    Line { line: Line, parent: Line, major: u32 },
    /// A major of the line `P`, whose majors disagree.
    Major { line: Line, major: u32 },
}

impl Holder {
    /// A line with a namespace that a major of another line could have.
    pub fn line(line: &Line) -> Option<Self> {
        let (parent, last) = line.as_str().rsplit_once('.')?;
        let digits = last.strip_prefix('v')?;
        let major: u32 = digits.parse().ok()?;
        if major.to_string() != digits {
            return None;
        }
        Some(Self::Line { line: line.clone(), parent: Line::parse(parent).ok()?, major })
    }

    /// The line that could have the namespace of this major.
    pub fn line_beside(line: &Line, major: u32) -> Option<Line> {
        Line::parse(&format!("{line}.v{major}")).ok()
    }

    pub fn space(&self) -> String {
        match self {
            Self::Line { line, .. } => namespace(line),
            Self::Major { line, major } => format!("{}::v{major}", namespace(line)),
        }
    }

    /// As it is kept: `shop.v2` or `shop:v2`.
    pub fn name(&self) -> String {
        match self {
            Self::Line { line, .. } => line.to_string(),
            Self::Major { line, major } => format!("{line}:v{major}"),
        }
    }

    /// The other one that could have it: its name, and its line.
    fn other(&self) -> Option<(String, Line)> {
        match self {
            Self::Line { parent, major, .. } => Some((format!("{parent}:v{major}"), parent.clone())),
            Self::Major { line, major } => {
                Self::line_beside(line, *major).map(|line| (line.to_string(), line))
            }
        }
    }

    fn report(&self) -> String {
        match self {
            Self::Line { parent, major, .. } => format!("major {major} of the line `{parent}`"),
            Self::Major { line, major } => format!("the line `{line}.v{major}`"),
        }
    }
}

/// The holders of namespaces, while contexts are typed.
#[derive(Debug)]
pub(crate) struct Spaces<'a> {
    after: &'a After,
    lines: HashSet<&'a Line>,
    taken: HashMap<String, Holder>,
    /// Namespaces that two would have and nobody had before.
    pub contested: BTreeSet<String>,
}

impl<'a> Spaces<'a> {
    pub fn new(contexts: &[&'a Arc<Context>], after: &'a After) -> Self {
        let lines = contexts.iter().map(|context| context.urn().line()).collect();
        Self { after, lines, taken: HashMap::new(), contested: BTreeSet::new() }
    }

    /// Returns true if all of these may be had, or why not.
    pub fn may_have(&mut self, wanted: &[Holder]) -> Result<(), String> {
        for holder in wanted {
            let space = holder.space();
            let Some((other, line)) = holder.other() else { continue };
            let report = |why: &str| format!("`{space}` would be its namespace in policies, {why}");
            if self.after.barred.contains(&space) {
                let why = format!("and the namespace of {}, and neither came first", holder.report());
                return Err(report(&why));
            }
            // what is held no more keeps nobody out
            let settled = self.after.held.contains(&other) && self.lines.contains(&line);
            let taken = self.taken.get(&space).is_some_and(|by| by != holder);
            if settled || taken {
                if !settled && !self.after.held.contains(&holder.name()) {
                    self.contested.insert(space.clone());
                }
                return Err(report(&format!("which is the namespace of {}", holder.report())));
            }
        }
        Ok(())
    }

    pub fn has(&mut self, holders: Vec<Holder>) {
        self.taken.extend(holders.into_iter().map(|holder| (holder.space(), holder)));
    }

    /// Names of all who have one.
    pub fn held(&self) -> BTreeSet<String> {
        self.taken.values().map(Holder::name).collect()
    }
}
