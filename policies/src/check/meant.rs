//! What was probably meant by what does not fit the schema.

mod kinds;
mod members;
mod times;
mod written;

use cedar_policy::ValidationError;
use semgate_contexts::Performative;

use super::{Texts, closest};
use crate::catalogue::Catalogue;
use crate::parse::{Written, offset};
use crate::sense::tokens;
pub(super) use kinds::is_of_several;
use kinds::{Found, NO_ORDER, NOT, SEVERAL};
pub(crate) use members::member_elsewhere;
pub(crate) use written::kind;

impl Texts<'_> {
    /// What was probably meant, where we can tell better than Cedar.
    pub(super) fn meant(
        &self,
        written: &Written,
        error: &ValidationError,
        catalogue: &Catalogue,
    ) -> Option<String> {
        let around = self.text_around(written, error);
        elsewhere(error, around, catalogue).or_else(|| meant(error, catalogue))
    }

    /// The text before what a diagnostic points at, and from there on to the end of its file.
    fn text_around(&self, written: &Written, error: &ValidationError) -> (&str, &str) {
        let at = offset(error).map(|at| written.start + at);
        at.and_then(|at| self.file(written).1.split_at_checked(at)).unwrap_or_default()
    }
}

/// What has another name here than elsewhere, or is asked in another way, by the text before and behind the place of the error.
fn elsewhere(error: &ValidationError, (before, own): (&str, &str), catalogue: &Catalogue) -> Option<String> {
    let text = said(error);
    let hint = match error {
        ValidationError::UnsafeAttributeAccess(_) => {
            let (name, of) = text.split_once("attribute `")?.1.split_once('`')?;
            return kind(own, catalogue).or_else(|| member_elsewhere(name, of.trim_start(), catalogue));
        }
        ValidationError::IncompatibleTypes(_) if own.starts_with('!') && text.contains("types Bool and") => {
            NOT
        }
        ValidationError::IncompatibleTypes(_) if text.contains("types String and Action") => {
            "an action is written as in `Action::\"REQUEST\"`"
        }
        ValidationError::IncompatibleTypes(_)
            if text.contains("types Bool and String") && is_beside_one_of(own) =>
        {
            kinds::EACH
        }
        ValidationError::IncompatibleTypes(_) if text.contains("types String and Agent") => {
            "an agent is written `Agent::\"spiffe://…\"`"
        }
        ValidationError::IncompatibleTypes(_) if text.contains("Set<") && is_one_of(own) => SEVERAL,
        ValidationError::IncompatibleTypes(_) if text.contains("Set<") => return written::held(own),
        ValidationError::NonLitExtConstructor(_) if is_of_a_member(own) => {
            "a member is compared as it is: of which type it is, `semgate policy check --schema` prints"
        }
        ValidationError::FunctionArgumentValidation(_) => {
            let literal = text.rsplit('"').nth(1)?;
            return match () {
                () if text.contains("as a duration") => times::duration(literal, of_day(before, own)),
                () if text.contains("as a datetime") => times::datetime(literal),
                () => None,
            };
        }
        ValidationError::IncompatibleTypes(_)
            if text.contains("types Long and String") && adds_texts(own) =>
        {
            NO_ORDER
        }
        ValidationError::UnexpectedType(_) => {
            let (expected, saw) = text.split_once(": expected ")?.1.split_once(" but saw ")?;
            return Found { expected, saw, own, before }.meant();
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

/// Whether a member is compared with a set that is written out.
fn is_one_of(own: &str) -> bool {
    let condition = own.split([';', '&', '|', '}']).next().unwrap_or_default();
    condition.split_once("==").is_some_and(|(_, right)| right.trim_start().starts_with('['))
}

/// Whether a member is compared with several in parentheses, joined as if each were asked.
fn is_beside_one_of(own: &str) -> bool {
    let condition = own.split([';', '}']).next().unwrap_or_default();
    let right = condition.split_once("==").and_then(|(_, right)| right.trim_start().strip_prefix('('));
    right.is_some_and(|right| right.trim_start().starts_with('"'))
}

/// Whether a function is called with a member.
fn is_of_a_member(own: &str) -> bool {
    let words = tokens::all(own.split([';', '}']).next().unwrap_or_default());
    matches!(words.get(1..4), Some([open, variable, point])
        if open.text == "(" && point.text == "." && matches!(variable.text, "resource" | "context" | "principal"))
}

/// Whether this part of a condition asks for the time of day.
fn of_day(before: &str, own: &str) -> bool {
    let ends = [';', '{', '}', '&', '|'];
    let before = before.rsplit(ends).next().unwrap_or_default();
    let own = own.split(ends).next().unwrap_or_default();
    before.contains("toTime") || own.contains("toTime")
}

/// Whether a text is added to something.
fn adds_texts(own: &str) -> bool {
    let words = tokens::all(own.split([';', '&', '|', '}']).next().unwrap_or_default());
    words.windows(3).any(|three| {
        matches!(three, [left, sign, right]
            if sign.text == "+" && (left.text.starts_with('"') || right.text.starts_with('"')))
    })
}

/// What is wrong, without the name of the policy, which may hold any word.
fn said(error: &ValidationError) -> String {
    let text = error.to_string();
    let without = text.strip_prefix("for policy `").and_then(|rest| rest.split_once("`, "));
    without.map_or_else(|| text.clone(), |(_, said)| said.to_owned())
}

fn meant(error: &ValidationError, catalogue: &Catalogue) -> Option<String> {
    let text = said(error);
    let typed = matches!(error, ValidationError::UnexpectedType(_) | ValidationError::IncompatibleTypes(_));
    // a record may have members of both
    let pair = |one: &str, other: &str| !text.contains('{') && text.contains(one) && text.contains(other);
    match error {
        ValidationError::UnrecognizedEntityType(_) => {
            let name = text.split('`').rev().nth(1)?;
            let own = closest(name, ["Agent", "Group", "Action"].into_iter());
            unknown_type(name, catalogue)
                .or_else(|| Some(format!("did you mean `{}`?", own?)))
                .or_else(|| no_type(name, catalogue))
        }
        ValidationError::UnrecognizedActionId(_) => {
            let name = text.split('"').nth(1)?;
            let all = || Performative::ALL.iter().map(|known| known.as_str());
            Some(match closest(name, all()) {
                Some(near) => format!("did you mean `Action::\"{near}\"`?"),
                None => format!(
                    "there are {}",
                    all().map(|one| format!("`{one}`")).collect::<Vec<_>>().join(", ")
                ),
            })
        }
        ValidationError::UnexpectedType(_) | ValidationError::IncompatibleTypes(_)
            if text.contains("decimal") =>
        {
            let decimal = "a decimal is compared as in `resource.amount.greaterThan(decimal(\"10000.0\"))`";
            // where a decimal was looked for and a whole number found, either may be what is wrong
            let is_either =
                text.contains("saw Long") || (text.contains("Long") && !text.contains("saw decimal"));
            let whole = if is_either {
                ", and a whole number as in `resource.quantity > 100`, without a point"
            } else {
                ""
            };
            Some(format!("{decimal}{whole}"))
        }
        _ if typed && text.contains("datetime") && !text.contains("datetime, or ") && !text.contains('{') => {
            Some("a time is written as in `datetime(\"2030-01-01T00:00:00Z\")`".to_owned())
        }
        _ if typed && text.contains("duration") && !text.contains(" or ") && !text.contains('{') => {
            Some("a length of time is written as in `duration(\"8h\")`".to_owned())
        }
        ValidationError::IncompatibleTypes(_) if pair("Bool", "String") => {
            Some("`true` and `false` stand without quotation marks".to_owned())
        }
        ValidationError::IncompatibleTypes(_) if text.contains("Set<") => {
            Some("what is in a set is asked as in `principal.credentials.contains(\"auditor\")`".to_owned())
        }
        ValidationError::IncompatibleTypes(_) if pair("Long", "String") => {
            Some("a text is written in quotation marks, and a number without".to_owned())
        }
        ValidationError::UnexpectedType(_) if pair("Long", "String") => {
            Some("a number is written without quotation marks".to_owned())
        }
        ValidationError::FunctionArgumentValidation(_) if text.contains("decimal") && is_beyond(&text) => {
            Some("a decimal is from `-922337203685477.5808` to `922337203685477.5807`".to_owned())
        }
        ValidationError::FunctionArgumentValidation(_) if text.contains("decimal") => {
            Some("a decimal has one to four digits behind its point, as in `decimal(\"10000.0\")`".to_owned())
        }
        ValidationError::NonLitExtConstructor(_) => Some(
            "it takes a text that is written out in quotation marks, as in `datetime(\"2030-01-01\")`"
                .to_owned(),
        ),
        ValidationError::UnsafeAttributeAccess(_) => {
            hidden(&text, catalogue).or_else(|| is_in_some_versions(&text, catalogue).then(some_versions))
        }
        ValidationError::UnsafeOptionalAttributeAccess(_) if text.contains("`session`") => {
            Some("it is there under a lock only: ask `context has session &&` first".to_owned())
        }
        ValidationError::UnsafeOptionalAttributeAccess(_) => Some(some_versions()),
        _ => None,
    }
}

/// Whether a number that is no decimal has one form, and is merely too large.
fn is_beyond(text: &str) -> bool {
    let number = text.rsplit('"').nth(1).unwrap_or_default();
    let (whole, rest) = number.strip_prefix('-').unwrap_or(number).split_once('.').unwrap_or_default();
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole) && digits(rest) && rest.len() <= 4
}

pub(crate) fn unknown_type(name: &str, catalogue: &Catalogue) -> Option<String> {
    let concept = name.rsplit("::").next()?;
    let same: Vec<String> = catalogue
        .types
        .iter()
        .filter(|info| info.name.rsplit("::").next() == Some(concept))
        .map(|info| format!("`{}`", info.name))
        .collect();
    if !same.is_empty() {
        return Some(format!("`{concept}` is known as {}", same.join(" and ")));
    }
    closest(name, catalogue.types.iter().map(|info| info.name.as_str()))
        .map(|near| format!("did you mean `{near}`?"))
}

/// What was meant by a name that is none of a type, and is near to none.
fn no_type(name: &str, catalogue: &Catalogue) -> Option<String> {
    let within = format!("{name}::");
    let mut of_line = catalogue.types.iter().filter(|info| info.name.starts_with(&within));
    if let Some(info) = of_line.next() {
        return Some(format!(
            "`{name}` is a line: write a type of it, as in `resource is {}`, or leave `resource` open and ask `context.line == \"{}\"`",
            info.name, info.line
        ));
    }
    if name.parse::<Performative>().is_ok() {
        return Some(format!("did you mean `action == Action::\"{name}\"`?"));
    }
    let hint = match name.to_ascii_lowercase().as_str() {
        "null" | "nil" | "none" | "undefined" => kinds::NOTHING,
        "not" => "what is not so is asked as in `!(principal in Group::\"partners\")`",
        // types of a line that is not known come with it
        _ if name.contains("::") => return None,
        _ => super::strangers::of_type(name),
    };
    Some(hint.to_owned())
}

fn some_versions() -> String {
    "not every loaded version requires it: ask `resource has …` first".to_owned()
}

/// Whether a member that Cedar does not find is there, and not in every version. Cedar takes it for absent behind a condition that it has
/// not: in `!(resource has x) || resource.x`.
fn is_in_some_versions(text: &str, catalogue: &Catalogue) -> bool {
    let of = |info: &crate::catalogue::TypeInfo| {
        let lacks = |member: &str| {
            text.contains(&format!("attribute `{member}` on entity type `{}` not found", info.name))
        };
        info.attributes.members.iter().any(|(member, found)| found.kind.is_some() && lacks(member))
    };
    catalogue.types.iter().any(of)
}

/// A member that is there, but that no policy sees.
fn hidden(text: &str, catalogue: &Catalogue) -> Option<String> {
    let member = text.split('`').nth(1)?;
    let hides = |info: &crate::catalogue::TypeInfo| {
        text.contains(&info.name) && info.attributes.members.get(member).is_some_and(|a| a.kind.is_none())
    };
    catalogue.types.iter().any(hides).then(|| {
        format!(
            "`{member}` is not visible to policies: a number needs a `multipleOf` that is a multiple of 0.0001, and any other member one type"
        )
    })
}
