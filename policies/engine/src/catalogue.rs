//! Every loaded context as Cedar types: one entity type for each line and shape.

mod schema;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use cedar_policy::{EntityId, EntityTypeName, EntityUid};
use semgate_contexts::{Context, Digest, Line, PerformativeSet, Shape};
use serde_json::Value;

use crate::LeftOut;
use crate::kinds::Attributes;
use crate::names::{namespace, type_name};
use crate::negotiated_terms;
use crate::open_objects::SchemaNode;
use crate::spaces::{After, Holder, Spaces};

/// Members of the context record that every request carries.
pub const CONTEXT_MEMBERS: [&str; 12] = [
    "receiver",
    "line",
    "major",
    "minor",
    "binding",
    "binding_version",
    "direction",
    "free_text",
    "locked",
    "session",
    "now",
    "scores",
];

/// Members of `context.scores`. Those of [`TextWants`](crate::TextWants) are made only where a policy reads them.
pub(crate) const SCORES: [&str; 8] =
    ["text_length", "message_bytes", "concepts", "ambiguous", "hidden", "markers", "injection", UNUSUAL];

/// The scores of the text of an instance.
pub const TEXT_SCORES: [&str; 4] = ["hidden", "markers", "injection", UNUSUAL];

/// The score that is absent without a baseline of the field.
pub(crate) const UNUSUAL: &str = "unusual";

/// One entity type.
#[derive(Debug, Clone)]
pub(crate) struct TypeInfo {
    /// The full Cedar name, `payment::transfer`.
    pub name: String,
    /// The line.
    pub line: Line,
    /// Performatives under which some version uses it.
    pub performatives: PerformativeSet,
    /// Merged over its versions.
    pub attributes: Attributes,
    /// The one resource of this type; instances have no names.
    pub uid: EntityUid,
}

impl TypeInfo {
    /// True for a learnt term, which no context defines.
    pub fn is_learnt(&self) -> bool {
        negotiated_terms::is_reserved(&self.line)
    }
}

/// One shape of one context version.
#[derive(Debug)]
pub(crate) struct ShapeInfo {
    /// As [`semgate_contexts::Shape::name`] says.
    pub name: String,
    /// Distinct over the catalogue.
    pub number: u32,
    /// Index of its type.
    pub of_type: usize,
    /// Version of its context.
    pub major: u32,
    /// Version of its context.
    pub minor: u32,
    /// Members of an instance that this version shows.
    pub attributes: Attributes,
    /// True if each instance is checked for values that policies cannot be shown exactly.
    pub checked: bool,
}

/// All types, and how to find them from a context.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    pub types: Vec<TypeInfo>,
    shapes: HashMap<Digest, Vec<ShapeInfo>, BuildHasherDefault<FirstBytes>>,
    /// Learnt concepts that policies name, by Cedar name.
    learnt: Vec<ShapeInfo>,
    pub left_out: Vec<LeftOut>,
    /// Holders of namespaces that two lines could have, by name.
    pub held: BTreeSet<String>,
    /// Namespaces that nobody has, since two would.
    pub barred: BTreeSet<String>,
}

/// The hash of a digest is its first eight bytes: SHA-256 has spread them already.
#[derive(Debug, Default)]
struct FirstBytes(u64);

impl Hasher for FirstBytes {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk::<8>() {
            self.0 = u64::from_le_bytes(*first);
        }
    }

    /// The length that goes before the bytes of an array says nothing.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The versions of one shape of one line, merged within each major.
type Majors = BTreeMap<u32, (Attributes, PerformativeSet)>;

impl Catalogue {
    /// Types all contexts, where nothing is live.
    pub fn build(contexts: &[Arc<Context>]) -> Self {
        Self::build_after(contexts, &After::default())
    }

    /// Types all contexts, those that are live first, then the lowest version; one that cannot stand beside those before it is left out
    /// alone. Who has a namespace that two lines could have keeps it, and where nobody had it before, nobody gets it.
    pub fn build_after(contexts: &[Arc<Context>], after: &After) -> Self {
        let mut after = after.clone();
        loop {
            let (mut catalogue, contested) = Self::build_once(contexts, &after);
            if contested.is_subset(&after.barred) {
                catalogue.barred = after.barred;
                return catalogue;
            }
            after.barred.extend(contested);
        }
    }

