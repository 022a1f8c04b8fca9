//! What of a message expressions look at, so that it is known which of them may come out otherwise once something is another.

use std::collections::BTreeSet;
use std::slice::from_ref;
use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, EntityUID, Expr, Literal, UnaryOp, Var};

use crate::AgentEntry;
use crate::credentials::is_shown;
use crate::reads::Reads;

/// Who the sender is, with all that it brings along.
const SENDER: &str = "principal";
const GROUPS: &str = "principal.groups";
const CREDENTIALS: &str = "principal.credentials";
const TRUST_DOMAIN: &str = "principal.trust_domain";
const RESOURCE: &str = "resource";
const CONTEXT: &str = "context";
const RECEIVER: &str = "context.receiver";
const ACTION: &str = "action";

/// What is never another without the rest: a version of a protocol is one of its binding, and a version of a context one of its line.
const TOGETHER: [&[&str]; 3] = [
    &["context.binding", "context.binding_version"],
    &["context.locked", "context.session"],
    &["context.line", "context.major", "context.minor"],
];

/// Members of a message, of which one may be a part of another: a group or a credential of who the sender is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Members(BTreeSet<String>);

impl Members {
    /// What an expression looks at: members of the instance and of the context record, a credential or a group of the sender, the action.
    pub fn of(expr: &Arc<Expr>) -> Self {
        Self(members(expr))
    }

    /// The same with what is another too once one of these is.
    pub fn with_all_that_changes(mut self) -> Self {
        for together in TOGETHER {
            if together.iter().any(|name| self.0.contains(*name)) {
                self.0.extend(together.iter().map(|name| (*name).to_owned()));
            }
        }
        // nobody is of another trust domain and stays who it is
        if self.0.contains(TRUST_DOMAIN) {
            self.0.insert(SENDER.to_owned());
        }
        self
    }

    /// These too.
    pub fn add(&mut self, more: &Self) {
        self.0.extend(more.0.iter().cloned());
    }

    /// Whether one of these is another once one of those is. Who the sender is stays the same where a group of it is another.
    pub fn change_with(&self, changed: &Self) -> bool {
        let within =
            |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with(' '));
        let with = |own: &str, other: &str| {
            own == other
                || within(own, other)
                || within(other, own)
                || (other == SENDER && own.starts_with("principal."))
                || [RESOURCE, CONTEXT].iter().any(|all| {
                    let of_it =
                        |name: &str| name.strip_prefix(*all).is_some_and(|rest| rest.starts_with('.'));
                    (own == *all && of_it(other)) || (other == *all && of_it(own))
                })
        };
        self.0.iter().any(|own| changed.0.iter().any(|other| with(own, other)))
    }
}

fn members(expr: &Arc<Expr>) -> BTreeSet<String> {
    let both = |left, right| members(left).into_iter().chain(members(right)).collect();
    match &**expr {
        Expr::UnaryOp { op: UnaryOp::Not, expr } => return members(expr),
        Expr::BinaryOp { op: BinaryOp::And | BinaryOp::Or, left, right } => return both(left, right),
        Expr::BinaryOp { op: BinaryOp::Contains, left, right } => {
            if let (Some(Agent::Sender), Expr::Literal(Literal::String(name))) =
                (credentials_of(left), &**right)
            {
                return BTreeSet::from([format!("{CREDENTIALS} {name}")]);
            }
        }
        Expr::BinaryOp { op: BinaryOp::In, left, right } => match (Agent::of(left), literals(right)) {
            (Some(Agent::Sender), Some(those)) => return those.into_iter().map(sender).collect(),
            (Some(Agent::Receiver), Some(_)) => return BTreeSet::from([RECEIVER.to_owned()]),
            _ => {}
        },
        _ => {}
    }
    let reads = Reads::of(from_ref(&Clause::When(Arc::clone(expr))));
    let of = |whose: &'static str, names: BTreeSet<String>| {
        names.into_iter().map(move |name| format!("{whose}.{name}"))
    };
    let asks_sender = reads.principal.all || asks_who(expr);
    let whole = [
        asks_sender.then_some(SENDER),
        (asks_sender && reads.types.contains("Group")).then_some(GROUPS),
        reads.types.contains("Action").then_some(ACTION),
        reads.resource.all.then_some(RESOURCE),
        reads.context.all.then_some(CONTEXT),
    ];
    of("resource", reads.resource.names)
        .chain(of("context", reads.context.names))
        .chain(of("principal", reads.principal.names))
        .chain(whole.into_iter().flatten().map(str::to_owned))
        .collect()
}

