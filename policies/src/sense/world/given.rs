//! What entries give: who has a credential today, of those whom a policy is about.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use cedar_policy::pst::Expr;

use super::World;
use crate::sense::facts::{Side, Where};
use crate::{AgentEntry, credentials};

/// What an entry without credentials gives.
const NONE: &str = "no credential";

impl<'a> World<'a> {
    /// The agents, by position, whose credentials these are, where it can only be one of some that are known: those whom the policy names, or
    /// who are in a group today.
    pub(in crate::sense) fn whose(&self, credentials: &Expr, here: &Where) -> Option<Arc<BTreeSet<u32>>> {
        let Expr::GetAttr { expr, .. } = credentials else { return None };
        match Side::of(expr) {
            Some(side) => here.end(side).can_be.clone(),
            None => self.agents_of(expr),
        }
    }

    /// Whether whoever is asked can have a credential. One that nobody has today is held by nobody yet, if it is declared; what agents show
    /// comes later.
    pub(in crate::sense) fn may_have(&self, credentials: &Expr, name: &str, here: &Where) -> bool {
        // who has what may be otherwise tomorrow, as who is in a group
        if !self.groups_count || credentials::is_shown(name) {
            return true;
        }
        let Some(whose) = self.whose(credentials, here) else { return true };
        self.holders().get(name).is_none_or(|holders| !whose.is_disjoint(holders))
    }

    /// Who is given each credential that somebody is.
    fn holders(&self) -> &HashMap<&'a str, BTreeSet<u32>> {
        self.holders.get_or_init(|| {
            let mut holders: HashMap<&str, BTreeSet<u32>> = HashMap::new();
            let entries = self.agents().into_iter().flat_map(|agents| (0..).zip(agents.entries()));
            for (at, name) in
                entries.flat_map(|(at, entry)| entry.credentials.iter().map(move |name| (at, name)))
            {
                holders.entry(name).or_default().insert(at);
            }
            holders
        })
    }

    /// What the entries of these agents give, in words, where it counts today: of up to `few` each with the place of its credentials in
    /// `entities.json`, of more all that they give together, up to `few` of that.
    pub(in crate::sense) fn told_given(&self, who: &BTreeSet<u32>, few: usize) -> Option<String> {
        let agents = self.agents().filter(|_| self.groups_count && !who.is_empty())?;
        if who.len() <= few {
            let one = |at: &u32| Some((self.in_file(*at), agents.at(*at)?));
            let told = |(place, entry): (String, &AgentEntry)| {
                let given: Vec<String> = entry.credentials.iter().map(|name| format!("`{name}`")).collect();
                let given = if given.is_empty() { NONE.to_owned() } else { given.join(", ") };
                format!("`{place}` gives `{}` {given}", entry.id)
            };
            let all: Option<Vec<String>> = who.iter().map(|at| one(at).map(told)).collect();
            return Some(all?.join(", "));
        }
        let given = who.iter().filter_map(|at| agents.at(*at)).flat_map(|entry| entry.credentials.iter());
        let given: BTreeSet<&String> = given.collect();
        let mut named = given.iter().take(few).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        match given.len().saturating_sub(few) {
            0 if named.is_empty() => named.push_str(NONE),
            0 => {}
            more => named.push_str(&format!(", and {more} more")),
        }
        Some(format!("the entries of the {} agents who are meant give {named}", who.len()))
    }

    fn in_file(&self, at: u32) -> String {
        let places = self
            .places
            .get_or_init(|| self.agents().map(|all| all.places(self.entities)).unwrap_or_default());
        let place = usize::try_from(at).ok().and_then(|at| places.get(at));
        place.map_or_else(|| "entities.json".to_owned(), ToString::to_string)
    }
}