    fn build_once(contexts: &[Arc<Context>], after: &After) -> (Self, BTreeSet<String>) {
        let mut sorted: Vec<&Arc<Context>> = contexts.iter().collect();
        sorted.sort_by_key(|context| {
            let urn = context.urn();
            (urn.line(), !after.live.contains(context.digest()), urn.version())
        });
        let mut catalogue = Self::default();
        let mut taken: HashMap<String, String> = HashMap::new();
        let mut spaces = Spaces::new(&sorted, after);
        for of_line in sorted.chunk_by(|a, b| a.urn().line() == b.urn().line()) {
            catalogue.add_line(of_line, &mut taken, &mut spaces);
        }
        catalogue.held = spaces.held();
        (catalogue, spaces.contested)
    }

    /// These types alone, for the schema that they make.
    pub fn of_types(types: Vec<TypeInfo>) -> Self {
        Self { types, ..Self::default() }
    }

    fn add_line(
        &mut self,
        versions: &[&Arc<Context>],
        taken: &mut HashMap<String, String>,
        spaces: &mut Spaces<'_>,
    ) {
        let mut kept: Vec<&Arc<Context>> = Vec::new();
        let mut shapes: BTreeMap<String, Majors> = BTreeMap::new();
        let (reserved, versions): (Vec<&Arc<Context>>, Vec<&Arc<Context>>) =
            versions.iter().copied().partition(|context| negotiated_terms::is_reserved(context.urn().line()));
        let why = "policies would take its concepts for learnt terms";
        self.left_out.extend(
            reserved.iter().map(|context| LeftOut { urn: context.urn().clone(), why: why.to_owned() }),
        );
        for context in versions {
            let attempt = if kept.iter().any(|other| other.urn() == context.urn()) {
                Err("another document of the same name and version".to_owned())
            } else {
                let with = with_version(&shapes, context);
                let alone = spaces.may_have(&holders(&with, context.urn().line()));
                alone.and_then(|()| no_name_twice(&with, context.urn().line(), taken)).map(|()| with)
            };
            match attempt {
                Ok(with) => {
                    shapes = with;
                    kept.push(context);
                }
                Err(why) => self.left_out.push(LeftOut { urn: context.urn().clone(), why }),
            }
        }
        let Some(line) = kept.first().map(|context| context.urn().line().clone()) else {
            return;
        };
        spaces.has(holders(&shapes, &line));
        let mut places = HashMap::new();
        for (shape, majors) in &shapes {
            for (major, name, attributes, performatives) in named(&line, shape, majors) {
                taken.insert(name.clone(), format!("`{shape}` of `{line}`"));
                let position = self.add_type(name, &line, attributes, performatives);
                if let Some(position) = position {
                    match major {
                        Some(major) => drop(places.insert((shape.clone(), major), position)),
                        None => places.extend(majors.keys().map(|major| ((shape.clone(), *major), position))),
                    }
                }
            }
        }
        for context in kept {
            self.add_shapes(context, &places);
        }
    }

    fn add_type(
        &mut self,
        name: String,
        line: &Line,
        attributes: Attributes,
        performatives: PerformativeSet,
    ) -> Option<usize> {
        // The name is built from checked labels and identifiers, so it always parses; if not, the type is simply absent
        // and every question about it is refused.
        let type_name = EntityTypeName::from_str(&name).ok()?;
        let uid = EntityUid::from_type_name_and_id(type_name, EntityId::new("instance"));
        self.types.push(TypeInfo { name, line: line.clone(), performatives, attributes, uid });
        Some(self.types.len() - 1)
    }

    fn add_shapes(&mut self, context: &Context, places: &HashMap<(String, u32), usize>) {
        let version = context.urn().version();
        let mut infos = Vec::new();
        let document = document(context);
        for shape in context.shapes() {
            let key = (shape.name().to_owned(), version.major);
            let Some(of_type) = places.get(&key).copied() else {
                continue;
            };
            let Some(info) = self.types.get(of_type) else { continue };
            let attributes = attributes(&document, shape).seen_in(&info.attributes);
            infos.push(ShapeInfo {
                name: key.0,
                number: 0,
                of_type,
                major: version.major,
                minor: version.minor,
                checked: attributes.may_misfit(),
                attributes,
            });
        }
        let so_far: usize = self.shapes.values().map(Vec::len).sum();
        for (position, info) in infos.iter_mut().enumerate() {
            info.number = u32::try_from(so_far + position).unwrap_or(u32::MAX);
        }
        self.shapes.insert(*context.digest(), infos);
    }

