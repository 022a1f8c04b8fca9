//! Standing of a context: its own status and floors, and those of every context that it refers to.

use crate::{Code, Notice, Refusal, generation::Named, inspection::Inspection};
use semgate_contexts::{Context, ContextUrn, Line, Version};
use semgate_negotiation::{BelowFloor, Floors};
use semgate_statement::{NotRecognised, Standing, View};
use std::collections::BTreeMap;

/// Reason why a context is not usable, in the order of `docs/reference/refusals.md`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Hindrance {
    NotPublished,
    Unrecognised(NotRecognised),
    Revoked,
    Suspended,
    Below(BelowFloor),
    Stale,
}

impl Hindrance {
    /// The first obstacle of one context.
    fn of(standing: Standing, version: Version, floors: &Floors) -> Option<Self> {
        match standing {
            Standing::NotCovered | Standing::UnknownAuthority => return Some(Self::NotPublished),
            Standing::Unrecognised(why) => return Some(Self::Unrecognised(why)),
            Standing::Revoked => return Some(Self::Revoked),
            Standing::Suspended => return Some(Self::Suspended),
            Standing::Valid | Standing::Deprecated | Standing::Stale => {}
        }
        match (floors.admit(version), standing) {
            (Err(below), _) => Some(Self::Below(below)),
            (Ok(_), Standing::Stale) => Some(Self::Stale),
            (Ok(_), _) => None,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::NotPublished => 0,
            Self::Unrecognised(_) => 1,
            Self::Revoked => 2,
            Self::Suspended => 3,
            Self::Below(_) => 4,
            Self::Stale => 5,
        }
    }
}

/// The first obstacle among the contexts that one refers to.
#[derive(Clone, Debug)]
pub(crate) struct Hindered {
    urn: ContextUrn,
    by: Hindrance,
}

/// The first obstacle among the references of a context, computed once per generation. Status and floors do
/// not change within a generation. One view holds all references, so they are as fresh as the context itself.
pub(crate) fn hindered(
    view: &View,
    context: &Context,
    operator: &BTreeMap<Line, Version>,
) -> Option<Box<Hindered>> {
    let each = context.references().iter().filter_map(|other| {
        let urn = other.urn();
        let published = view.reference(urn).filter(|loaded| loaded.digest == *other.digest());
        let standing = match published {
            Some(loaded) => view.standing_of(loaded, view.issued_at()),
            None => Standing::NotCovered,
        };
        let by = Hindrance::of(standing, urn.version(), &floors(view.floor(urn.line()), operator, urn))?;
        Some(Hindered { urn: urn.clone(), by })
    });
    each.min_by_key(|hindered| hindered.by.rank()).map(Box::new)
}

fn floors(authority: Option<Version>, operator: &BTreeMap<Line, Version>, urn: &ContextUrn) -> Floors {
    Floors { authority, operator: operator.get(urn.line()).copied(), peers: [None; 2] }
}

/// Checks that a context with this standing is usable, with all contexts that it refers to.
///
/// The first fault of any of them answers, in this order: revoked, suspended, below a floor, stale.
///
/// # Errors
/// `context_unknown`, `context_untrusted`, `context_revoked`, `context_suspended`, `context_below_floor`, `status_stale`.
pub(crate) fn counts(
    case: &Inspection<'_>,
    named: &Named,
    standing: Standing,
) -> Result<Option<Notice>, Refusal> {
    let urn = named.urn();
    let floors = Floors {
        authority: named.floor(),
        operator: case.generation.operator_floor(urn.line()),
        peers: case.state.sessions.minimums.floors(case.sender.id(), case.receiver, urn.line()),
    };
    let minimum = below_a_minimum(case, named);
    let other = named.hindered().into_iter().chain(&minimum).min_by_key(|other| other.by.rank());
    match (Hindrance::of(standing, urn.version(), &floors), other) {
        (Some(own), Some(other)) if other.by.rank() < own.rank() => Err(refused_for(urn, other)),
        (Some(own), _) => Err(refused(urn, own)),
        (None, Some(other)) => Err(refused_for(urn, other)),
        (None, None) if standing == Standing::Deprecated => {
            let newest = case.generation.newest(urn.line()).filter(|newest| *newest > urn.version());
            Ok(Some(Notice::Deprecated { newest }))
        }
        (None, None) => Ok(None),
    }
}

