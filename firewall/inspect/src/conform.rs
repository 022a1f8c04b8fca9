//! Third stage: content against the definitions of the context.

use crate::{
    Code, Facts, Refusal, clarify,
    generation::Named,
    inspection::Inspection,
    missing_fields,
    resolve::{Resolved, is_step},
    scan::Scans,
    shadow::beside_unfit,
    term_negotiation::{self, Meaning},
    tools,
};
use semgate_contexts::vectors::VectorFault;
use semgate_contexts::{Context, InstanceFault, NAMING_MEMBERS, Shape, Term, WorkBudget, json::Json};
use semgate_protocol::{Instance, Message, Unadmitted, Vocabulary};

/// Maximum number of concept names in a hint.
const HINTED_NAMES: usize = 12;

/// A message whose every concept is defined and fits its schema. It holds at least one concept, or is a bare
/// acknowledgement. Only this stage builds one.
#[derive(Debug)]
pub struct Conformed<'c, 'j> {
    resolved: Resolved<'c, 'j>,
    definitions: Vec<Definition<'c>>,
    teaches: Vec<Meaning>,
    scans: Scans,
}

/// The definition of an instance, in the order of the message's instances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Definition<'c> {
    pub context: &'c Context,
    pub term: &'c Term,
    pub shape: &'c Shape,
    pub origin: Origin,
}

impl Definition<'_> {
    /// The context line of the instance, as limits count it.
    pub(crate) fn line(&self) -> &str {
        match self.origin {
            Origin::Signed => self.context.urn().line().as_str(),
            Origin::Learnt => "learnt",
        }
    }
}

/// Source of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// An authority.
    Signed,
    /// The two agents, in this session.
    Learnt,
}

/// The definition of a name.
type Defined<'c> = (&'c Context, &'c Term, Origin);

/// Checks every instance against its definition.
///
/// # Errors
/// `content_uninspectable`, `concept_undefined`, then `content_invalid` with path and rule. `too_complex` if
/// the check exceeds the work budget of a message.
pub(crate) fn conform<'c, 'j>(resolved: Resolved<'c, 'j>) -> Result<Conformed<'c, 'j>, Refusal> {
    let terms = match define(&resolved) {
        Ok(terms) => terms,
        Err(refusal) => {
            let facts = resolved.facts();
            return Err(refusal.with_facts(facts));
        }
    };
    match fit(&terms, &resolved) {
        Ok((definitions, teaches)) => {
            Ok(Conformed { resolved, definitions, teaches, scans: Scans::default() })
        }
        Err(refusal) => {
            let concepts = terms.iter().map(|(_, term, origin)| origin.name(term)).collect();
            let facts = Facts { concepts, shadow: beside_unfit(&resolved), ..resolved.facts() };
            let terms = terms.iter().map(|(context, term, _)| (*context, *term));
            Err(refusal.of_tool_call(tools::visible_call(&resolved, terms)).with_facts(facts))
        }
    }
}

/// Refuses content that the route does not admit, and steps of a handshake that it does not open.
fn admitted(resolved: &Resolved<'_, '_>) -> Result<(), Refusal> {
    let message = resolved.message();
    let calls_tools = resolved.case().protocol().traits().calls_tools;
    if let Some(Unadmitted { pointer, admit }) = &message.uninspectable {
        let instead = match calls_tools {
            true => "leave it out",
            false => "send it as concepts of the context, in a data part",
        };
        return Err(Refusal::new(
            Code::ContentUninspectable,
            format!("`{pointer}` is {}, which this route does not admit", admit.kinds()),
        )
        .with_hint(format!("{instead}, or ask the operator to let the route admit `{}`", admit.as_str())));
    }
    if !resolved.case().route.options.passes_handshakes
        && !calls_tools
        && let Some(instance) = message.instances.iter().find(|instance| is_step(instance))
    {
        return Err(Refusal::new(
            Code::ContentUninspectable,
            format!("`{}` belongs to a handshake, and this route opens none", instance.pointer),
        )
        .with_hint(match resolved.case().route.options.group {
            // each member has its own key; no key opens a message to all of them
            Some(_) => "open the handshake with a member, at `snl` below the address of its own route",
            None => "open the handshake at the handshake address of this route, `snl` below this one",
        }));
    }
    Ok(())
}