    /// Types the learnt concepts that policies name. One whose name can be no type is absent, and nothing of it is permitted.
    pub fn add_learnt(&mut self, names: &BTreeSet<String>) {
        let Ok(line) = Line::parse(negotiated_terms::SPACE) else { return };
        for own in names {
            let name = format!("{}::{own}", negotiated_terms::SPACE);
            let performatives = negotiated_terms::PERFORMATIVES.into_iter().collect();
            if let Some(of_type) =
                self.add_type(name.clone(), &line, negotiated_terms::attributes(), performatives)
            {
                let so_far: usize = self.shapes.values().map(Vec::len).sum::<usize>() + self.learnt.len();
                let attributes = negotiated_terms::attributes();
                self.learnt.push(ShapeInfo {
                    name,
                    number: u32::try_from(so_far).unwrap_or(u32::MAX),
                    of_type,
                    major: 0,
                    minor: 0,
                    checked: attributes.may_misfit(),
                    attributes,
                });
            }
        }
    }

    /// The shape of a learnt concept, if a policy names it.
    pub fn learnt(&self, concept: &str) -> Option<&ShapeInfo> {
        let name = negotiated_terms::full_name(concept);
        self.learnt.iter().find(|shape| shape.name == name)
    }

    /// The shape of that name in the context of that digest, if the context is not left out.
    pub fn shape(&self, digest: &Digest, name: &str) -> Option<&ShapeInfo> {
        self.shapes.get(digest)?.iter().find(|shape| shape.name == name)
    }

    /// Returns true if the context of that digest is typed.
    pub fn has(&self, digest: &Digest) -> bool {
        self.shapes.contains_key(digest)
    }

    /// Digests of the contexts that are typed.
    pub fn digests(&self) -> impl Iterator<Item = &Digest> {
        self.shapes.keys()
    }
}

/// The document as a value, to look up what its references mean; every shape is open if that fails.
fn document(context: &Context) -> Value {
    context.bundled()
}

/// The members of a shape of this document that policies see.
pub(crate) fn attributes(document: &Value, shape: &Shape) -> Attributes {
    Attributes::of(shape.fields(), Some(SchemaNode::new(document, shape.schema())))
}

/// The shapes of a line with one more version, or why it cannot join.
fn with_version(shapes: &BTreeMap<String, Majors>, context: &Context) -> BTreeMap<String, Majors> {
    let mut with = shapes.clone();
    let document = document(context);
    for shape in context.shapes() {
        let own = attributes(&document, shape);
        let majors = with.entry(shape.name().to_owned()).or_default();
        let merged = match majors.get(&context.urn().version().major) {
            None => (own, shape.performatives()),
            Some((before, performatives)) => (
                before.merge_visible(&own),
                performatives.iter().chain(shape.performatives().iter()).collect(),
            ),
        };
        majors.insert(context.urn().version().major, merged);
    }
    with
}

/// The types that the versions of one shape make: one if the majors agree (then without a major), else one for each.
fn named(
    line: &Line,
    shape: &str,
    majors: &Majors,
) -> Vec<(Option<u32>, String, Attributes, PerformativeSet)> {
    let space = namespace(line);
    let name = type_name(shape);
    let mut all = majors.values();
    let first = all.next().cloned().unwrap_or_default();
    let together = all.try_fold(first, |(attributes, performatives), (more, and)| {
        let performatives: PerformativeSet = performatives.iter().chain(and.iter()).collect();
        attributes.merge(more).map(|attributes| (attributes, performatives))
    });
    match together {
        Ok((attributes, performatives)) => {
            vec![(None, format!("{space}::{name}"), attributes, performatives)]
        }
        Err(_) => majors
            .iter()
            .map(|(major, (attributes, performatives))| {
                (Some(*major), format!("{space}::v{major}::{name}"), attributes.clone(), *performatives)
            })
            .collect(),
    }
}

/// The namespaces of a line that another could have: its own, and those of its majors where they disagree.
fn holders(shapes: &BTreeMap<String, Majors>, line: &Line) -> Vec<Holder> {
    let split: BTreeSet<u32> = shapes
        .iter()
        .flat_map(|(shape, majors)| named(line, shape, majors))
        .filter_map(|(major, ..)| major)
        .collect();
    let majors = split.into_iter().map(|major| Holder::Major { line: line.clone(), major });
    Holder::line(line).into_iter().chain(majors).collect()
}

fn no_name_twice(
    shapes: &BTreeMap<String, Majors>,
    line: &Line,
    taken: &HashMap<String, String>,
) -> Result<(), String> {
    let mut own: HashMap<String, &str> = HashMap::new();
    for (shape, majors) in shapes {
        for (_, name, ..) in named(line, shape, majors) {
            if let Some(other) = taken.get(&name) {
                return Err(format!("`{shape}` would be `{name}` to policies, which is {other}"));
            }
            if let Some(other) = own.insert(name.clone(), shape) {
                return Err(format!("`{shape}` and `{other}` would both be `{name}` to policies"));
            }
        }
    }
    Ok(())
}