/// Whether an expression asks who the sender is, and not for what it has.
fn asks_who(expr: &Expr) -> bool {
    let any = |parts: &[&Arc<Expr>]| parts.iter().any(|part| asks_who(part));
    match expr {
        Expr::Var(var) => *var == Var::Principal,
        Expr::GetAttr { expr, .. } | Expr::HasAttr { expr, .. } => {
            !matches!(**expr, Expr::Var(_)) && asks_who(expr)
        }
        Expr::UnaryOp { expr, .. } | Expr::Like { expr, .. } | Expr::Is { expr, .. } => asks_who(expr),
        Expr::BinaryOp { left, right, .. } => any(&[left, right]),
        Expr::IfThenElse { cond, then_expr, else_expr } => any(&[cond, then_expr, else_expr]),
        Expr::Set(items) => items.iter().any(|item| asks_who(item)),
        Expr::Literal(_) => false,
        _ => true,
    }
}

/// What is asked of the sender where it is asked to be in this.
fn sender(uid: &EntityUID) -> String {
    if uid.ty.to_string() == "Group" { format!("{GROUPS} {}", uid.eid) } else { SENDER.to_owned() }
}

/// One entity, or a set of some.
fn literals(expr: &Expr) -> Option<Vec<&EntityUID>> {
    match expr {
        Expr::Literal(Literal::EntityUID(uid)) => Some(vec![uid]),
        Expr::Set(items) => items
            .iter()
            .map(|item| match &**item {
                Expr::Literal(Literal::EntityUID(uid)) => Some(uid),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

/// One of the two agents of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Agent {
    Sender,
    Receiver,
}

impl Agent {
    /// The one that an expression is.
    pub fn of(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::Var(Var::Principal) => Some(Self::Sender),
            Expr::GetAttr { expr, attr } if matches!(&**expr, Expr::Var(Var::Context)) => {
                (attr == "receiver").then_some(Self::Receiver)
            }
            _ => None,
        }
    }

    /// Of an expression that asks for one agent, which of the two, and who.
    pub fn named(expr: &Expr) -> Option<(Self, &str)> {
        match expr {
            Expr::BinaryOp { op: BinaryOp::Eq | BinaryOp::In, left, right } => match &**right {
                Expr::Literal(Literal::EntityUID(uid)) if uid.ty.to_string() == "Agent" => {
                    Some((Self::of(left)?, &uid.eid))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// What an expression comes to of it where it is the agent of this entry; none where that does not tell.
    pub fn by_entry(self, expr: &Expr, entry: &AgentEntry) -> Option<bool> {
        if let Some((who, id)) = Self::named(expr) {
            return (who == self).then(|| id == entry.id);
        }
        let Expr::BinaryOp { op, left, right } = expr else { return None };
        match (op, &**right) {
            (BinaryOp::In, Expr::Literal(Literal::EntityUID(group))) if Self::of(left) == Some(self) => {
                Some(entry.groups.iter().any(|name| *name == *group.eid))
            }
            (BinaryOp::Contains, Expr::Literal(Literal::String(name)))
                if credentials_of(left) == Some(self) =>
            {
                let given = entry.credentials.iter().any(|one| *one == **name);
                (given || !is_shown(name)).then_some(given)
            }
            _ => None,
        }
    }

    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "the sender",
            Self::Receiver => "the receiver",
        }
    }
}

/// Whose credentials an expression is.
pub(super) fn credentials_of(expr: &Expr) -> Option<Agent> {
    match expr {
        Expr::GetAttr { expr, attr } if attr == "credentials" => Agent::of(expr),
        _ => None,
    }
}
