//! What is there when policies are loaded: types and their versions, agents and their credentials, floors.

mod given;

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use cedar_policy::pst::{Expr, Literal, Var};
use semgate_contexts::{PerformativeSet, Version};

use super::around::can_be_bound;
use super::facts::Where;
use super::steps::Steps;
use super::values::Values;
use crate::agents::Agents;
use crate::catalogue::{Catalogue, ShapeInfo, TypeInfo};
use crate::kinds::{Attributes, Kind};
use crate::moments::{DAY, SECOND};
use crate::numbers::Numbers;
use crate::strings::Strings;
use crate::{Floors, PolicyLimits, ScoreBounds, credentials, learnt, pace, reads};

/// What a member can be, by the names that lead to it.
type Members = HashMap<Vec<String>, Values>;

/// Names and values by which policies are judged.
pub(crate) struct World<'a> {
    pub catalogue: &'a Catalogue,
    /// With their floors; `None` while it is asked which contexts fit.
    agents: Option<(&'a Agents, &'a Floors)>,
    names: HashMap<&'a str, usize>,
    /// The versions of each type, lowest first.
    versions: Vec<Vec<Version>>,
    /// In the same order what each of them says of its own, where one shape says it.
    shapes: Vec<Vec<Option<&'a ShapeInfo>>>,
    /// Types by a member of theirs that policies do not see, or that holds one.
    unseen: HashMap<&'a str, Vec<usize>>,
    /// Of policies whose resource is open, over all types.
    known: RefCell<Members>,
    /// Every line that a context has, and that of learnt concepts.
    lines: Arc<BTreeSet<String>>,
    /// The trust domains of those whom a gateway can meet, where that is known.
    met: Option<Arc<BTreeSet<String>>>,
    /// Pairs of a permit and a forbid that may be held against each other.
    pub shadow_pairs: usize,
    /// The agents that can come, where some cannot.
    coming: OnceCell<Option<BTreeSet<u32>>>,
    /// Who is given each credential, once somebody asks.
    holders: OnceCell<HashMap<&'a str, BTreeSet<u32>>>,
    /// What may still be looked at: of the policy at hand, and of all.
    steps: Steps,
    /// Whether who is in a group, and what which entry gives, is taken into account as it is today.
    groups_count: bool,
    /// The clock in milliseconds, where it is taken into account.
    now: Option<i64>,
    /// The most that scores can be, where that is known and counts.
    most: Option<ScoreBounds>,
    /// The text of `entities.json`, and where in it the credentials of each agent stand, once somebody asks.
    entities: &'a [u8],
    places: OnceCell<Vec<crate::Place>>,
    /// Who is in a group, of those that were asked for.
    groups: RefCell<HashMap<String, Arc<BTreeSet<u32>>>>,
}

/// What the names that lead from an instance mean in one type.
enum Found<'k> {
    Absent,
    Hidden,
    /// What is there, and whether every instance has it.
    There(&'k Kind, bool),
}

