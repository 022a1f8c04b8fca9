//! A2H: agents ask people, and the gateway answers by itself (`docs/spec/a2h-binding.md`).
//!
//! Every dialect is read into the concepts of `urn:contexts:a2h:v1.0`. The judged JSON is the concept's instance, which
//! [`params`] assembles of path, query and body. Nothing of a request is forwarded.

mod answer;
mod binding;
mod draft;
mod form;
mod goto_human;
mod human_layer;
mod own;
mod route;
mod twilio;

pub use answer::PeopleAnswer;
pub(crate) use binding::A2h;
pub(crate) use draft::IGNORED;
pub use route::{PeopleTarget, params, route};

use semgate_contexts::Performative;

/// A request to the gateway about people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PeopleOperation {
    /// Finds people.
    Find,
    /// Asks one person.
    Interact,
    /// Reads the answer.
    Get,
    /// Withdraws a request.
    Cancel,
    /// Reads what the gateway carries.
    Discover,
}

impl PeopleOperation {
    /// The concept of the request.
    pub const fn concept(self) -> &'static str {
        match self {
            Self::Find => "human_find",
            Self::Interact => "interaction",
            Self::Get => "interaction_get",
            Self::Cancel => "interaction_cancel",
            Self::Discover => "discover",
        }
    }

    /// The concept of the answer.
    pub const fn answer(self) -> &'static str {
        match self {
            Self::Find => "human_list",
            Self::Interact => "interaction_opened",
            Self::Get | Self::Cancel => "interaction_state",
            Self::Discover => "discovery",
        }
    }

    /// The speech act. That of an interaction depends on its type.
    pub(crate) const fn performative(self) -> Performative {
        match self {
            Self::Find | Self::Get | Self::Discover => Performative::Query,
            Self::Interact | Self::Cancel => Performative::Request,
        }
    }
}

/// The form in which a client speaks A2H.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// `/a2h/v1/…`, the paper's.
    Own,
    /// `/function_calls` of HumanLayer: a permission.
    FunctionCall,
    /// `/contact_requests` of HumanLayer: a question.
    Contact,
    /// `/requestReview` of gotoHuman.
    Review,
    /// `/v1/intent` of A2H 1.0 by Twilio.
    Intent,
}

#[cfg(test)]
mod tests;
