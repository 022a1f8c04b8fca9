//! Suggestions of the name that was probably meant.

/// The nearest of the known names: at most a third of the letters differ, or their case alone.
pub fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |candidate: &str| match candidate.eq_ignore_ascii_case(name) {
        true => 0,
        false => strsim::osa_distance(name, candidate),
    };
    known
        .map(|candidate| (distance(candidate), candidate))
        .min()
        .filter(|(distance, _)| *distance * 3 <= name.chars().count())
        .map(|(_, candidate)| candidate)
}

/// The question ``did you mean `NAME`?`` for the nearest of the known names.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    closest(name, known).map(|near| format!("did you mean `{near}`?"))
}

/// Returns true unless a help text of Cedar suggests a name that is not near: Cedar suggests the least distant name, however far it is.
pub(crate) fn is_near(message: &str, help: &str) -> bool {
    if !help.starts_with("did you mean") {
        return true;
    }
    let quoted = |text: &str| text.split('`').nth(1).map(str::to_owned);
    let wrong = message.split_once("attribute ").and_then(|(_, rest)| quoted(rest));
    match (wrong, quoted(help)) {
        (Some(wrong), Some(near)) => closest(&wrong, std::iter::once(near.as_str())).is_some(),
        // of unknown types and actions Cedar suggests another name at each run
        _ => !message.starts_with("unrecognized"),
    }
}

#[cfg(test)]
mod tests;
