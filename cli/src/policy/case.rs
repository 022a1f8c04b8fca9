//! The cases of `policy test`, as files: strict JSON, closed members (docs/how-to/test-policies.md).

use std::path::{Path, PathBuf};

use semgate_inspect::Code;
use semgate_policies::{Approvers, PolicySource};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::fault::{Doing, Fault};
use crate::system::{read_bytes, unreadable};

/// The most bytes of one file of cases: the same as for a policy file of a gateway. Both are written by hand.
const MAX_FILE_BYTES: usize = 1 << 20;

/// One case: a message between two agents, and the expected result.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The purpose of the case, in a line; failures show it.
    pub shows: String,
    /// The verified sender: its id, or the alias of `entities.json`.
    pub sender: String,
    /// The receiver, likewise.
    pub receiver: String,
    /// Direction of the message.
    #[serde(default)]
    pub direction: Exchange,
    /// The name of the binding, such as `l8`.
    #[serde(default = "l8")]
    pub protocol: String,
    /// The protocol version in its own spelling; default: the newest.
    pub binding_version: Option<String>,
    /// The time of the message, in RFC 3339.
    pub time: Option<String>,
    /// A message as sent.
    pub message: Option<Box<RawValue>>,
    /// Credentials of the sender besides its identity: of its certificate (`cert:…`) or of a token (`token:…`), taken as verified.
    #[serde(default)]
    pub sender_shows: Vec<String>,
    /// Credentials of the receiver: in a reply, if it is known.
    #[serde(default)]
    pub receiver_shows: Vec<String>,
    /// End of the lock on the session: RFC 3339. For one concept.
    pub lock_until: Option<String>,
    /// The message as a file, relative to the directory of the case.
    pub message_file: Option<PathBuf>,
    /// The request of a reply: a message as sent, which must pass.
    pub answers: Option<Box<RawValue>>,
    /// Context of one concept in place of a message, such as `payment:v1.1`. Beside a message of MCP, the context that the route pins.
    pub context: Option<String>,
    /// Name of the concept.
    pub concept: Option<String>,
    /// Its performative.
    pub performative: Option<String>,
    /// The instance.
    pub content: Option<Box<RawValue>>,
    /// Permitted steps of the sender in its session before, for `@steps`. For one concept.
    #[serde(default)]
    pub steps: u64,
    /// `permitted`, `denied`, `approval` or the code of a refusal.
    pub expect: String,
    /// With `approval`: who is asked, as `@approvers` writes it.
    pub approvers: Option<String>,
    /// With `approval`: the number of people who must approve.
    pub quorum: Option<u32>,
    /// The exact set of deciding policies; not checked without it.
    pub policies: Option<Vec<String>>,
}

/// The direction of a message, as in policies.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Exchange {
    /// To the upstream agent.
    #[default]
    Request,
    /// Back from it.
    Reply,
}

/// The subject of a complete case.
#[derive(Debug)]
pub enum Subject {
    /// A message as sent, with the request of a reply.
    Message {
        /// The bytes.
        bytes: Vec<u8>,
        /// The bytes of the request, for a reply.
        answers: Option<Vec<u8>>,
        /// The context that the route pins, in short or as URN.
        pinned: Option<String>,
    },
    /// One concept.
    Concept(ConceptSubject),
}

/// One concept in place of a message.
#[derive(Debug)]
pub struct ConceptSubject {
    /// The context, in short or as URN.
    pub context: String,
    /// Its name.
    pub concept: String,
    /// Its performative.
    pub performative: String,
    /// The instance.
    pub content: Vec<u8>,
}

/// The expected result of a message that waits for people.
pub const APPROVAL: &str = "approval";

fn l8() -> String {
    "l8".to_owned()
}

/// The cases of one file.
#[derive(Debug)]
pub struct CaseFile {
    /// The name for display.
    pub name: String,
    /// Its cases, in order.
    pub cases: Vec<(Case, Subject)>,
}

const A_CASE: &str = "give a list of cases, as docs/how-to/test-policies.md describes them";

impl CaseFile {
    /// Reads every `*.json` of a directory, without subdirectories, by name.
    ///
    /// # Errors
    /// The directory or a file cannot be read, a file is malformed, or there is no case at all.
    pub fn read_dir(dir: &Path) -> Result<Vec<Self>, Fault> {
        let reading = |why| unreadable(dir, &why);
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(reading)? {
            let path = entry.map_err(reading)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let hidden = name.starts_with('.');
            if let (false, false, Some(meant)) = (hidden, path.is_dir(), PolicySource::nearly_json(&name)) {
                return Err(Fault::new(format_args!(
                    "the cases in `{}` would not be played",
                    path.display()
                ))
                .hint(format_args!(
                    "did you mean `{meant}`? name a file that is set aside differently, such as `{meant}.bak`"
                )));
            }
            if !hidden && path.extension().is_some_and(|extension| extension == "json") {
                paths.push(path);
            }
        }
        paths.sort();
        let files = paths.iter().map(|path| Self::read(path)).collect::<Result<Vec<_>, _>>()?;
        if files.iter().all(|file| file.cases.is_empty()) {
            return Err(Fault::new(format_args!("`{}` holds no case", dir.display())).hint(
                "name a directory of `*.json`, each a list of cases as docs/how-to/test-policies.md says",
            ));
        }
        Ok(files)
    }