impl<'a> World<'a> {
    /// What the contexts alone say.
    pub fn of_contexts(catalogue: &'a Catalogue) -> Self {
        let types = || catalogue.types.iter().enumerate();
        let mut unseen: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, info) in types() {
            pace::rest();
            for (name, member) in &info.attributes.members {
                if member.kind.as_ref().is_none_or(hides) {
                    unseen.entry(name).or_default().push(at);
                }
            }
        }
        let versions = catalogue.by_version();
        Self {
            catalogue,
            agents: None,
            names: types().map(|(at, info)| (info.name.as_str(), at)).collect(),
            versions: versions.iter().map(|all| all.keys().copied().collect()).collect(),
            shapes: versions.into_iter().map(|all| all.into_values().collect()).collect(),
            unseen,
            known: RefCell::default(),
            lines: Arc::new(
                types()
                    .filter(|(_, info)| !learnt::is_learnt(info))
                    .map(|(_, info)| info.line.as_str().to_owned())
                    .chain([learnt::SPACE.to_owned()])
                    .collect(),
            ),
            met: None,
            shadow_pairs: 0,
            coming: OnceCell::new(),
            holders: OnceCell::new(),
            steps: Steps::new(&PolicyLimits::default()),
            groups_count: true,
            now: None,
            most: None,
            entities: &[],
            places: OnceCell::new(),
            groups: RefCell::default(),
        }
    }

    /// And with agents and floors; of the limits it takes what the configuration of a gateway says of agents.
    pub fn new(
        catalogue: &'a Catalogue,
        agents: &'a Agents,
        floors: &'a Floors,
        limits: &PolicyLimits,
    ) -> Self {
        let met = limits.trust_domains.as_ref().filter(|domains| !domains.is_empty());
        let met = met.map(|domains| Arc::new(domains.clone()));
        let shadow_pairs = limits.max_shadow_pairs;
        let steps = Steps::new(limits);
        let now = limits.now.and_then(|seconds| i64::try_from(seconds).ok()?.checked_mul(1_000));
        let most = limits.scores;
        Self {
            agents: Some((agents, floors)),
            met,
            shadow_pairs,
            steps,
            now,
            most,
            ..Self::of_contexts(catalogue)
        }
    }

    /// The same, with the text of `entities.json`, so that what is told of an entry has its place.
    pub fn reading(self, entities: &'a [u8]) -> Self {
        Self { entities, ..self }
    }

    /// The same, whoever may be in a group, and whichever agent may have a credential that some agent has.
    pub fn whoever_is_in_groups(self) -> Self {
        Self { groups_count: false, ..self }
    }

    /// The same, whenever it is.
    pub fn at_any_time(self) -> Self {
        Self { now: None, ..self }
    }

    /// The same, whatever a gateway lets pass.
    pub fn within_any_limits(self) -> Self {
        Self { most: None, ..self }
    }

    /// The most that scores can be, where a configuration says so.
    pub const fn most(&self) -> Option<&ScoreBounds> {
        self.most.as_ref()
    }

    /// What the clock can show from now on, in whole seconds.
    pub fn clock(&self) -> Values {
        let from = self.now.unwrap_or(i64::MIN);
        Numbers::multiples(SECOND, (from, i64::MAX)).map_or(Values::Any, Values::Moments)
    }

    /// What may still be looked at.
    pub const fn steps(&self) -> &Steps {
        &self.steps
    }

    /// The trust domains of those whom a gateway can meet, where that is known.
    pub const fn met(&self) -> Option<&Arc<BTreeSet<String>>> {
        self.met.as_ref()
    }

    /// The agents, by position, that can come at all: not those that are disabled, or of a trust domain that nobody is met of. None where
    /// all can.
    pub fn coming(&self) -> Option<&BTreeSet<u32>> {
        let find = || {
            let (agents, _) = self.agents?;
            let of = |entry: &crate::AgentEntry| {
                !entry.disabled && self.met().is_none_or(|met| met.contains(entry.trust_domain()))
            };
            let all: BTreeSet<u32> =
                (0..).zip(agents.entries()).filter(|(_, entry)| of(entry)).map(|(at, _)| at).collect();
            (all.len() < agents.entries().len()).then_some(all)
        };
        self.coming.get_or_init(find).as_ref()
    }

    /// Every line that a context has, and that of learnt concepts.
    pub fn all_lines(&self) -> Arc<BTreeSet<String>> {
        Arc::clone(&self.lines)
    }

    /// The agents, where they are known.
    pub fn agents(&self) -> Option<&'a Agents> {
        self.agents.map(|(agents, _)| agents)
    }

    /// The type of this name.
    pub fn of_name(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    fn info(&self, of_type: usize) -> Option<&'a TypeInfo> {
        self.catalogue.types.get(of_type)
    }

    /// The versions that a type is of, lowest first.
    pub fn versions(&self, of_type: usize) -> &[Version] {
        self.versions.get(of_type).map_or(&[], Vec::as_slice)
    }

    /// What the version that is looked at by itself says of its own, where only that counts.
    fn own(&self, here: &Where) -> Option<&'a ShapeInfo> {
        let ((major, minor), of_type) = (here.version.filter(|_| here.apart)?, here.of_type?);
        let at = self.versions(of_type).binary_search(&Version::new(major, minor)).ok()?;
        *self.shapes.get(of_type)?.get(at)?
    }

    /// What takes the place of a type where one version of it is looked at by itself: its actions, and whether it may hold free text.
    pub fn takes(&self, info: &TypeInfo, here: &Where) -> PerformativeSet {
        self.own(here).map_or(info.performatives, |own| own.performatives)
    }

    /// Whether an instance may hold free text.
    pub fn has_prose(&self, info: &TypeInfo, here: &Where) -> bool {
        self.own(here).map_or(info.free_text, |own| own.free_text)
    }

    /// What the names that lead from an instance mean in what the resource is: in the version that is looked at by itself, and in its type
    /// where that version does not have them.
    fn found(&self, path: &[String], here: &Where) -> Option<Found<'a>> {
        let info = self.info(here.of_type?)?;
        match self.own(here).map(|own| find(&own.attributes, path)) {
            Some(found @ Found::There(..)) => Some(found),
            _ => Some(find(&info.attributes, path)),
        }
    }

    /// The floor of a type's line.
    pub fn floor(&self, of_type: usize) -> Option<Version> {
        let info = self.info(of_type).filter(|info| !learnt::is_learnt(info))?;
        self.agents?.1.get(&info.line).copied()
    }

    /// Whether any line has a floor.
    pub fn has_floors(&self) -> bool {
        self.agents.is_some_and(|(_, floors)| !floors.is_empty())
    }

    /// Every credential that somebody has, or that is declared.
    pub fn credentials(&self) -> impl Iterator<Item = &str> {
        self.agents.into_iter().flat_map(|(agents, _)| agents.credentials().iter().map(String::as_str))
    }

    /// Whether somebody has a credential, or may show it.
    pub fn held(&self, name: &str) -> bool {
        credentials::can_be_shown(name)
            || self.agents.is_none_or(|(agents, _)| agents.credentials().contains(name))
    }

    /// Whether a policy that reads these could ask for something that it does not see.
    pub fn may_ask_unseen(&self, reads: &reads::Attributes) -> bool {
        reads.all || reads.names.iter().any(|name| self.unseen.contains_key(name.as_str()))
    }

    /// The versions of what the resource can be, as the conditions before have it; none where that is not known. `settled` leaves open which
    /// actions a version may come to take.
    pub(super) fn possible_versions(&self, here: &Where, settled: bool) -> Option<BTreeSet<(u32, u32)>> {
        if let Some(one) = here.version {
            return Some(BTreeSet::from([one]));
        }
        let fits = |name: &str, number: u32| match here.fact(&Var::Context, &[name]) {
            Some(Values::Numbers(said)) => said.contains(i64::from(number)),
            _ => true,
        };
        let mut all = BTreeSet::new();
        let members = here.members();
        for (at, info) in self.types_here(here) {
            let floor = if here.above { self.floor(at) } else { None };
            let comes = |version: &Version, own: Option<&ShapeInfo>| {
                let attributes = own.map_or(&info.attributes, |own| &own.attributes);
                let takes = own.filter(|_| !settled).map_or(info.performatives, |own| own.performatives);
                floor.is_none_or(|floor| *version >= floor)
                    && !takes.and(here.actions).is_empty()
                    && members.iter().all(|path| !matches!(find(attributes, path), Found::Absent))
            };
            let own = self.shapes.get(at).into_iter().flatten();
            let coming = self.versions(at).iter().zip(own).filter(|(version, own)| comes(version, **own));
            all.extend(coming.map(|(version, _)| (version.major, version.minor)));
        }
        all.retain(|(major, minor)| fits("major", *major) && fits("minor", *minor));
        (!all.is_empty()).then_some(all)
    }

    /// Whether a version is asked for that no type has with the members that are said to be there. Each version of a type takes a step for each
    /// of them; past the steps that are left it is taken as one that has them.
    pub(super) fn is_memberless(&self, here: &Where) -> bool {
        let asked = ["major", "minor"].iter().any(|name| here.fact(&Var::Context, &[*name]).is_some());
        let members = here.members().len();
        if here.of_type.is_some() || members == 0 || !asked {
            return false;
        }
        let steps = self.versions.iter().map(Vec::len).sum::<usize>().saturating_mul(members);
        self.steps.spend(u64::try_from(steps).unwrap_or(u64::MAX))
            && self.possible_versions(here, false).is_none()
            // of a version that nobody knows nothing is said
            && self.possible_versions(&here.without_members(), false).is_some()
    }

    /// The types that the resource can be: by the scope, the actions, and what the conditions before say of its type and its line.
    pub fn types_here<'h>(&'h self, here: &'h Where) -> impl Iterator<Item = (usize, &'a TypeInfo)> + 'h {
        let line = match here.fact(&Var::Context, &["line"]) {
            Some(Values::Texts(lines)) => Some(lines),
            _ => None,
        };
        let comes = move |at: usize, info: &TypeInfo| {
            let of_line = line.is_none_or(|lines| {
                lines.contains(if learnt::is_learnt(info) { learnt::SPACE } else { info.line.as_str() })
            });
            let above = !here.above
                || self
                    .floor(at)
                    .is_none_or(|floor| self.versions(at).iter().any(|version| *version >= floor));
            let bound = self.protocol(at, info).is_none_or(|binding| can_be_bound(here, binding));
            of_line
                && above
                && bound
                && self.goes(at, info, here)
                && !self.takes(info, here).and(here.actions).is_empty()
        };
        let chosen: &'a [TypeInfo] = match here.of_type {
            Some(at) => self.catalogue.types.get(at..=at).unwrap_or_default(),
            None => &self.catalogue.types,
        };
        let first = here.of_type.unwrap_or_default();
        chosen
            .iter()
            .enumerate()
            .map(move |(at, info)| (first + at, info))
            .filter(move |(at, info)| comes(*at, info))
    }

    /// The one type that the resource can be.
    pub fn only_type(&self, here: &Where) -> Option<&'a TypeInfo> {
        let mut all = self.types_here(here);
        let first = all.next().map(|(_, info)| info);
        if all.next().is_some() { None } else { first }
    }

    /// Whether some type has the member, seen or not.
    pub fn declares(&self, path: &[String], here: &Where) -> bool {
        self.types_here(here).any(|(_, info)| !matches!(find(&info.attributes, path), Found::Absent))
    }

    /// Whether the member is an object wherever it is.
    pub fn is_record(&self, path: &[String], here: &Where) -> bool {
        let is_other = |info: &TypeInfo| match find(&info.attributes, path) {
            Found::There(kind, _) => !matches!(kind, Kind::Record(_)),
            Found::Hidden => true,
            Found::Absent => false,
        };
        !self.types_here(here).any(|(_, info)| is_other(info))
    }

    /// The members beside which one was looked for, without those that policies do not see.
    pub fn members_of(&self, path: &[String], here: &Where) -> BTreeSet<&'a str> {
        let members = |info: &'a TypeInfo| match (path, find(&info.attributes, path)) {
            ([], _) => Some(&info.attributes.members),
            (_, Found::There(Kind::Record(inner), _)) => Some(&inner.members),
            _ => None,
        };
        let all = self.types_here(here).filter_map(|(_, info)| members(info)).flatten();
        all.filter(|(_, member)| member.kind.is_some()).map(|(name, _)| name.as_str()).collect()
    }

    /// The agents, by position, that an agent, a group or a list of them names; none where that is not known, as of a group that is
    /// empty today.
    pub fn agents_of(&self, whom: &Expr) -> Option<Arc<BTreeSet<u32>>> {
        match whom {
            Expr::Literal(Literal::EntityUID(uid)) => {
                self.agents_named(&uid.ty.to_string(), uid.eid.as_ref())
            }
            Expr::Set(items) => {
                let each: Option<Vec<_>> = items.iter().map(|item| self.agents_of(item)).collect();
                Some(Arc::new(each?.iter().flat_map(|set| set.iter().copied()).collect()))
            }
            _ => None,
        }
    }

    /// The same of one name.
    pub fn agents_named(&self, kind: &str, id: &str) -> Option<Arc<BTreeSet<u32>>> {
        let (agents, _) = self.agents?;
        match kind {
            "Agent" => Some(Arc::new(BTreeSet::from([agents.position(id)?]))),
            "Group" if self.groups_count => {
                if let Some(known) = self.groups.borrow().get(id) {
                    return Some(Arc::clone(known));
                }
                let is_in = |entry: &crate::AgentEntry| entry.groups.iter().any(|group| group == id);
                let all = (0..).zip(agents.entries()).filter(|(_, entry)| is_in(entry));
                let all: Arc<BTreeSet<u32>> = Arc::new(all.map(|(at, _)| at).collect());
                if all.is_empty() {
                    return None;
                }
                self.groups.borrow_mut().insert(id.to_owned(), Arc::clone(&all));
                Some(all)
            }
            _ => None,
        }
    }

    /// What a member can be.
    pub fn member(&self, path: &[String], here: &Where) -> Values {
        if here.of_type.is_some() {
            return match self.found(path, here) {
                Some(Found::There(kind, _)) => of_kind(kind),
                _ => Values::Any,
            };
        }
        let every = here.fact(&Var::Context, &["line"]).is_none();
        if let Some(known) = self.known.borrow().get(path).filter(|_| every) {
            return known.clone();
        }
        let mut all: Option<Values> = None;
        let types: Box<dyn Iterator<Item = &TypeInfo>> = match every {
            true => Box::new(self.catalogue.types.iter()),
            false => Box::new(self.types_here(here).map(|(_, info)| info)),
        };
        for info in types {
            let one = match find(&info.attributes, path) {
                Found::Absent => continue,
                Found::Hidden => Values::Any,
                Found::There(kind, _) => of_kind(kind),
            };
            all = Some(all.map_or_else(|| one.clone(), |all| all.or(&one)));
        }
        let known = all.unwrap_or(Values::Any);
        if every {
            self.known.borrow_mut().insert(path.to_vec(), known.clone());
        }
        known
    }

    /// What a set can hold.
    pub fn items(&self, path: &[String], here: &Where) -> Values {
        self.kind_of_items(path, here).map_or(Values::Any, of_kind)
    }

    /// The kind of what a set holds.
    pub fn kind_of_items(&self, path: &[String], here: &Where) -> Option<&'a Kind> {
        match self.found(path, here)? {
            Found::There(Kind::Set(items, _), _) => Some(&**items),
            _ => None,
        }
    }

    /// Whether a set can be empty, and whether it can hold anything.
    pub fn emptiness(&self, path: &[String], here: &Where) -> Values {
        match self.found(path, here) {
            Some(Found::There(Kind::Set(_, count), _)) => {
                Values::Bool { yes: count.contains(0), no: count.ends().1 > 0 }
            }
            _ => Values::Any,
        }
    }

    /// Whether an address is one of IPv4.
    pub fn family(&self, path: &[String], here: &Where) -> Values {
        match self.found(path, here) {
            Some(Found::There(Kind::IpAddress(Some(v4)), _)) => super::values::only(*v4),
            _ => Values::Any,
        }
    }

    /// A type that has the member and does not show it.
    pub fn hidden(&self, path: &[String], here: &Where) -> Option<usize> {
        let hides = |at: &usize| {
            self.info(*at).is_some_and(|info| {
                !info.performatives.and(here.actions).is_empty()
                    && matches!(find(&info.attributes, path), Found::Hidden)
            })
        };
        match here.of_type {
            Some(of_type) => Some(of_type).filter(|at| hides(at)),
            None => self.unseen.get(path.first()?.as_str())?.iter().copied().find(|at| hides(at)),
        }
    }

    /// A type that hides a member of this name at any depth.
    pub fn hidden_anywhere(&self, name: &str, here: &Where) -> Option<usize> {
        let hides = |at: &usize| {
            self.info(*at).is_some_and(|info| {
                !info.performatives.and(here.actions).is_empty() && hides_name(&info.attributes, name)
            })
        };
        let of_type = |at: &usize| here.of_type.is_none_or(|of_type| of_type == *at);
        self.unseen.values().flatten().copied().filter(of_type).find(hides)
    }

    /// Whether no instance has the member.
    pub fn absent(&self, path: &[String], here: &Where) -> bool {
        let own = self.own(here).is_some_and(|own| matches!(find(&own.attributes, path), Found::Absent));
        own || matches!(self.found(path, here), Some(Found::Absent))
    }

    /// Whether every instance has it.
    pub fn present(&self, path: &[String], here: &Where) -> bool {
        matches!(self.found(path, here), Some(Found::There(_, true)))
    }
}

