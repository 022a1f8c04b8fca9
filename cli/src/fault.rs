//! Faults for the person at the terminal: one line, and a `hint:` with the remedy.

use std::fmt::{self, Display};

use serde_json::Value;

/// A failed command. Guarantees one line of lower-case text without a final period, and an exit status other than 0. A comparison and a
/// hint have lines of their own.
#[derive(Debug)]
pub struct Fault {
    message: String,
    hint: Option<String>,
    comparison: Option<Box<Value>>,
    also: Vec<String>,
    findings: Vec<Finding>,
    status: u8,
}

/// One thing that is wrong.
#[derive(Debug, Clone, Default)]
pub struct Finding {
    /// The fault, without payload values.
    pub message: String,
    /// File name, within the subject of the command; empty for the subject itself.
    pub file: String,
    /// Line, from 1; 0 if unknown.
    pub line: usize,
    /// Column in characters, from 1; 0 if unknown.
    pub column: usize,
}

impl Finding {
    /// A finding about the subject itself.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }
}

impl From<semgate_import::ImportFault> for Fault {
    fn from(fault: semgate_import::ImportFault) -> Self {
        let shown = Self::new(&fault.what);
        match fault.hint {
            Some(hint) => shown.hint(hint),
            None => shown,
        }
    }
}

/// The exit status of a failure that is neither a refusal (3) nor a usage error (2).
pub const FAILED: u8 = 1;
/// The exit status of `say` when the gateway refused the message.
pub const REFUSED: u8 = 3;

impl Fault {
    /// A failure with the general exit status 1.
    pub fn new(message: impl Display) -> Self {
        Self {
            message: one_line(&message.to_string()),
            hint: None,
            comparison: None,
            also: Vec::new(),
            findings: Vec::new(),
            status: FAILED,
        }
    }

    /// Adds the remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Display) -> Self {
        self.hint = Some(one_line(&hint.to_string()));
        self
    }

    /// Adds the operation in which the fault occurred; the hint stays.
    #[must_use]
    pub fn within(mut self, what: impl Display) -> Self {
        self.message = format!("{}: {}", one_line(&what.to_string()), self.message);
        self
    }

    /// The fault, in one line.
    pub fn what(&self) -> &str {
        &self.message
    }

    /// Adds the work that was done all the same.
    #[must_use]
    pub fn but(mut self, done: impl Display) -> Self {
        self.message = format!("{}; {}", self.message, one_line(&done.to_string()));
        self
    }

    /// Adds a comparison of two documents: a member of [`Fault::json`], and lines for people.
    #[must_use]
    pub fn comparison(mut self, comparison: Option<&Value>) -> Self {
        self.comparison = comparison.cloned().map(Box::new);
        self
    }

    /// Adds further faults, a line each: the member `also` of [`Fault::json`].
    #[must_use]
    pub fn also(mut self, more: impl Iterator<Item = impl Display>) -> Self {
        self.also.extend(more.map(|one| one_line(&one.to_string())));
        self
    }

    /// Adds another failure with its own further faults, as further faults; its hint only where this one has none.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.also.push(other.message);
        self.also.extend(other.also);
        self.hint = self.hint.or(other.hint);
        self
    }

    /// Adds each fault with its location, for the files of [`FindingFiles`](crate::findings::FindingFiles).
    #[must_use]
    pub fn with_findings(mut self, findings: impl Iterator<Item = Finding>) -> Self {
        self.findings.extend(findings);
        self
    }

    /// Each fault with its location; empty if this is the only one.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Replaces the exit status; 0 stays a failure.
    #[must_use]
    pub fn status(mut self, status: u8) -> Self {
        self.status = status.max(1);
        self
    }

    /// The JSON form for `--json`.
    pub fn json(&self) -> Value {
        let mut report = serde_json::json!({"error": self.message, "hint": self.hint});
        if let Some(members) = report.as_object_mut().filter(|_| !self.also.is_empty()) {
            members.insert("also".to_owned(), serde_json::json!(self.also));
        }
        if let (Some(comparison), Some(members)) = (&self.comparison, report.as_object_mut()) {
            members.insert("comparison".to_owned(), Value::clone(comparison));
        }
        report
    }

    /// The exit status, never 0.
    pub fn exit_status(&self) -> u8 {
        self.status
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        if let Some(comparison) = &self.comparison {
            shown(comparison, f)?;
        }
        self.also.iter().try_for_each(|more| write!(f, "\n  {more}"))?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

/// Ends the program if a result could not be written, unless its reader has gone away.
pub fn written(outcome: std::io::Result<()>) {
    match outcome {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            tell!("error: cannot write the result: {e}");
            std::process::exit(i32::from(FAILED));
        }
        _ => {}
    }
}

/// Adds the operation to an error.
pub trait Doing<T>: Sized {
    /// Turns any error into a [`Fault`] that begins with `what`.
    fn doing(self, what: impl Display) -> Result<T, Fault>;

    /// Does the same, and adds the remedy.
    fn hinted(self, what: impl Display, hint: impl Display) -> Result<T, Fault> {
        self.doing(what).map_err(|fault| fault.hint(hint))
    }
}

impl<T, E: Display> Doing<T> for Result<T, E> {
    fn doing(self, what: impl Display) -> Result<T, Fault> {
        self.map_err(|e| Fault::new(format_args!("{what}: {e}")))
    }
}

/// Prints a comparison as `context diff` does.
fn shown(comparison: &Value, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let text = |of: &Value, name: &str| one_line(of.get(name).and_then(Value::as_str).unwrap_or_default());
    let line = |name: &str| text(comparison, name);
    write!(f, "\n{} -> {}: {}", line("old"), line("new"), line("verdict"))?;
    for part in comparison.get("parts").and_then(Value::as_array).into_iter().flatten() {
        write!(f, "\n  {:<10}  {}: {}", text(part, "verdict"), text(part, "pointer"), text(part, "reason"))?;
    }
    for part in comparison.get("untyped").and_then(Value::as_array).into_iter().flatten() {
        write!(f, "\n  {:<10}  {}: {}", "untyped", text(part, "pointer"), text(part, "what"))?;
    }
    write!(f, "\nnext version: {}", line("next_version"))
}

fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    lines.join("; ")
}
