//! What an operator reads: log, status, checks and certificates. Each test is named after the fault that it keeps away.

#[path = "operator/terminal.rs"]
mod terminal;
