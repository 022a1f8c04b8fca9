//! A policy set over contexts, and a short way to ask it. The tests of `semgate-policy-analysis` use this file too.

use std::sync::{Arc, OnceLock};

use semgate_contexts::json::{self, Json};
use semgate_contexts::{Context, DocumentLimits, Performative, Prefix, library};

use semgate_policies::{Circumstances, Policies, PolicyLimits, PolicySource, Question, Verdict};

pub(crate) const RETAILER: &str = "spiffe://semgate.test/agent/retailer-7";
pub(crate) const WEBAPP: &str = "spiffe://semgate.test/agent/public-webapp-3";
pub(crate) const TREASURER: &str = "spiffe://semgate.test/agent/treasurer-1";
pub(crate) const COURIER: &str = "spiffe://semgate.test/agent/courier-5";
pub(crate) const WHOLESALER: &str = "spiffe://semgate.test/agent/wholesaler-1";
pub(crate) const OPERATOR: &str = "spiffe://semgate.test/operator";
pub(crate) const STRANGER: &str = "spiffe://semgate.test/agent/nobody-knows";

pub(crate) fn context(text: &str) -> Arc<Context> {
    let limits = DocumentLimits::default();
    Arc::new(Context::check(text.as_bytes(), &Prefix::default(), &limits).unwrap())
}

pub(crate) fn shipped_contexts() -> Vec<Arc<Context>> {
    static SHIPPED: OnceLock<Vec<Arc<Context>>> = OnceLock::new();
    let check = |(_, bytes): &(&str, &[u8])| context(std::str::from_utf8(bytes).unwrap());
    SHIPPED.get_or_init(|| library::all().iter().map(check).collect()).clone()
}

/// Policies over contexts, and a short way to ask.
pub(crate) struct House {
    pub contexts: Vec<Arc<Context>>,
    pub policies: Policies,
}

/// A question in test words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub sender: &'a str,
    pub receiver: &'a str,
    pub action: Performative,
    pub urn: &'a str,
    pub term: &'a str,
    pub value: &'a str,
    pub binding: &'a str,
    pub direction: &'a str,
    pub around: Circumstances<'a>,
}

impl Default for Ask<'_> {
    fn default() -> Self {
        Self {
            sender: RETAILER,
            receiver: WHOLESALER,
            action: Performative::Request,
            urn: "payment:v2.0",
            term: "transfer",
            value: "{}",
            binding: "l8",
            direction: "request",
            around: Circumstances::at(1_800_000_000),
        }
    }
}

impl House {
    pub fn load(source: &PolicySource, contexts: Vec<Arc<Context>>) -> Result<Self, Vec<String>> {
        match Policies::load(source, &contexts, &PolicyLimits::default()) {
            Ok(policies) => Ok(Self { contexts, policies }),
            Err(faults) => Err(faults.iter().map(ToString::to_string).collect()),
        }
    }

    pub fn context(&self, urn: &str) -> &Context {
        let full = format!("urn:contexts:{urn}");
        self.contexts.iter().find(|context| context.urn().as_str() == full).unwrap()
    }

    pub fn question<R>(&self, ask: Ask<'_>, then: impl FnOnce(&Question<'_>) -> R) -> R {
        let Json::Object(object) = json::read(ask.value.as_bytes(), &json::Limits::default()).unwrap() else {
            panic!("an object")
        };
        let context = self.context(ask.urn);
        let shape = context.term(ask.term).unwrap().side(ask.action).unwrap();
        then(&Question {
            sender: ask.sender,
            receiver: ask.receiver,
            action: ask.action,
            context,
            shape,
            value: &object,
            without: None,
            binding: ask.binding,
            direction: ask.direction,
            circumstances: ask.around,
        })
    }

    /// Asks twice, so that a remembered verdict is seen as well.
    pub fn ask(&self, ask: Ask<'_>) -> Verdict {
        let (first, again) =
            self.question(ask, |question| (self.policies.decide(question), self.policies.decide(question)));
        assert_eq!(first, again, "a verdict changed by being remembered");
        first
    }
}

/// In one file; forbids alone are no set, so a permit for times long past stands beside them.
pub(crate) fn one_file(policies: &str) -> PolicySource {
    let mut files = vec![("p.cedar".to_owned(), policies.to_owned())];
    if policies.contains("forbid") && !policies.contains("permit") {
        let past = "permit (principal, action, resource) when { context.now < datetime(\"1970-01-02\") };";
        files.push(("past.cedar".to_owned(), past.to_owned()));
    }
    PolicySource { files, ..PolicySource::shipped() }
}

pub(crate) fn transfer(amount: &str) -> String {
    format!(r#"{{"sender_id":"a","receiver_id":"b","amount":{amount},"currency":"EUR"}}"#)
}
