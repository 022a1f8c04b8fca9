//! What the members of the context record can be, and who sender and receiver can be.

use std::collections::BTreeSet;
use std::sync::Arc;

use cedar_policy::pst::{Expr, Var};
use semgate_contexts::{Performative, Version};

use super::World;
use super::facts::{End, Side, Where};
use super::protocols::{BINDING_VERSIONS, Comes, PROTOCOLS, comes};
use super::values::Values;
use crate::ScoreBounds;
use crate::catalogue::TypeInfo;
use crate::moments::SECOND;
use crate::numbers::Numbers;
use crate::{credentials, learnt};

/// What `context.direction` can be.
pub(super) const DIRECTIONS: [&str; 2] = ["reply", "request"];

/// What `context.binding` can be.
pub(super) const BINDINGS: [&str; 3] = ["a2a", "l8", "mcp"];

/// The binding in which of a signed context only tools are said, and what they give.
const MCP: &str = "mcp";

/// The binding in which free text may stand beside every instance: what client and server say of themselves.
const SAYS_BESIDE: &str = MCP;

/// What `context.scores.ambiguous` counts, itself included.
pub(super) const QUESTION: &str = "snl::ambiguous_parameter";

/// The least that a score ever is, by what it counts: an instance counts itself.
pub(super) fn least(score: &str) -> i64 {
    i64::from(score == "concepts")
}

/// The same, of what is judged: JSON, which has a byte at least.
fn least_judged(score: &str) -> i64 {
    least(score).max(i64::from(score == "message_bytes"))
}

/// The most that a score can be, and the limits that say so.
pub(super) fn bound_of(score: &str, most: &ScoreBounds) -> Option<(u64, &'static str)> {
    Some(match score {
        "message_bytes" => (most.message_bytes, "`limits.body_bytes`, `reply_bytes` and `event_bytes`"),
        "concepts" | "ambiguous" => (most.concepts, "`limits.concepts` and `limits.reply_concepts`"),
        "text_length" => {
            (most.text_length, "`limits.body_bytes`, `reply_bytes`, `event_bytes` and `appended_text`")
        }
        _ => return None,
    })
}