/// What a value of a kind can be, where that is known.
pub(super) fn of_kind(kind: &Kind) -> Values {
    match kind {
        Kind::String(Strings { listed: Some(values), .. }) => Values::Texts(Arc::clone(values)),
        Kind::String(Strings { rules: Some(rules), .. }) => Values::Ruled(Arc::clone(rules)),
        Kind::Datetime(true) => Values::Moments(Numbers::whole(DAY)),
        Kind::Datetime(false) => Values::Moments(Numbers::default()),
        // no duration of RFC 3339 is below nothing, or has a part of a second
        Kind::Duration => Numbers::multiples(SECOND, (0, i64::MAX)).map_or(Values::Any, Values::Moments),
        Kind::Bool(Some(one)) => Values::Bool { yes: *one, no: !*one },
        Kind::Long(numbers) => Values::Numbers(numbers.clone()),
        Kind::Decimal(numbers) => Values::Decimals(numbers.clone()),
        _ => Values::Any,
    }
}

/// Whether a part of it is not shown.
fn hides(kind: &Kind) -> bool {
    match kind {
        Kind::Record(members) => {
            members.members.values().any(|member| member.kind.as_ref().is_none_or(hides))
        }
        _ => false,
    }
}

/// Returns true if a member of this name is hidden among these, or inside one of them.
fn hides_name(attributes: &Attributes, name: &str) -> bool {
    attributes.members.iter().any(|(known, member)| match &member.kind {
        None => known == name,
        Some(Kind::Record(inner)) => hides_name(inner, name),
        Some(_) => false,
    })
}

fn find<'k>(attributes: &'k Attributes, path: &[String]) -> Found<'k> {
    let mut members = attributes;
    let mut sure = true;
    for (at, name) in path.iter().enumerate() {
        let Some(member) = members.members.get(name) else { return Found::Absent };
        let Some(kind) = &member.kind else { return Found::Hidden };
        sure &= member.required;
        if at + 1 == path.len() {
            return Found::There(kind, sure);
        }
        match kind {
            Kind::Record(inner) => members = inner,
            _ => return Found::Absent,
        }
    }
    Found::Absent
}
