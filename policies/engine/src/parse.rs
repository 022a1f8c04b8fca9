//! Policy files → policies with an id, a place and what they read.

use semgate_contexts::{Digest, schema::is_unseen};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use cedar_policy::pst::Clause;
use cedar_policy::{Effect, Policy, PolicyId, PolicySet};
use miette::Diagnostic;

use crate::annotations::{Annotations, Obligation};
use crate::nesting;
use crate::pace;
use crate::policy_text;
use crate::reads::Reads;
use crate::{Location, PolicyFault, PolicyLimits};

/// One policy as it stands in its file.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    /// The policy; its Cedar id is `id`.
    pub policy: Policy,
    /// `file#id`, where `id` is the `@id` annotation or the position in the file, from 1.
    pub id: Arc<str>,
    /// The `@notice` annotation: what a refusal by this policy may tell outsiders.
    pub notice: Option<Arc<str>>,
    /// Obligation beyond letting a message pass, of a permit that has one.
    pub obligation: Option<Arc<Obligation>>,
    /// Index of the file.
    pub file: usize,
    /// Byte offset of the policy in its file, from which Cedar counts where it says where in the policy something is.
    pub start: usize,
    /// Its conditions. Cedar reads a policy from its text again for each look at its tree, so this is the only look.
    pub clauses: Arc<[Clause]>,
    /// The inputs of its conditions.
    pub reads: Reads,
}

impl Written {
    /// True for a `permit`.
    pub fn permits(&self) -> bool {
        self.policy.effect() == Effect::Permit
    }
}

/// Parses every file; all faults of all files are found in one go.
pub(crate) fn parse(
    files: &[(String, String)],
    limits: &PolicyLimits,
) -> Result<Vec<Written>, Vec<PolicyFault>> {
    let mut faults = Vec::new();
    let mut all = Vec::new();
    let mut ids = HashSet::new();
    if files.len() > limits.max_files {
        return Err(vec![PolicyFault::TooLarge { what: "policy files".to_owned(), limit: limits.max_files }]);
    }
    for (index, (name, text)) in files.iter().enumerate() {
        if text.len() > limits.max_file_bytes {
            faults.push(PolicyFault::TooLarge {
                what: format!("bytes of `{name}`"),
                limit: limits.max_file_bytes,
            });
            continue;
        }
        match parse_file(index, name, text, limits) {
            Ok(resolved) => {
                for written in resolved {
                    if !ids.insert(Arc::clone(&written.id)) {
                        let why = format!("a second policy with the id `{}`", written.id);
                        faults
                            .push(PolicyFault::Syntax { location: location(name, text, written.start), why });
                    }
                    all.push(written);
                }
            }
            Err(resolved) => faults.extend(resolved),
        }
    }
    if all.len() > limits.max_policies {
        faults.push(PolicyFault::TooLarge { what: "policies".to_owned(), limit: limits.max_policies });
    }
    if faults.is_empty() && all.is_empty() {
        faults.push(PolicyFault::Empty);
    }
    if faults.is_empty() { Ok(all) } else { Err(faults) }
}

/// One policy of a file, with where and how it stands there.
pub(crate) struct Alone {
    /// From 1.
    pub position: usize,
    /// As [`Written::start`].
    pub start: usize,
    pub text: String,
    pub policy: Policy,
}

impl Alone {
    /// A fault of one of its annotations.
    pub fn annotation(&self, file: &str, text: &str, annotation: &str, why: &str) -> PolicyFault {
        let at = self.start + annotated(&self.text, annotation);
        PolicyFault::Syntax { location: location(file, text, at), why: format!("`@{annotation}`: {why}") }
    }

    /// `file#id`, where `id` is the `@id` annotation or the position.
    pub fn id(&self, file: &str, own: Option<&str>) -> Arc<str> {
        own.map_or_else(|| format!("{file}#{}", self.position), |own| format!("{file}#{own}")).into()
    }
}

/// The policies of a file, each by itself.
pub(crate) fn each_of(name: &str, text: &str, max_nesting: usize) -> Result<Vec<Alone>, Vec<PolicyFault>> {
    if let Some(fault) = unreadable(name, text) {
        return Err(vec![fault]);
    }
    if let Some(at) = nesting::beyond(text, max_nesting) {
        let why =
            format!("it nests deeper than {max_nesting}: write a long list as a set, or several policies");
        return Err(vec![PolicyFault::Syntax { location: location(name, text, at), why }]);
    }
    one_by_one(text).ok_or_else(|| wrong(name, text))
}

/// The policies of a file that says nothing else, each parsed by itself, so that a rest comes between: the file as a whole takes Cedar many
/// milliseconds.
pub(crate) fn one_by_one(text: &str) -> Option<Vec<Alone>> {
    let mut resolved = Vec::new();
    for range in policy_text::policies(text) {
        pace::rest();
        let (start, own) = (range.start, text.get(range)?);
        let policy = Policy::parse(None, own).ok()?;
        resolved.push(Alone { position: resolved.len() + 1, start, text: own.to_owned(), policy });
    }
    (!resolved.is_empty()).then_some(resolved)
}

