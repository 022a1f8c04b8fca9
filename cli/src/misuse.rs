//! Invalid arguments, reported as every other error: one line, names in backticks, and a hint.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::fault::Fault;

/// The exit status of a usage error.
pub const MISUSED: u8 = 2;

/// The fault in the arguments; none if help or the version was requested, or help is the answer.
pub fn fault(error: &clap::Error) -> Option<Fault> {
    let of = |kind| error.get(kind).map(names).unwrap_or_default();
    let (arg, value) = (of(ContextKind::InvalidArg), of(ContextKind::InvalidValue));
    let message = match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => return None,
        ErrorKind::UnknownArgument => format!("no argument {arg} is known here"),
        ErrorKind::InvalidSubcommand => {
            format!("there is no command {}", of(ContextKind::InvalidSubcommand))
        }
        ErrorKind::MissingSubcommand => "a command is missing".to_owned(),
        ErrorKind::MissingRequiredArgument => format!("missing: {arg}"),
        ErrorKind::ArgumentConflict => {
            let prior = of(ContextKind::PriorArg);
            match prior.is_empty() || prior == arg {
                true => format!("{arg} is given more than once"),
                false => format!("{arg} cannot be used with {prior}"),
            }
        }
        ErrorKind::InvalidValue if value == "``" || value.is_empty() => format!("{arg} has no value"),
        ErrorKind::InvalidValue => format!("{value} is not a value of {arg}"),
        ErrorKind::ValueValidation => match std::error::Error::source(error) {
            Some(why) => format!("{value} is not a value of {arg}: {why}"),
            None => format!("{value} is not a value of {arg}"),
        },
        ErrorKind::TooManyValues => format!("{value} is one value too many of {arg}"),
        ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            format!("{arg} has too few values, or too many")
        }
        ErrorKind::NoEquals => format!("{arg} takes its value after `=`"),
        ErrorKind::InvalidUtf8 => "a word of the command line is not UTF-8".to_owned(),
        _ => error.kind().to_string(),
    };
    let meant = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    let meant = meant.into_iter().map(of).find(|names| !names.is_empty());
    let (possible, commands) = (of(ContextKind::ValidValue), of(ContextKind::ValidSubcommand));
    let hint = match (meant, possible, commands) {
        (Some(meant), ..) => format!("did you mean {meant}? `--help` lists all"),
        (None, possible, _) if !possible.is_empty() => format!("one of {possible}"),
        (None, _, commands) if !commands.is_empty() => format!("one of {commands}"),
        _ => "the same with `--help` shows its arguments".to_owned(),
    };
    Some(Fault::new(message).hint(hint).status(MISUSED))
}

/// Names in backticks.
fn names(value: &ContextValue) -> String {
    let quoted = |text: &String| format!("`{text}`");
    match value {
        ContextValue::String(one) => quoted(one),
        ContextValue::Strings(all) => {
            let shown = all.iter().filter(|one| !one.is_empty());
            shown.map(quoted).collect::<Vec<_>>().join(", ")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
