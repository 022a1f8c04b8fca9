//! Roles, and the one table of pages. The router is built from the table, and tests read it.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A role of a person. A person has the rights of all roles together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads everything but approvals, decisions' records and the log.
    Viewer,
    /// Reads as a viewer, and also decisions' records, log and witnesses.
    Auditor,
    /// Reads as a viewer; revokes, suspends, resumes, retires and raises floors.
    Operator,
    /// Reads and decides approvals.
    Approver,
}

impl Role {
    /// The name in the configuration and on the pages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Auditor => "auditor",
            Self::Operator => "operator",
            Self::Approver => "approver",
        }
    }
}

/// The roles that read.
const READ: &[Role] = &[Role::Viewer, Role::Auditor, Role::Operator];
/// The role that reads records of decisions, and the log.
const RECORDS: &[Role] = &[Role::Auditor];
/// The role that acts at the authority.
const ACT: &[Role] = &[Role::Operator];
/// The role that decides approvals.
const DECIDE: &[Role] = &[Role::Approver];
/// Every role: for pages that any logged-in person uses.
const ANY: &[Role] = &[Role::Viewer, Role::Auditor, Role::Operator, Role::Approver];

/// A method of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Reads; changes nothing.
    Get,
    /// A form: needs the token of the session and this origin.
    Post,
}

/// A page that needs no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenPage {
    /// An embedded file.
    Asset,
    /// The form of the login.
    LoginForm,
    /// The login.
    Login,
}

/// A page that needs a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    Overview,
    Verdicts,
    VerdictStream,
    Decision,
    DecisionText,
    Contexts,
    Context,
    ContextText,
    ContextPrompt,
    Compare,
    Policies,
    Matrix,
    ExplainForm,
    Explain,
    Approvals,
    Approval,
    ApprovalText,
    Approve,
    Deny,
    Delegate,
    Standing,
    StandingAct,
    Agents,
    Limits,
    Log,
    Logout,
}

/// Requirement of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Access {
    /// Needs no session.
    Open(OpenPage),
    /// Needs a session of a person with one of these roles.
    Roles(Page, &'static [Role]),
}

/// One page and method.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) path: &'static str,
    pub(crate) verb: Verb,
    pub(crate) access: Access,
    /// The name in the navigation, in the order of the table.
    pub(crate) nav: Option<&'static str>,
}

const fn open(verb: Verb, path: &'static str, page: OpenPage) -> Row {
    Row { path, verb, access: Access::Open(page), nav: None }
}

const fn get(path: &'static str, page: Page, roles: &'static [Role]) -> Row {
    Row { path, verb: Verb::Get, access: Access::Roles(page, roles), nav: None }
}

const fn post(path: &'static str, page: Page, roles: &'static [Role]) -> Row {
    Row { path, verb: Verb::Post, access: Access::Roles(page, roles), nav: None }
}

impl Row {
    const fn named(self, nav: &'static str) -> Self {
        Self { nav: Some(nav), ..self }
    }
}

/// Every page and method, once. A page that is not here does not exist.
pub(crate) const TABLE: &[Row] = &[
    open(Verb::Get, "/assets/{name}", OpenPage::Asset),
    open(Verb::Get, "/login", OpenPage::LoginForm),
    open(Verb::Post, "/login", OpenPage::Login),
    post("/logout", Page::Logout, ANY),
    get("/", Page::Overview, READ).named("Overview"),
    get("/verdicts", Page::Verdicts, READ).named("Live verdicts"),
    get("/verdicts/stream", Page::VerdictStream, READ),
    get("/decisions/{id}", Page::Decision, RECORDS),
    get("/decisions/{id}/text", Page::DecisionText, RECORDS),
    get("/approvals", Page::Approvals, DECIDE).named("Approvals"),
    get("/approvals/{id}", Page::Approval, DECIDE),
    get("/approvals/{id}/action.txt", Page::ApprovalText, DECIDE),
    post("/approvals/{id}/approve", Page::Approve, DECIDE),
    post("/approvals/{id}/deny", Page::Deny, DECIDE),
    post("/approvals/{id}/delegate", Page::Delegate, DECIDE),
    get("/contexts", Page::Contexts, READ).named("Contexts"),
    get("/contexts/{urn}", Page::Context, READ),
    get("/contexts/{urn}/document.txt", Page::ContextText, READ),
    get("/contexts/{urn}/prompt.txt", Page::ContextPrompt, READ),
    get("/compare", Page::Compare, READ),
    get("/policies", Page::Policies, READ).named("Policies"),
    get("/policies/matrix.txt", Page::Matrix, READ),
    get("/policies/explain", Page::ExplainForm, READ),
    post("/policies/explain", Page::Explain, READ),
    get("/standing", Page::Standing, READ).named("Revocations and floors"),
    post("/standing/{act}", Page::StandingAct, ACT),
    get("/agents", Page::Agents, READ).named("Agents"),
    get("/limits", Page::Limits, READ).named("Limits"),
    get("/log", Page::Log, RECORDS).named("Log"),
];

/// True if these roles satisfy a row.
pub(crate) fn admits(access: Access, held: &BTreeSet<Role>) -> bool {
    match access {
        Access::Open(_) => true,
        Access::Roles(_, roles) => roles.iter().any(|role| held.contains(role)),
    }
}

/// True if these roles may read a page.
pub(crate) fn may_read(page: Page, held: &BTreeSet<Role>) -> bool {
    let is_page = |row: &&Row| matches!(row.access, Access::Roles(of, _) if of == page);
    TABLE.iter().filter(is_page).any(|row| row.verb == Verb::Get && admits(row.access, held))
}

/// The named pages that these roles may read, in the order of the table.
pub(crate) fn navigation(held: &BTreeSet<Role>) -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLE
        .iter()
        .filter(|row| admits(row.access, held))
        .filter_map(|row| Some((row.nav?, row.path)))
        .collect::<Vec<_>>()
        .into_iter()
}

#[cfg(test)]
mod tests;
