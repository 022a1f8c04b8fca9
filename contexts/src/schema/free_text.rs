//! Locations of free text in an instance, so that a policy can ask for its presence.

mod loose;
mod reader;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::json::{Json, Object};
pub use loose::{Spared, TooManyLooks};
pub(super) use reader::FreeTextReader;

/// The demands of a subschema on the text of a value, with the indices of the places inside; merged with all that look at the same value.
#[derive(Debug, Default)]
struct Position {
    text: bool,
    /// It takes any value.
    open: bool,
    /// It takes nothing.
    never: bool,
    /// Some text stands here or further inside.
    leads: bool,
    properties: BTreeMap<String, Vec<usize>>,
    others: Vec<usize>,
    items: Vec<usize>,
    /// No string that fits is prose.
    tied: bool,
    /// No name of a member is prose.
    names_tied: bool,
    /// Those of `properties` that hold whichever branches of unions do.
    sure: Vec<usize>,
}

/// All places of a document.
#[derive(Debug)]
pub(super) struct FreeTextMap {
    nodes: Vec<Position>,
}

/// Free text of one shape.
#[derive(Debug, Clone)]
pub(crate) struct FreeText {
    map: Arc<FreeTextMap>,
    root: usize,
}

impl FreeText {
    pub(super) fn new(map: Arc<FreeTextMap>, root: usize) -> Self {
        FreeText { map, root }
    }

    /// True if a string that is not empty stands where the schema has free text, or if telling takes too many looks.
    pub(crate) fn is_in(&self, instance: &Object<'_>) -> bool {
        let mut search = Search { map: &self.map, looks: LOOKS, take: Take::First, at: Vec::new() };
        search.object(&[self.root], instance) || search.looks == 0
    }

    /// The characters of all strings in places with free text. Counts all strings if deciding takes too many looks.
    pub(crate) fn length_in(&self, instance: &Object<'_>) -> u64 {
        let mut sum = 0_u64;
        self.each_in(instance, &mut |_, text| sum = sum.saturating_add(text.chars().count() as u64));
        sum
    }

    /// Hands over each string in a place with free text, with its position. Hands over all strings if deciding takes too many looks.
    pub(crate) fn each_in<'i>(&'i self, instance: &'i Object<'_>, each: Each<'_, 'i>) {
        let mut texts: Vec<(Vec<&'i str>, &'i str)> = Vec::new();
        let mut take = |at: &[&'i str], text: &'i str| texts.push((at.to_vec(), text));
        let mut search = Search { map: &self.map, looks: LOOKS, take: Take::Each(&mut take), at: Vec::new() };
        search.object(&[self.root], instance);
        match search.looks {
            0 => strings_of_members(instance, &mut |text| each(&[ANY], text)),
            _ => texts.iter().for_each(|(at, text)| each(at, text)),
        }
    }

    /// Positions of free text, sorted; at most `most`, and of at most as many steps as a schema nests.
    pub(crate) fn positions(&self, most: usize) -> Vec<String> {
        let mut all = BTreeSet::new();
        let mut open = vec![(self.view(), String::new())];
        let mut looks = LOOKS_OF_POSITIONS;
        while let (Some((view, at)), true) = (open.pop(), looks > 0 && all.len() < most) {
            looks -= 1;
            if view.is_text() {
                all.insert(at.clone());
            }
            let inside = |name: &str| format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
            let named = view.names().map(|name| (view.member(Some(name)), inside(name)));
            let others = [(view.member(None), inside(ANY)), (view.item(), inside(ANY))];
            open.extend(named.chain(others).filter(|(view, _)| view.leads()));
        }
        all.into_iter().collect()
    }

    /// Returns true if any instance could hold some.
    pub(crate) fn anywhere(&self) -> bool {
        self.map.leading(&[self.root]).next().is_some()
    }

    /// The view of a whole instance.
    pub(crate) fn view(&self) -> View<'_> {
        View { map: &self.map, nodes: BTreeSet::from([self.root]), open: false }
    }
}

/// The view of one value of an instance: the places that look at it.
#[derive(Debug, Clone)]
pub(crate) struct View<'m> {
    map: &'m FreeTextMap,
    nodes: BTreeSet<usize>,
    /// A schema around it takes any value.
    open: bool,
}