/// The first reference of a context that lies below a floor announced by a peer. Floors of peers apply to
/// references like those of authority and operator.
fn below_a_minimum(case: &Inspection<'_>, named: &Named) -> Option<Hindered> {
    named.context().references().iter().find_map(|other| {
        let urn = other.urn();
        let peers = case.state.sessions.minimums.floors(case.sender.id(), case.receiver, urn.line());
        let below = Floors { authority: None, operator: None, peers }.admit(urn.version()).err()?;
        Some(Hindered { urn: urn.clone(), by: Hindrance::Below(below) })
    })
}

/// The refusal of a context with an obstacle of its own.
fn refused(urn: &ContextUrn, by: Hindrance) -> Refusal {
    match by {
        Hindrance::NotPublished => unknown("the context is not published", ""),
        Hindrance::Unrecognised(why) => unrecognised(why),
        Hindrance::Revoked => revoked(),
        Hindrance::Suspended => suspended(),
        Hindrance::Below(below) => Refusal::new(
            Code::ContextBelowFloor,
            format!("this version is below the lowest allowed version, {}", below.floor),
        )
        .with_hint(format!("use {} {} or newer", urn.line(), below.floor))
        .with_detail(below.to_string()),
        Hindrance::Stale => stale(),
    }
}

/// The refusal of a context whose reference has an obstacle. Only the operator learns which one: the sender
/// may have no access to that line.
fn refused_for(urn: &ContextUrn, other: &Hindered) -> Refusal {
    let (code, reason, detail) = match other.by {
        Hindrance::NotPublished => (
            Code::ContextUnknown,
            "a context that this one refers to is not published",
            "not published".into(),
        ),
        Hindrance::Revoked => (
            Code::ContextRevoked,
            "the authority revoked a context that this one refers to",
            "revoked".into(),
        ),
        Hindrance::Suspended => (
            Code::ContextSuspended,
            "the authority suspended a context that this one refers to",
            "suspended".into(),
        ),
        Hindrance::Below(below) => (
            Code::ContextBelowFloor,
            "a context that this one refers to is below the lowest version allowed",
            below.to_string(),
        ),
        Hindrance::Unrecognised(why) => {
            return unrecognised(why).with_detail(format!("`{urn}` refers to `{}`: {why}", other.urn));
        }
        Hindrance::Stale => {
            return stale().with_detail(format!("the gateway has no status of `{}`", other.urn));
        }
    };
    Refusal::new(code, reason)
        .with_hint("use a version that does not refer to it, or ask the authority for one")
        .with_detail(format!("`{urn}` refers to `{}`: {detail}", other.urn))
}

/// `context_unknown`; an empty hint selects the default one.
pub(crate) fn unknown(reason: &str, hint: &str) -> Refusal {
    let hint = if hint.is_empty() {
        "check line and version, or ask the authority which contexts it publishes"
    } else {
        hint
    };
    Refusal::new(Code::ContextUnknown, reason).with_hint(hint)
}

/// `status_stale`.
pub(crate) fn stale() -> Refusal {
    Refusal::new(Code::StatusStale, "the authority's status is too old to rely on")
        .with_hint("try again later: the gateway keeps asking the authority")
        .with_detail("the gateway has verified no new head since the last one expired")
}

/// `context_untrusted`, of an authority that is not recognised for it (F0-50).
pub(crate) fn unrecognised(why: NotRecognised) -> Refusal {
    Refusal::new(Code::ContextUntrusted, "the authority of this context is not recognised for it")
        .with_hint(
            "use a context of another authority, or ask the operator which authorities this gateway trusts",
        )
        .with_detail(why.to_string())
}

/// `context_revoked`.
pub(crate) fn revoked() -> Refusal {
    Refusal::new(Code::ContextRevoked, "the authority revoked this context")
        .with_hint("use another version; a revocation is permanent")
}

/// `context_suspended`.
pub(crate) fn suspended() -> Refusal {
    Refusal::new(Code::ContextSuspended, "the authority suspended this context for now")
        .with_hint("try again later, or use another version")
}