/// Looks up every name before any content is judged: `concept_undefined` precedes `content_invalid`.
fn define<'c>(resolved: &Resolved<'c, '_>) -> Result<Vec<Defined<'c>>, Refusal> {
    let (message, named) = (resolved.message(), resolved.named());
    let calls_tools = resolved.case().protocol().traits().calls_tools;
    admitted(resolved)?;
    if let Some(gap) = &message.gap {
        return Err(undefined(named, &gap.pointer.to_string(), gap.what));
    }
    if message.instances.is_empty() && !message.acknowledges {
        return Err(undefined(named, "", "the message holds no concept"));
    }
    // a message uses names of its own context only; protocol names come from the binding alone
    let own = !resolved.case().generation.is_house(named.urn());
    let defined = |instance: &Instance<'_>| {
        let known = match instance.of {
            Vocabulary::Protocol => resolved.protocol().and_then(|protocol| term_of(protocol, instance.name)),
            Vocabulary::Format(_) => resolved.format().and_then(|format| term_of(format, instance.name)),
            Vocabulary::Context if calls_tools => {
                tools::callable(resolved.case(), named, instance.name, instance.object)?
            }
            Vocabulary::Context if instance.is_untyped() => return untyped(resolved, instance),
            Vocabulary::Context => {
                let control = resolved.control().and_then(|control| term_of(control, instance.name));
                control.or_else(|| if own { term_of(named, instance.name) } else { None })
            }
        };
        let signed = known.map(|(context, term)| (context, term, Origin::Signed));
        signed.or_else(|| term_negotiation::settled(resolved, instance)).ok_or_else(|| {
            let pointer = instance.pointer.to_string();
            if calls_tools && instance.of == Vocabulary::Context {
                // each caller learns its own tools from the list
                return Refusal::new(Code::ConceptUndefined, format!("`{pointer}` names an unknown tool"))
                    .with_hint("list the tools, and call one of them");
            }
            let refusal = undefined(named, &pointer, "names a concept that the context does not define");
            term_negotiation::ask(resolved, instance, refusal)
        })
    };
    message.instances.iter().map(defined).collect()
}

/// True if a request names a concept of its context other than the route's for content without a name.
pub(crate) fn names_another(case: &Inspection<'_>, message: &Message<'_>) -> bool {
    let own = case.route.options.untyped.as_deref();
    let other =
        |one: &Instance<'_>| one.of == Vocabulary::Context && !one.is_untyped() && Some(one.name) != own;
    message.instances.iter().any(other)
}

/// The route's definition of content without a name. It holds under the default context alone, and not in answers to a request
/// that names another concept. So no name and no context of a sender gets another meaning.
fn untyped<'c>(resolved: &Resolved<'c, '_>, instance: &Instance<'_>) -> Result<Defined<'c>, Refusal> {
    let (named, case) = (resolved.named(), resolved.case());
    let fault = || undefined(named, &instance.pointer.to_string(), "names no concept");
    let options = &case.route.options;
    let own = !case.generation.is_house(named.urn());
    let Some(name) = options.untyped.as_deref().filter(|_| own) else { return Err(fault()) };
    let answers_another = case.answers.is_some_and(|sent| sent.names_another);
    if options.default_contexts.first() != Some(named.urn()) || answers_another {
        return Err(fault());
    }
    let (context, term) = term_of(named, name).ok_or_else(|| {
        fault().with_detail(format!(
            "`untyped` of the route names `{name}`, which {} does not define",
            named.urn()
        ))
    })?;
    Ok((context, term, Origin::Signed))
}

impl Origin {
    /// The name of a concept in records: the policy name for a negotiated term.
    pub(crate) fn name(self, term: &Term) -> String {
        match self {
            Self::Signed => term.name().to_owned(),
            Self::Learnt => format!("learnt::{}", term.name()),
        }
    }
}

fn term_of<'c>(named: &'c Named, name: &str) -> Option<(&'c Context, &'c Term)> {
    named.context().term(name).map(|term| (named.context(), term))
}

fn undefined(named: &Named, path: &str, what: &str) -> Refusal {
    let mut names: Vec<_> = named.context().terms().map(|term| format!("`{}`", term.name())).collect();
    if names.len() > HINTED_NAMES {
        names.truncate(HINTED_NAMES);
        names.push("and others".to_owned());
    }
    let reason = if path.is_empty() { what.to_owned() } else { format!("`{path}` {what}") };
    Refusal::new(Code::ConceptUndefined, reason).with_hint(format!(
        "name the type with `concept_type`; {} defines {}",
        named.urn(),
        names.join(", ")
    ))
}

type Fit<'c> = (Vec<Definition<'c>>, Vec<Meaning>);

