//! Ways to pass in words: what depends on nothing else is told by itself, with its alternatives, and only the rest way by way.

use std::collections::{BTreeMap, BTreeSet};

use super::changes::{ASKS, ToPass, listed};
use super::formula::{Need, Parts};
use super::truth::Truth;
use super::ways::{Aim, Found, Held, Way};
use super::wish::wish;

const UNWRITTEN: &str = "a permit for it would have to be written: none is near";
const TOO_MUCH: &str = "what these policies ask of one another is more than can be told";

/// What something is needed for: these policies.
type For = (Aim, Vec<usize>);

/// A way, as what is needed for which policies.
type Steps = BTreeMap<For, Vec<Need>>;

/// What is needed for these policies, each of the alternatives enough, whatever is done for others.
type Each = BTreeMap<For, Vec<Vec<Need>>>;

/// What would have to be otherwise in the policies themselves: what is said of it alone, whether a permit would have to be written, and
/// what is said behind the rest.
type End = (Vec<String>, bool, String);

/// Puts ways into words.
pub(super) struct Telling<'a, 's, 'w> {
    pub parts: &'a Parts<'s>,
    pub held: &'a [Held<'w>],
    /// The most ways that are told one by one.
    pub most: usize,
}

impl Telling<'_, '_, '_> {
    /// What was found, in words.
    pub fn told(&self, Found { ways, more }: Found) -> ToPass {
        let mut by_end: BTreeMap<End, BTreeSet<Steps>> = BTreeMap::new();
        for way in &ways {
            by_end.entry(self.end(way)).or_default().insert(steps(way));
        }
        let several = by_end.len() > 1;
        let mut told = ToPass { more, ..ToPass::default() };
        for (end, steps) in by_end {
            let (all, one_of) = self.group(steps, &end);
            if !several {
                (told.all, told.one_of) = (all, one_of);
            } else if one_of.is_empty() {
                told.one_of.push(all.join("; and "));
            } else {
                let whole = |way: String| all.iter().cloned().chain([way]).collect::<Vec<_>>().join("; and ");
                told.one_of.extend(one_of.into_iter().map(whole));
            }
        }
        if ways.is_empty() {
            told.all.push(TOO_MUCH.to_owned());
        }
        told.more |= told.one_of.len() > self.most;
        told.one_of.truncate(self.most);
        told
    }

    /// Ways with one end: what is needed in all of them, and what is one of several.
    fn group(&self, ways: BTreeSet<Steps>, (alone, unwritten, words): &End) -> (Vec<String>, Vec<String>) {
        let (each, rest) = apart(alike(ways));
        let mut all = alone.clone();
        all.extend(each.iter().map(|(aim, ways)| self.step(aim, ways, false)));
        let mut one_of = self.entries(rest);
        if one_of.len() == 1 {
            all.append(&mut one_of);
        }
        all.extend(unwritten.then(|| UNWRITTEN.to_owned()));
        let last = all.iter_mut().next_back().filter(|_| one_of.is_empty());
        one_of.iter_mut().chain(last).for_each(|said| said.push_str(words));
        (all, one_of)
    }

    fn end(&self, way: &Way) -> End {
        let (mut alone, mut words) = (Vec::new(), String::new());
        for one in way.another.iter().filter_map(|at| self.held.get(*at)) {
            let (id, asks) = (&one.written.id, one.written.asks());
            match (&one.asks, one.now == Truth::True) {
                (None, _) if asks => {
                    alone.push(format!("`{id}` asks a human whatever the message is, and would have to be another"));
                }
                (None, _) => {
                    alone.push(format!("`{id}` forbids whatever the message is, and would have to be another"));
                }
                (_, true) => alone.push(format!(
                    "`{id}` would have to be another: nothing that would let the message pass otherwise keeps it from applying"
                )),
                (_, false) if asks => {
                    words += &format!("; but `{id}` would then ask a human, and would have to be another");
                }
                (_, false) => {
                    words += &format!("; but `{id}` would then forbid it, and would have to be another");
                }
            }
        }
        words += way.asking.map_or("", |_| ASKS);
        (alone, way.unwritten, words)
    }

    /// What is one of several, by the permit that it is for.
    fn entries(&self, ways: BTreeSet<Steps>) -> Vec<String> {
        let mut by_permit: BTreeMap<Option<For>, BTreeSet<Steps>> = BTreeMap::new();
        for way in ways.into_iter().filter(|way| !way.is_empty()) {
            let permit = way.keys().find(|(aim, _)| aim.is_of_permits()).cloned();
            by_permit.entry(permit).or_default().insert(way);
        }
        let mut all = Vec::new();
        for ways in by_permit.into_values() {
            let (each, rest) = apart(ways.clone());
            if rest.iter().all(Steps::is_empty) {
                all.push(self.entry(&each));
            } else {
                all.extend(ways.into_iter().map(|way| self.entry(&alone(way))));
            }
        }
        all
    }

    /// All of a way, that for which it is first.
    fn entry(&self, each: &Each) -> String {
        let (permits, others): (Vec<_>, Vec<_>) = each.iter().partition(|((aim, _), _)| aim.is_of_permits());
        let several = each.len() > 1;
        let steps = permits.into_iter().chain(others).map(|(aim, ways)| self.step(aim, ways, several));
        steps.collect::<Vec<_>>().join("; and ")
    }

    /// What is needed for these policies; with brackets where `within` is more.
    fn step(&self, (aim, policies): &For, ways: &[Vec<Need>], within: bool) -> String {
        let held = policies.iter().filter_map(|at| self.held.get(*at));
        let ids: Vec<&str> = held.map(|one| &*one.written.id).collect();
        let (do_not, quoted) =
            (if ids.len() == 1 { "does not" } else { "do not" }, |word| listed(&ids, word));
        let why = match aim {
            Aim::Avoids => format!("{} {do_not} apply", quoted("and")),
            Aim::AsksNobody => {
                format!("{} {do_not} apply (it asks a human, and nobody can be asked yet)", quoted("and"))
            }
            Aim::Keeps => format!("{} still applies", quoted("or")),
            Aim::Applies => format!("{} applies", quoted("or")),
            Aim::StaysAway => format!("{} still {do_not} apply", quoted("and")),
        };
        format!("so that {why}: {}", self.alternatives(ways, within))
    }

    /// What all ways need, and what is left of each.
    fn alternatives(&self, ways: &[Vec<Need>], within: bool) -> String {
        let in_all = |need: &&Need| ways.iter().all(|way| way.contains(need));
        let common: Vec<Need> = ways.first().into_iter().flatten().filter(in_all).copied().collect();
        let left = |way: &Vec<Need>| way.iter().filter(|need| !common.contains(need)).copied().collect();
        let mut rest: Vec<Vec<Need>> = ways.iter().map(left).collect();
        rest.sort_by_key(|way| (way.len(), way.first().copied()));
        let joined = |needs: &[Need], between| {
            needs.iter().map(|need| self.need(*need)).collect::<Vec<_>>().join(between)
        };
        if rest.iter().any(Vec::is_empty) {
            return joined(&common, "; and ");
        }
        if common.is_empty() && !within {
            return rest.iter().map(|way| joined(way, " and ")).collect::<Vec<_>>().join("; or ");
        }
        let grouped = |way: &Vec<Need>| {
            let words = joined(way, " and ");
            if way.len() > 1 { format!("({words})") } else { words }
        };
        let either = rest.iter().map(grouped).collect::<Vec<_>>().join(" or ");
        let mut said: Vec<(Option<&Need>, String)> =
            common.iter().map(|need| (Some(need), self.need(*need))).collect();
        said.push((rest.iter().filter_map(|way| way.first()).min(), format!("({either})")));
        said.sort();
        said.into_iter().map(|(_, words)| words).collect::<Vec<_>>().join("; and ")
    }

    fn need(&self, need: Need) -> String {
        let expr = self.parts.expr(need.0);
        expr.map_or_else(String::new, |expr| wish(expr, need.1, self.parts.is_so(need)))
    }
}