    fn read(path: &Path) -> Result<Self, Fault> {
        let of_file = format!("`{}`", path.display());
        let bytes = read_bytes(path)?;
        if bytes.len() > MAX_FILE_BYTES {
            return Err(Fault::new(format_args!("{of_file}: more than {MAX_FILE_BYTES} bytes"))
                .hint("divide its cases among several files"));
        }
        let read: Vec<Case> = serde_json::from_slice(&bytes).hinted(&of_file, A_CASE)?;
        let dir = path.parent().unwrap_or(Path::new("."));
        let mut cases = Vec::new();
        for case in read {
            let subject =
                case.subject(dir).hinted(format_args!("{of_file}: case `{}`", case.shows), A_CASE)?;
            cases.push((case, subject));
        }
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Ok(Self { name, cases })
    }
}

impl Case {
    /// Checks the expected result.
    fn expects(&self) -> Result<(), String> {
        let expect = self.expect.as_str();
        if !matches!(expect, "permitted" | "denied" | APPROVAL)
            && !Code::ALL.iter().any(|code| code.as_str() == expect)
        {
            return Err(
                "`expect` must be `permitted`, `denied`, `approval` or a code of a refusal".to_owned()
            );
        }
        let asks = [APPROVAL, Code::ApprovalRequired.as_str()].contains(&expect);
        if (self.approvers.is_some() || self.quorum.is_some()) && !asks {
            return Err("`approvers` and `quorum` belong to a case that expects `approval`".to_owned());
        }
        match self.approvers.as_deref().map(Approvers::parse) {
            Some(Err(why)) => Err(format!("`approvers`: {why}")),
            _ => Ok(()),
        }
    }

    fn subject(&self, dir: &Path) -> Result<Subject, String> {
        self.expects()?;
        let message = match (&self.message, &self.message_file) {
            (Some(_), Some(_)) => return Err("give either `message` or `message_file`".to_owned()),
            (Some(raw), None) => Some(raw.get().as_bytes().to_vec()),
            (None, Some(file)) => {
                let path = dir.join(file);
                Some(std::fs::read(&path).map_err(|e| format!("cannot read `{}`: {e}", path.display()))?)
            }
            (None, None) => None,
        };
        let shown = self.sender_shows.iter().chain(&self.receiver_shows);
        if let Some(own) = shown.clone().find(|name| !semgate_policies::is_shown(name)) {
            return Err(format!(
                "no agent shows `{own}`: a shown credential begins with `cert:` or `token:`, and `entities.json` gives the others"
            ));
        }
        let pinned = self.context.as_ref().filter(|_| self.protocol == "mcp");
        let pins = self.context.as_ref().filter(|_| pinned.is_none()).cloned();
        let of_concept = [&pins, &self.concept, &self.performative];
        match message {
            Some(_) if of_concept.iter().any(|member| member.is_some()) || self.content.is_some() => {
                Err("a case is a message, or `context`, `concept`, `performative` and `content`, not both".to_owned())
            }
            Some(_) if self.steps > 0 => {
                Err("`steps` is for one concept: a message is the first step of its session".to_owned())
            }
            Some(_) if self.lock_until.is_some() => {
                Err("`lock_until` is for one concept: handshakes decide whether the lock of a message is valid".to_owned())
            }
            Some(bytes) => {
                let answers = self.answers.as_ref().map(|raw| raw.get().as_bytes().to_vec());
                if answers.is_some() != (self.direction == Exchange::Reply) {
                    return Err("a reply has `answers`, and no other message has it".to_owned());
                }
                Ok(Subject::Message { bytes, answers, pinned: pinned.cloned() })
            }
            None => match (&self.context, &self.concept, &self.performative, &self.content) {
                (Some(context), Some(concept), Some(performative), Some(content)) if self.answers.is_none() => {
                    Ok(Subject::Concept(ConceptSubject {
                        context: context.clone(),
                        concept: concept.clone(),
                        performative: performative.clone(),
                        content: content.get().as_bytes().to_vec(),
                    }))
                }
                _ => Err("a case has `message`, `message_file`, or all of `context`, `concept`, `performative` and `content`".to_owned()),
            },
        }
    }
}