fn fit<'c>(terms: &[Defined<'c>], resolved: &Resolved<'c, '_>) -> Result<Fit<'c>, Refusal> {
    let (message, named) = (resolved.message(), resolved.named());
    let control = resolved.case().generation.control_line();
    tools::provides_results(resolved)?;
    let (mut all, mut teaches) = (Vec::with_capacity(terms.len()), Vec::new());
    let model = resolved.session().and_then(|session| session.model);
    let work = WorkBudget::of_message().of_session(model);
    for ((context, term, origin), instance) in terms.iter().zip(&message.instances) {
        let shape = term
            .side(instance.performative)
            .map_err(|_| invalid(&instance.pointer.to_string(), "x-performatives").with_hint(takes(term)))?;
        let definition = Definition { context, term, shape, origin: *origin };
        unambiguous(shape, instance)?;
        shape.conform_within(instance.object, without(instance), &work).map_err(|unfit| {
            let InstanceFault::Content(fault) = unfit else {
                return too_complex(&instance.pointer.to_string());
            };
            let gaps = missing_fields::all(terms.iter().map(|(_, term, _)| *term), message);
            let fit = format!("fit the schema of `{}` in {}", term.name(), context.urn());
            let fit =
                VectorFault::advice(&fault.rule).map_or(fit.clone(), |advice| format!("{advice}; {fit}"));
            let fit = if is_null(shape, instance, &fault.path) {
                format!("leave out a member without a value instead of sending `null`; {fit}")
            } else {
                fit
            };
            gaps.refusal(&instance.pointer.join(&fault.path), &fault.rule).with_hint(gaps.hint(&fit))
        })?;
        if *origin == Origin::Signed && context.urn().line() == control {
            match term_negotiation::meaning(resolved, &definition, instance)? {
                Some(meaning) => term_negotiation::add(&mut teaches, meaning, instance)?,
                None => clarify::speaks_of(named.context(), &definition, instance)?,
            }
        }
        all.push(definition);
    }
    Ok((all, teaches))
}

/// Refuses a schema that declares the member naming the type. That member is not content, so the schema would
/// be ambiguous.
fn unambiguous(shape: &Shape, instance: &Instance<'_>) -> Result<(), Refusal> {
    let naming = instance.naming;
    if !NAMING_MEMBERS.contains(&naming) || !shape.declares(naming) {
        return Ok(());
    }
    let pointer = &instance.pointer;
    let what = format!("`{pointer}` names its type with `{naming}`, which its schema declares as content");
    let other = NAMING_MEMBERS.into_iter().find(|member| !shape.declares(member));
    Err(Refusal::new(Code::ContentInvalid, what).with_hint(match other {
        Some(other) => {
            format!("name the type with `{other}`, and leave out `{naming}`, which passes in MCP only")
        }
        None => "call it as a tool in MCP".to_owned(),
    }))
}

/// Returns true if the fault is `null` for an optional member that takes no null.
fn is_null(shape: &Shape, instance: &Instance<'_>, path: &str) -> bool {
    path.strip_prefix('/').is_some_and(|member| {
        shape.never_null(member) && matches!(instance.object.get(member), Some(Json::Null))
    })
}

/// The member that names the type and is not content. None for an instance that the binding named: all of it
/// is judged.
pub(crate) fn without<'i>(instance: &Instance<'i>) -> Option<&'i str> {
    Some(instance.naming).filter(|naming| !naming.is_empty())
}

fn invalid(path: &str, rule: &str) -> Refusal {
    Refusal::new(Code::ContentInvalid, format!("`{path}` does not fit the rule `{rule}`"))
}

/// The refusal for an exhausted work budget: the message was not judged to its end.
pub(crate) fn too_complex(pointer: &str) -> Refusal {
    let reason = format!("checking `{pointer}` exceeds the work limit of one message");
    Refusal::new(Code::TooComplex, reason)
        .with_hint("send fewer values or shorter strings in one message; ask the context's publisher to bound its patterns")
}

fn takes(term: &Term) -> String {
    let mut names: Vec<_> = Vec::new();
    for shape in term.shapes() {
        names.extend(shape.performatives().iter().map(|performative| performative.as_str()));
    }
    format!("`{}` takes {}", term.name(), names.join(", "))
}

impl<'c, 'j> Conformed<'c, 'j> {
    pub(crate) fn case(&self) -> &'c Inspection<'c> {
        self.resolved.case()
    }

    pub(crate) fn resolved(&self) -> &Resolved<'c, 'j> {
        &self.resolved
    }

    /// Terms that the message settles if the upstream agent accepts it.
    pub(crate) fn settles(&self) -> &[Meaning] {
        &self.teaches
    }

    /// Each instance with its definition.
    pub(crate) fn instances(&self) -> impl Iterator<Item = (&Definition<'c>, &Instance<'j>)> {
        self.definitions.iter().zip(&self.resolved.message().instances)
    }

    /// Scores of text that were made for this message.
    pub(crate) fn scans(&self) -> &Scans {
        &self.scans
    }

    /// Returns true if the two agents settled the concept at this position between themselves.
    pub(crate) fn is_learnt(&self, position: usize) -> bool {
        self.definitions.get(position).is_some_and(|definition| definition.origin == Origin::Learnt)
    }

    /// Facts known about the message.
    pub fn facts(&self) -> Facts {
        let concepts =
            self.definitions.iter().map(|definition| definition.origin.name(definition.term)).collect();
        let learnt = self.teaches.iter().map(|meaning| meaning.name.clone()).collect();
        let scored = self.scans.all();
        let scan_model = (!scored.is_empty()).then(|| self.case().generation.scanner().model());
        Facts { concepts, learnt, scored, scan_model, ..self.resolved.facts() }
    }
}