impl World<'_> {
    /// What a member of the context record can be; `settled` leaves open what a version to come may bring.
    pub fn circumstance(&self, member: &str, here: &Where, settled: bool) -> Values {
        match member {
            "direction" => texts(&self.directions(here)),
            "binding" => texts(&self.bindings(here, settled)),
            "binding_version" => self.binding_versions(here, settled),
            "line" => self.lines(here),
            "free_text" => self.free_text(here, settled),
            // what was settled is so within a session alone
            "locked"
                if here
                    .of_type
                    .and_then(|at| self.catalogue.types.get(at))
                    .is_some_and(learnt::is_learnt) =>
            {
                super::values::only(true)
            }
            // what begins or ends at a time is meant to do nothing before or after
            "now" if settled => Values::Moments(Numbers::whole(SECOND)),
            "now" => self.clock(),
            "major" | "minor" => match self.possible_versions(here, settled) {
                Some(all) => {
                    let of = |(major, minor): &(u32, u32)| if member == "major" { *major } else { *minor };
                    let numbers: BTreeSet<i64> = all.iter().map(|version| i64::from(of(version))).collect();
                    Values::Numbers(numbers.into())
                }
                None => Values::Any,
            },
            _ => Values::Any,
        }
    }

    /// What a score can be, with the same meaning of `settled`.
    pub fn score(&self, score: &str, here: &Where, settled: bool) -> Values {
        let most = self.most().filter(|_| !settled).and_then(|most| bound_of(score, most));
        let most = most.map_or(i64::MAX, |(most, _)| i64::try_from(most).unwrap_or(i64::MAX));
        let asks = here
            .of_type
            .and_then(|at| self.catalogue.types.get(at))
            .is_some_and(|info| info.name == QUESTION);
        let least = if asks && score == "ambiguous" { 1 } else { least_judged(score) };
        let whole = Numbers::Between(least, most);
        if score != "text_length" {
            return Values::Numbers(whole);
        }
        // free text is what has a length
        match self.free_text(here, settled).truth() {
            (true, false) => Values::Numbers(Numbers::Between(1, most)),
            (false, true) => Values::number(0),
            _ => Values::Numbers(whole),
        }
    }

    /// Whether free text can stand in what the resource can be, or beside it.
    fn free_text(&self, here: &Where, settled: bool) -> Values {
        let said = match here.fact(&Var::Context, &["free_text"]) {
            Some(Values::Bool { yes, no }) => (*yes, *no),
            _ => (true, true),
        };
        let length = match here.fact(&Var::Context, &["scores", "text_length"]) {
            Some(Values::Numbers(length)) => (length.ends().1 > 0, length.contains(0)),
            _ => (true, true),
        };
        let beside = |at: usize, info: &TypeInfo| {
            (can_be_bound(here, SAYS_BESIDE) && may_have_beside(info, self.versions(at)))
                || (settled && self.protocol(at, info).is_none())
        };
        let mut all = self.types_here(here).peekable();
        let some =
            all.peek().is_none() || all.any(|(at, info)| self.has_prose(info, here) || beside(at, info));
        let (yes, no) = (said.0 && length.0 && some, said.1 && length.1);
        // what is contradictory is found where it is said
        if yes || no { Values::Bool { yes, no } } else { Values::Any }
    }

    /// Whether no version of a type has free text, and none stands beside it.
    pub fn never_prose(&self, here: &Where) -> Option<&str> {
        let info = self.catalogue.types.get(here.of_type?)?;
        let bare = Where { facts: None, ..here.clone() };
        (!self.free_text(&bare, false).truth().0).then_some(info.name.as_str())
    }

    /// The binding that alone says the names of a type.
    pub fn protocol(&self, at: usize, info: &TypeInfo) -> Option<&'static str> {
        protocol_of(info, self.versions(at))
    }

    /// The bindings by which what the resource can be is said; `settled` leaves open which tasks a version to come makes tools.
    pub fn bindings(&self, here: &Where, settled: bool) -> Vec<&'static str> {
        let mut all = BTreeSet::new();
        for (at, info) in self.types_here(here) {
            let is_said = |binding: &&str| *binding != MCP || may_be_tool(info, here, settled);
            match self.protocol(at, info) {
                Some(binding) => drop(all.insert(binding)),
                None => all.extend(BINDINGS.into_iter().filter(is_said)),
            }
            if all.len() == BINDINGS.len() {
                break;
            }
        }
        let said = |binding: &&str| here.binding.is_none_or(|one| one == *binding);
        let known: Vec<&'static str> =
            BINDINGS.into_iter().filter(|one| all.is_empty() || all.contains(one)).collect();
        let left: Vec<&'static str> = known.iter().copied().filter(said).collect();
        if left.is_empty() { known } else { left }
    }

    /// Whether there is what the line and the type leave, and not with these actions, by this binding and from the floors on; `settled` as in
    /// [`Self::bindings`].
    pub(super) fn is_unsaid(&self, here: &Where, settled: bool) -> bool {
        let said = |(at, info): (usize, &TypeInfo)| {
            let others = BINDINGS.into_iter().any(|binding| binding != MCP && can_be_bound(here, binding));
            others || may_be_tool(info, here, settled) || self.protocol(at, info).is_some()
        };
        let some = |here: &Where| self.types_here(here).next().is_some();
        let actions = Performative::ALL.into_iter().collect();
        !self.types_here(here).any(said)
            && some(&Where { actions, binding: None, above: false, ..here.clone() })
    }

    /// The versions of a protocol, as it writes them: of every protocol that it can be here, and of one method of it those in which it comes
    /// the way that is known.
    fn binding_versions(&self, here: &Where, settled: bool) -> Values {
        let bindings = self.bindings(here, settled);
        let can_be = |binding: &str| bindings.contains(&binding) && can_be_bound(here, binding);
        let of = BINDING_VERSIONS.iter().filter(|(binding, _)| can_be(binding));
        let mut all: BTreeSet<&str> = of.flat_map(|(_, versions)| versions.iter().copied()).collect();
        if let Some(comes) = self.comes(here) {
            let ways = DIRECTIONS.into_iter().filter(|way| can_go(here, way));
            let own: BTreeSet<&str> = ways.flat_map(|way| comes.versions(way).iter().copied()).collect();
            // what is contradictory is found where the direction is said
            if !own.is_empty() {
                all.retain(|version| own.contains(version));
            }
        }
        let all: Vec<&str> = all.into_iter().collect();
        if all.is_empty() { Values::Any } else { texts(&all) }
    }

    /// When what the resource is comes, where it is one concept of a protocol.
    fn comes(&self, here: &Where) -> Option<Comes> {
        let at = here.of_type?;
        self.comes_of(at, self.catalogue.types.get(at)?)
    }

    fn comes_of(&self, at: usize, info: &TypeInfo) -> Option<Comes> {
        comes(self.protocol(at, info)?, info.name.rsplit("::").next().unwrap_or_default())
    }

    /// Whether a type can come in the direction that is looked at.
    pub fn goes(&self, at: usize, info: &TypeInfo, here: &Where) -> bool {
        let comes = here.direction.and_then(|way| Some((way, self.comes_of(at, info)?)));
        comes.is_none_or(|(way, comes)| !comes.versions(way).is_empty())
    }

    /// Whether an end can show this, by the way in which the message goes: a reply comes with no token, and of the receiver of a request
    /// nothing is known that it shows.
    pub(super) fn may_show(&self, credentials: &Expr, name: &str, here: &Where) -> bool {
        let side = match credentials {
            Expr::GetAttr { expr, .. } => Side::of(expr),
            _ => None,
        };
        let can_go = |way: &str| can_go(here, way) && self.directions(here).contains(&way);
        match side {
            Some(Side::Sender) if name.starts_with(credentials::TOKEN_SPACE) => can_go("request"),
            Some(Side::Receiver) if credentials::is_shown(name) => can_go("reply"),
            _ => true,
        }
    }

    /// The ways in which what the resource can be goes: that of a method, and of what answers it, is known.
    pub fn directions(&self, here: &Where) -> Vec<&'static str> {
        let said = match here.fact(&Var::Context, &["binding_version"]) {
            Some(Values::Texts(said)) => Some(said),
            _ => None,
        };
        let of_version = |version: &&str| said.is_none_or(|said| said.contains(*version));
        let comes = self.comes(here);
        let known = |way: &&str| comes.is_none_or(|comes| !comes.versions(way).is_empty());
        let left = |way: &&str| comes.is_none_or(|comes| comes.versions(way).iter().any(of_version));
        let known: Vec<&str> = DIRECTIONS.into_iter().filter(known).collect();
        let all: Vec<&str> = known.iter().copied().filter(left).collect();
        // what is contradictory is found where the version is said
        let all = if all.is_empty() { known } else { all };
        match here.direction {
            Some(one) => vec![one],
            None => all,
        }
    }

    /// The lines of what the resource can be.
    fn lines(&self, here: &Where) -> Values {
        let of = |info: &TypeInfo| match learnt::is_learnt(info) {
            true => learnt::SPACE.to_owned(),
            false => info.line.as_str().to_owned(),
        };
        if here.of_type.is_none() && !here.above {
            return Values::Texts(self.all_lines());
        }
        let all: BTreeSet<String> = self.types_here(here).map(|(_, info)| of(info)).collect();
        if all.is_empty() { Values::Any } else { Values::Texts(Arc::new(all)) }
    }

    /// The trust domains that sender or receiver can be of: of whom it is, else of whom a gateway can meet.
    pub fn domains(&self, end: &End, by_groups: bool) -> Values {
        let of = |who: &Arc<BTreeSet<u32>>| {
            let entries = who.iter().filter_map(|at| self.agents()?.at(*at));
            entries.map(|entry| entry.trust_domain().to_owned()).collect::<BTreeSet<_>>()
        };
        match &end.can_be {
            Some(who) if by_groups || end.named => Values::Texts(Arc::new(of(who))),
            // a guard for where others are met does no harm where nobody else is
            _ => Values::Any,
        }
    }
}

