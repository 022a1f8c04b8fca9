//! Contexts that the operator names for agents of A2A and native L8.

use std::path::Path;

use semgate_contexts::{Context, DocumentLimits, Performative, Prefix, TermKind, library};
use serde_json::{Value, json};

use super::example::instance;
use super::plan::{DocumentPlan, Rule};
use super::quoted;
use super::tools::tasks;
use crate::fault::{Doing, Fault};
use crate::system::read;

/// Contexts of one directory, at least one.
pub struct Typed {
    contexts: Vec<Context>,
    /// Documents to publish; none for the shipped ones.
    documents: Vec<(String, String)>,
    /// Shipped lines to publish.
    shipped: Vec<String>,
}

impl Typed {
    /// Reads documents, or newest versions of shipped lines. `None` for an empty list.
    ///
    /// # Errors
    /// A name that is neither, or a document that is not good.
    pub fn read(named: &[String]) -> Result<Option<Self>, Fault> {
        let mut typed = Self { contexts: Vec::new(), documents: Vec::new(), shipped: Vec::new() };
        for name in named {
            let newest = library::all().iter().rfind(|(shipped, _)| library::line_of(shipped) == name);
            let bytes = match newest {
                Some((_, bytes)) => {
                    typed.shipped.push(name.clone());
                    bytes.to_vec()
                }
                None => {
                    let text = read(Path::new(name))?;
                    typed.documents.push((name.clone(), text.clone()));
                    text.into_bytes()
                }
            };
            let context = Context::check(&bytes, &Prefix::default(), &DocumentLimits::default()).hinted(
                format_args!("`{name}`"),
                "`semgate context check` shows every fault of a document",
            )?;
            typed.contexts.push(context);
        }
        Ok((!typed.contexts.is_empty()).then_some(typed))
    }

    /// Shipped lines to publish.
    pub fn shipped(&self) -> &[String] {
        &self.shipped
    }

    /// Documents to publish.
    pub fn documents(&self) -> Vec<DocumentPlan> {
        let own = self
            .contexts
            .iter()
            .filter(|one| !self.shipped.iter().any(|line| line == one.urn().line().as_str()));
        let file = |context: &Context| format!("contexts/{}.json", context.urn().line().as_str());
        let all = own.zip(&self.documents);
        all.map(|(context, (_, text))| DocumentPlan { file: file(context), text: text.clone(), tools: None })
            .collect()
    }

    /// Scopes for a route.
    pub fn scopes(&self) -> Vec<String> {
        self.contexts
            .iter()
            .map(|one| format!("{}:v{}", one.urn().line().as_str(), one.urn().version().major))
            .collect()
    }

    /// The context of messages that name none: the first.
    pub fn default_context(&self) -> &str {
        self.contexts.first().map_or("", |one| one.urn().as_str())
    }

    /// The policies.
    pub fn rules(&self) -> Vec<Rule> {
        self.contexts.iter().flat_map(tasks).collect()
    }

    /// A first message: concept or task, its performative, and an instance.
    fn first(&self) -> Option<(&Context, String, Performative, Value)> {
        let all = self.contexts.iter().flat_map(|context| context.terms().map(move |term| (context, term)));
        let mut made = all.filter_map(|(context, term)| {
            let wanted = match term.kind() {
                TermKind::Task => [Performative::Request, Performative::Query, Performative::Inform],
                TermKind::Concept => [Performative::Inform, Performative::Request, Performative::Query],
            };
            let performative = wanted.into_iter().find(|one| term.side(*one).is_ok())?;
            let document: Value = serde_json::from_slice(context.bytes()).ok()?;
            let value = instance(&document, term.side(performative).ok()?.schema())?;
            Some((context, term.name().to_owned(), performative, value))
        });
        made.next()
    }

    /// A case for `policy test`: permitted, or refused where no instance can be made up.
    pub fn case(&self) -> Value {
        match self.first() {
            Some((context, concept, performative, content)) => json!({
                "shows": format!("the client may say `{concept}`"), "context": context.urn().as_str(), "concept": concept,
                "performative": performative.as_str(), "content": content, "expect": "permitted",
            }),
            None => json!({
                "shows": "the client may read no tasks without a policy", "context": "snl:v1.0", "concept": "HELLO",
                "performative": "REQUEST", "content": {}, "expect": "policy_denied",
            }),
        }
    }

    /// Words for `semgate call`.
    pub fn call(&self) -> String {
        let short = |context: &Context| {
            let urn = context.urn().as_str();
            urn.strip_prefix("urn:contexts:").unwrap_or(urn).to_owned()
        };
        match self.first() {
            Some((context, concept, _, content)) => {
                format!("{} {concept} {}", short(context), quoted(&content.to_string()))
            }
            None => "--help".to_owned(),
        }
    }
}