impl Aim {
    const fn is_of_permits(self) -> bool {
        matches!(self, Self::Keeps | Self::Applies)
    }
}

/// A way by itself.
fn alone(way: Steps) -> Each {
    way.into_iter().map(|(aim, needs)| (aim, vec![needs])).collect()
}

/// A way by what is needed for which policies.
fn steps(way: &Way) -> Steps {
    let mut steps = Steps::new();
    for step in &way.steps {
        let needs = steps.entry((step.aim, step.policies.clone())).or_default();
        needs.extend(&step.needs);
        needs.sort_unstable();
        needs.dedup();
    }
    steps
}

/// The same with permits that need the same together.
fn alike(ways: BTreeSet<Steps>) -> BTreeSet<Steps> {
    /// What is needed for a permit, and beside it.
    type Needed = BTreeSet<(Vec<Need>, Steps)>;
    let mut by_permit: BTreeMap<Option<For>, Needed> = BTreeMap::new();
    for mut way in ways {
        let permit = way.keys().find(|(aim, _)| aim.is_of_permits()).cloned();
        let needs = permit.as_ref().and_then(|permit| way.remove(permit)).unwrap_or_default();
        by_permit.entry(permit).or_default().insert((needs, way));
    }
    let mut same: BTreeMap<(Option<Aim>, Needed), Vec<usize>> = BTreeMap::new();
    for (permit, ways) in by_permit {
        let (aim, ids) = permit.map_or((None, Vec::new()), |(aim, ids)| (Some(aim), ids));
        same.entry((aim, ways)).or_default().extend(ids);
    }
    let mut all = BTreeSet::new();
    for ((aim, ways), ids) in same {
        for (needs, mut way) in ways {
            if let Some(aim) = aim {
                way.insert((aim, ids.clone()), needs);
            }
            all.insert(way);
        }
    }
    all
}

/// Takes out of ways what does not depend on the rest: each of its alternatives goes with each of the others.
fn apart(mut ways: BTreeSet<Steps>) -> (Each, BTreeSet<Steps>) {
    let mut each = Each::new();
    let all: Vec<For> = ways.first().into_iter().flat_map(|way| way.keys().cloned()).collect();
    for aim in all {
        if !ways.iter().all(|way| way.contains_key(&aim)) {
            continue;
        }
        let own: BTreeSet<Vec<Need>> = ways.iter().filter_map(|way| way.get(&aim).cloned()).collect();
        let others: BTreeSet<Steps> = ways
            .iter()
            .map(|way| {
                way.iter().filter(|(other, _)| **other != aim).map(|(a, b)| (a.clone(), b.clone())).collect()
            })
            .collect();
        if own.len() * others.len() == ways.len() {
            each.insert(aim, own.into_iter().collect());
            ways = others;
        }
    }
    (each, ways)
}
