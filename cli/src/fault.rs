//! What went wrong, for the person at the terminal: one line, and a `hint:` that says what to do.

use std::fmt::{self, Display};

/// A failed command. Guarantees one line of lower-case text without a final period, and an exit status other than 0.
#[derive(Debug)]
pub struct Fault {
    message: String,
    hint: Option<String>,
    status: u8,
}

/// The exit status of a failure that is neither a refusal (3) nor a wrong use of the command line (2).
pub const FAILED: u8 = 1;
/// The exit status of `say` when the gateway refused the message (WIRE, command line).
pub const REFUSED: u8 = 3;

impl Fault {
    /// A failure with the general exit status 1.
    pub fn new(message: impl Display) -> Self {
        Self { message: one_line(&message.to_string()), hint: None, status: FAILED }
    }

    /// Adds what the person can do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Display) -> Self {
        self.hint = Some(one_line(&hint.to_string()));
        self
    }

    /// Replaces the exit status; 0 stays a failure.
    #[must_use]
    pub fn status(mut self, status: u8) -> Self {
        self.status = status.max(1);
        self
    }

    /// What scripts read with `--json`.
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({"error": self.message, "hint": self.hint})
    }

    /// The exit status, never 0.
    pub fn exit_status(&self) -> u8 {
        self.status
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

/// Ends the program when a result could not be written, unless its reader has gone away.
pub fn written(outcome: std::io::Result<()>) {
    match outcome {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            tell!("error: cannot write the result: {e}");
            std::process::exit(i32::from(FAILED));
        }
        _ => {}
    }
}

/// Adds to an error what was being done when it happened.
pub trait Doing<T> {
    /// Turns any error into a [`Fault`] that begins with `what`.
    fn doing(self, what: impl Display) -> Result<T, Fault>;
}

impl<T, E: Display> Doing<T> for Result<T, E> {
    fn doing(self, what: impl Display) -> Result<T, Fault> {
        self.map_err(|e| Fault::new(format_args!("{what}: {e}")))
    }
}

fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    lines.join("; ")
}
