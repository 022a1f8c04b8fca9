//! The rule `case`: the names that are declared at each place, taken from the schemas and not from the types that policies
//! see.
//!
//! A place stands for all schemas that may look at one value, with those beside them. Edges lead from it to its members and
//! items. The names of all branches and patterns count, so the rule refuses too much rather than too little. Places with the
//! same schemas are one, so a schema that leads back to itself ends.

mod reader;

use super::meter::charge_text;
use super::{ContentFault, pointer};
use crate::case;
use crate::json::{Json, Object};
pub(super) use reader::CasingReader;

/// Names that are declared in the instances of one shape, by place. The first place is the whole; there is none where no name
/// is declared and all objects are open. Two equal casings refuse the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Casing {
    nodes: Vec<CasingNode>,
}

/// One place of an instance, with the numbers of the places inside. None where no name is declared further inside and all
/// objects are open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CasingNode {
    /// The declared names, sorted, with the place inside each.
    names: Vec<(String, Option<usize>)>,
    /// The same names folded, sorted, with their index among the names.
    folded: Vec<(String, usize)>,
    /// The place inside members of other names.
    rest: Option<usize>,
    /// The places inside the first items.
    prefix: Vec<Option<usize>>,
    /// The place inside the items behind them.
    items: Option<usize>,
    openness: Openness,
    /// Names are declared here or further inside.
    leads: bool,
}

/// The freedom of objects to take members.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Openness {
    /// Some schema bounds the names or the values of further members here.
    bounded: bool,
    /// Some schema lists objects or arrays, so it bounds all that is inside them too.
    listed: bool,
}

impl CasingNode {
    /// The declared names with the place inside each.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, Option<usize>)> {
        self.names.iter().map(|(name, inside)| (name.as_str(), *inside))
    }

    /// The declared names whose twins are refused, folded and as they are written.
    pub(crate) fn watched(&self) -> impl Iterator<Item = (&str, &str)> {
        self.folded
            .iter()
            .filter_map(|(folded, which)| Some((folded.as_str(), self.names.get(*which)?.0.as_str())))
    }

    /// The declared name with the place inside it.
    fn declared(&self, name: &str) -> Option<&(String, Option<usize>)> {
        let at = self.names.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
        self.names.get(at)
    }

    /// The place inside the member of this name.
    pub(crate) fn inside(&self, name: &str) -> Option<usize> {
        self.declared(name).map_or(self.rest, |(_, inside)| *inside)
    }

    /// The place inside members of all other names.
    pub(crate) fn rest(&self) -> Option<usize> {
        self.rest
    }

    /// The places inside the first items, and the one inside the items behind them.
    pub(crate) fn items(&self) -> (&[Option<usize>], Option<usize>) {
        (&self.prefix, self.items)
    }

    /// Returns true if an object here takes a member of any further name with any value.
    pub(crate) fn is_open(&self) -> bool {
        !self.openness.bounded
    }

    /// Returns true if a schema here lists objects or arrays as they are.
    pub(crate) fn is_listed(&self) -> bool {
        self.openness.listed
    }

    /// Returns true if names are declared here or further inside.
    pub(crate) fn leads_to_names(&self) -> bool {
        self.leads
    }

    /// The declared name that is this one but for case.
    fn collision(&self, name: &str) -> Option<&str> {
        let folded = || name.chars().map(case::fold);
        let at = self.folded.binary_search_by(|(known, _)| known.chars().cmp(folded())).ok()?;
        let (_, which) = self.folded.get(at)?;
        self.names.get(*which).map(|(name, _)| name.as_str())
    }

    /// The places inside this one.
    pub(crate) fn children(&self) -> impl Iterator<Item = Option<usize>> {
        let names = self.names.iter().map(|(_, inside)| *inside);
        names.chain(self.prefix.iter().copied()).chain([self.rest, self.items])
    }

    fn children_mut(&mut self) -> impl Iterator<Item = &mut Option<usize>> {
        let names = self.names.iter_mut().map(|(_, inside)| inside);
        names.chain(&mut self.prefix).chain([&mut self.rest, &mut self.items])
    }
}

impl Casing {
    /// Keeps only the twins for which `keep` holds, given the number of their place and the folded name.
    pub(crate) fn retain_watched(&mut self, mut keep: impl FnMut(usize, &str) -> bool) {
        for (number, node) in self.nodes.iter_mut().enumerate() {
            node.folded.retain(|(folded, _)| keep(number, folded));
        }
    }

    /// A place by its number.
    pub(crate) fn node(&self, number: usize) -> Option<&CasingNode> {
        self.nodes.get(number)
    }

    /// Refuses, at every depth, a member whose name is not declared in its place and differs from one that is only in case (`docs/design/firewall.md` §1):
    /// an open object would take `Amount` beside `amount`, policies would read the one, and a reader that folds case the other.
    ///
    /// # Errors
    /// [`ContentFault`] with the rule `case` and the path of the declared name; items have no segment in it.
    pub(crate) fn conform(&self, object: &Object<'_>, without: Option<&str>) -> Result<(), ContentFault> {
        self.node(0).map_or(Ok(()), |node| self.object(node, object, without))
    }

    fn object(
        &self,
        node: &CasingNode,
        object: &Object<'_>,
        without: Option<&str>,
    ) -> Result<(), ContentFault> {
        for (name, value) in object.iter().filter(|(name, _)| Some(*name) != without) {
            if !charge_text(name) {
                return Ok(());
            }
            let known = node.declared(name);
            if let (None, Some(declared)) = (known, node.collision(name)) {
                return Err(ContentFault { path: pointer(&[declared]), rule: "case".to_owned() });
            }
            let inside = known.map_or(node.rest, |(_, inside)| *inside);
            self.value(inside, value).map_err(|mut fault| {
                let segment = if known.is_some() { pointer(&[name]) } else { "/*".to_owned() };
                fault.path = segment + &fault.path;
                fault
            })?;
        }
        Ok(())
    }

    fn value(&self, number: Option<usize>, value: &Json<'_>) -> Result<(), ContentFault> {
        let node = number.and_then(|number| self.node(number)).filter(|node| node.leads);
        let Some(node) = node else { return Ok(()) };
        match value {
            Json::Object(object) => self.object(node, object, None),
            Json::Array(values) => values.iter().enumerate().try_for_each(|(index, value)| {
                self.value(node.prefix.get(index).copied().unwrap_or(node.items), value)
            }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