impl<'m> View<'m> {
    fn merged(&self) -> impl Iterator<Item = &'m Position> {
        self.nodes.iter().filter_map(|node| self.map.nodes.get(*node))
    }

    /// The key that identifies it within the document.
    pub(crate) fn key(&self) -> (BTreeSet<usize>, bool) {
        (self.nodes.clone(), self.open)
    }

    /// Returns true if a string is free text here.
    pub(crate) fn is_text(&self) -> bool {
        self.merged().any(|node| node.text)
    }

    /// Returns true if free text may stand here or further inside.
    pub(crate) fn leads(&self) -> bool {
        self.merged().any(|node| node.leads)
    }

    /// Returns true if no value can stand here.
    pub(crate) fn is_nothing(&self) -> bool {
        !self.open && self.merged().all(|node| node.never)
    }

    /// The members that are named here.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'m str> {
        self.merged().flat_map(|node| node.properties.keys().map(String::as_str))
    }

    /// The view of a member; without a name, of a member that no schema names.
    pub(crate) fn member(&self, name: Option<&str>) -> Self {
        let of = |node: &'m Position| {
            let named = name.and_then(|name| node.properties.get(name)).into_iter().flatten();
            named.chain(&node.others).copied()
        };
        self.inside(self.merged().flat_map(of).collect(), false)
    }

    /// The view of any item. A schema without a demand on items takes all.
    pub(crate) fn item(&self) -> Self {
        let nodes: BTreeSet<usize> = self.merged().flat_map(|node| node.items.iter().copied()).collect();
        let free = nodes.is_empty();
        self.inside(nodes, free)
    }

    fn inside(&self, nodes: BTreeSet<usize>, free: bool) -> Self {
        let open = free || self.open || self.merged().any(|node| node.open);
        Self { map: self.map, nodes, open }
    }
}

impl FreeTextMap {
    fn leading<'m, 'p>(&'m self, nodes: &'p [usize]) -> impl Iterator<Item = &'m Position> + use<'m, 'p> {
        nodes.iter().filter_map(|node| self.nodes.get(*node)).filter(|node| node.leads)
    }
}

/// Free looks for each instance. Few schemas look at one value in documents that people write.
const LOOKS: usize = 64;

/// The step of a position into an array, or to a member that no schema names.
const ANY: &str = "*";

/// Looks for positions in one schema: more than documents hold, and a bound for schemas that refer to themselves.
const LOOKS_OF_POSITIONS: usize = 4_096;

/// Takes a string with its position.
type Each<'f, 'i> = &'f mut dyn FnMut(&[&'i str], &'i str);

/// The strings that a walk is about.
enum Take<'f, 'i> {
    /// The first alone that is not empty.
    First,
    /// All of them.
    Each(Each<'f, 'i>),
}

/// One walk over an instance.
struct Search<'m, 'f, 'i> {
    map: &'m FreeTextMap,
    /// Looks of schemas at values that are left. Without any, there is no answer.
    looks: usize,
    take: Take<'f, 'i>,
    /// The position; empty in a search for the first.
    at: Vec<&'i str>,
}

impl<'m: 'i, 'i> Search<'m, '_, 'i> {
    /// Returns true when the search may end.
    fn object(&mut self, nodes: &[usize], object: &'i Object<'_>) -> bool {
        let map = self.map;
        let leading: Vec<&'m Position> = map.leading(nodes).collect();
        !leading.is_empty()
            && object.iter().any(|(name, value)| {
                let inside = |node: &'m Position| {
                    node.properties.get(name).into_iter().flatten().chain(&node.others).copied()
                };
                let step =
                    if leading.iter().any(|node| node.properties.contains_key(name)) { name } else { ANY };
                self.at.push(step);
                let ends = self.value(once_each(leading.iter().flat_map(|node| inside(node))), value);
                self.at.pop();
                ends
            })
    }

    fn value(&mut self, nodes: Vec<usize>, value: &'i Json<'_>) -> bool {
        if nodes.is_empty() {
            return false;
        }
        self.looks = self.looks.saturating_add(LOOKS_A_VALUE).saturating_sub(nodes.len());
        if self.looks == 0 {
            return true;
        }
        let map = self.map;
        match value {
            Json::String(text) if map.leading(&nodes).any(|node| node.text) => match &mut self.take {
                Take::First => !text.is_empty(),
                Take::Each(each) => {
                    each(&self.at, text);
                    false
                }
            },
            Json::Object(object) => self.object(&nodes, object),
            Json::Array(items) => {
                let inside = once_each(map.leading(&nodes).flat_map(|node| node.items.iter().copied()));
                self.at.push(ANY);
                let ends = items.iter().any(|item| self.value(inside.clone(), item));
                self.at.pop();
                ends
            }
            _ => false,
        }
    }
}

/// Looks that each value adds.
const LOOKS_A_VALUE: usize = 8;

/// The places in order, each once.
fn once_each(nodes: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut nodes: Vec<usize> = nodes.collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

fn strings_of_members<'i>(object: &'i Object<'_>, each: &mut dyn FnMut(&'i str)) {
    object.iter().for_each(|(_, value)| strings(value, each));
}

fn strings<'i>(value: &'i Json<'_>, each: &mut dyn FnMut(&'i str)) {
    match value {
        Json::String(text) => each(text),
        Json::Array(items) => items.iter().for_each(|item| strings(item, each)),
        Json::Object(object) => strings_of_members(object, each),
        _ => {}
    }
}