/// Faults of a file that is no row of policies; at least one.
fn wrong(name: &str, text: &str) -> Vec<PolicyFault> {
    let syntax = |at: usize, why: String| PolicyFault::Syntax { location: location(name, text, at), why };
    let is_no_policy =
        |range: &Range<usize>| text.get(range.clone()).is_none_or(|own| Policy::parse(None, own).is_err());
    let faults: Vec<PolicyFault> = match text.parse::<PolicySet>() {
        Err(errors) => {
            errors.iter().map(|error| syntax(offset(error).unwrap_or_default(), message(error))).collect()
        }
        Ok(set) => match set.templates().next() {
            Some(_) => vec![syntax(
                policy_text::policies(text).find(is_no_policy).map_or(0, |range| range.start),
                "a template (`?principal`, `?resource`) is not a policy: write the agent or group out"
                    .to_owned(),
            )],
            None if set.num_of_policies() == 0 => vec![PolicyFault::EmptyFile { name: name.to_owned() }],
            None => Vec::new(),
        },
    };
    if faults.is_empty() { vec![syntax(0, "policies cannot be told apart".to_owned())] } else { faults }
}

fn parse_file(
    index: usize,
    name: &str,
    text: &str,
    limits: &PolicyLimits,
) -> Result<Vec<Written>, Vec<PolicyFault>> {
    let (mut resolved, mut faults) = (Vec::new(), Vec::new());
    let mut nameless: HashMap<Digest, usize> = HashMap::new();
    for alone in each_of(name, text, limits.max_nesting)? {
        pace::rest();
        let (policy, start) = (&alone.policy, alone.start);
        let annotations = match Annotations::of(policy) {
            Ok(annotations) => annotations,
            Err(wrong) => {
                let fault =
                    |(annotation, why): (String, String)| alone.annotation(name, text, &annotation, &why);
                faults.extend(wrong.into_iter().map(fault));
                continue;
            }
        };
        let id = alone.id(name, annotations.id.as_deref());
        let clauses = clauses(policy)
            .map_err(|why| vec![PolicyFault::Syntax { location: location(name, text, start), why }])?;
        let reads = Reads::of(&clauses);
        let bucket = || {
            let stated = stated(policy, &alone.text);
            let before = nameless.entry(stated).or_default();
            *before += 1;
            format!("{name}#{stated}#{before}").into()
        };
        let obligation = annotations.obligation(&id, bucket);
        let policy = policy.new_id(PolicyId::new(&*id));
        resolved.push(Written {
            policy,
            notice: annotations.notice.clone(),
            obligation,
            id,
            file: index,
            start,
            clauses,
            reads,
        });
    }
    if faults.is_empty() { Ok(resolved) } else { Err(faults) }
}

/// Digest of the meaning of a policy, without its layout and annotations.
fn stated(policy: &Policy, text: &str) -> Digest {
    let tree = policy.to_json().ok().map(|mut tree| {
        if let Some(members) = tree.as_object_mut() {
            members.remove("annotations");
        }
        tree.to_string()
    });
    Digest::of(tree.as_deref().unwrap_or(text).as_bytes())
}

/// Characters that make a text look otherwise than it is read, also in a comment: what is not seen, and what some editors show as the end of a
/// line while Cedar reads on; and the mark that some editors put before everything.
fn unreadable(name: &str, text: &str) -> Option<PolicyFault> {
    let fault =
        |at: usize, why: String| Some(PolicyFault::Syntax { location: location(name, text, at), why });
    if text.starts_with('\u{feff}') {
        return fault(0, "a byte-order mark: save the file as UTF-8 without one".to_owned());
    }
    let mut following = text.chars().skip(1);
    let mut seen = text.char_indices().map(|(at, c)| (at, c, following.next()));
    let (at, resolved, _) = seen.find(|(_, c, next)| match c {
        '\n' | '\t' => false,
        '\r' => *next != Some('\n'),
        c => is_unseen(*c),
    })?;
    let what = match resolved {
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            "a bidirectional control character"
        }
        '\u{b}' | '\u{c}' | '\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
            "a character that some editors show as a line end, although a comment continues after it"
        }
        _ => "an invisible character",
    };
    fault(at, format!("{what} (U+{:04X}): the display differs from the content", u32::from(resolved)))
}

/// The conditions of a policy.
pub(crate) fn clauses(policy: &Policy) -> Result<Arc<[Clause]>, String> {
    let tree = policy.to_pst().map_err(|e| e.to_string())?;
    Ok(tree.body().clauses().iter().cloned().collect())
}

/// Where `@name` stands in the text of a policy; its beginning if that cannot be told.
pub(crate) fn annotated(text: &str, name: &str) -> usize {
    policy_text::annotation(text, name).unwrap_or_default()
}

/// Line and column of a byte offset.
pub(crate) fn location(file: &str, text: &str, offset: usize) -> Location {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    Location {
        file: file.to_owned(),
        line: before.matches('\n').count() + 1,
        column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
    }
}

/// Where a Cedar diagnostic points at, from where Cedar counts.
pub(crate) fn offset(diagnostic: &dyn Diagnostic) -> Option<usize> {
    Some(diagnostic.labels()?.next()?.offset())
}

/// A Cedar diagnostic as one line, with its help in parentheses.
fn message(diagnostic: &dyn Diagnostic) -> String {
    let help = help(diagnostic).map_or_else(String::new, |help| format!(" ({help})"));
    words(diagnostic) + &help
}

/// A Cedar diagnostic as one line: its message and its label.
pub(crate) fn words(diagnostic: &dyn Diagnostic) -> String {
    let mut out = one_line(&diagnostic.to_string());
    let label = diagnostic.labels().and_then(|mut labels| labels.next());
    if let Some(text) = label.as_ref().and_then(|label| label.label()) {
        out.push_str(", ");
        out.push_str(&one_line(text));
    }
    out
}

/// Cedar's help for a diagnostic, such as `did you mean …?`.
pub(crate) fn help(diagnostic: &dyn Diagnostic) -> Option<String> {
    diagnostic.help().map(|help| one_line(&help.to_string()))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