/// Whether a type of a signed context is of a tool of MCP, or counts as one since a version may make it one.
fn may_be_tool(info: &TypeInfo, here: &Where, settled: bool) -> bool {
    info.of_tool || settled || (here.guards && !learnt::is_learnt(info))
}

/// The binding that alone says the names of a type that is of these versions.
fn protocol_of(info: &TypeInfo, versions: &[Version]) -> Option<&'static str> {
    let (line, version) = PROTOCOLS.iter().find(|(line, _)| info.line.as_str() == *line)?;
    versions.iter().all(|own| own == version).then_some(*line)
}

/// Whether free text may stand beside an instance of a type that is of these versions, in some binding; of a task or concept that is no tool
/// today too, since a version may make it one, and a guard against text should stand before that.
pub(crate) fn may_have_beside(info: &TypeInfo, versions: &[Version]) -> bool {
    !learnt::is_learnt(info) && protocol_of(info, versions).is_none_or(|protocol| protocol == SAYS_BESIDE)
}

/// Whether the binding can be this one, by what is looked at and what conditions say.
pub(super) fn can_be_bound(here: &Where, binding: &str) -> bool {
    match (here.binding, here.fact(&Var::Context, &["binding"])) {
        (Some(one), _) => one == binding,
        (None, Some(Values::Texts(said))) => said.contains(binding),
        _ => true,
    }
}

/// Whether a message can go this way, by what is looked at and what conditions say.
fn can_go(here: &Where, way: &str) -> bool {
    match (here.direction, here.fact(&Var::Context, &["direction"])) {
        (Some(one), _) => one == way,
        (None, Some(Values::Texts(said))) => said.contains(way),
        _ => true,
    }
}

fn texts(all: &[&str]) -> Values {
    Values::Texts(Arc::new(all.iter().map(|text| (*text).to_owned()).collect()))
}
