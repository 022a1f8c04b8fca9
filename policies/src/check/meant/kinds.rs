//! What was meant where a value is of another type than is asked for, by what the place of the fault has before and behind it.

use super::written;
use crate::sense::tokens;
use crate::slips::{NO_WEEKDAY, is_weekday};

/// How a text is held against several.
pub(super) const SEVERAL: &str =
    "whether a text is one of several is asked as in `[\"EUR\", \"USD\"].contains(resource.currency)`";
/// How a set is asked.
const HOLDS: &str = "what is in a set is asked as in `principal.credentials.contains(\"auditor\")`";
/// What texts lack.
pub(super) const NO_ORDER: &str =
    "texts have no order and no sum: they are compared by `==`, `!=` and `like`";
/// What times have instead of signs.
const MOVED: &str = "times have no `+`, `-` and `*`: one is moved as in `context.now.offset(duration(\"1h\"))`, and what lies between two is asked as in `context.now.durationSince(datetime(\"2030-01-01\")) > duration(\"1h\")`";
/// What `!` is said of.
pub(super) const NOT: &str = "`!` stands before parentheses, as in `!(resource.currency == \"EUR\")`";
/// What is asked of one of several.
pub(super) const EACH: &str =
    "each side is asked by itself, as in `resource.currency == \"EUR\" || resource.currency == \"USD\"`";
/// What is not there.
pub(super) const NOTHING: &str =
    "what is not there is nothing at all: it is asked as in `!(resource has memo)`";
const LISTED: &str = "several stand with commas, as in `action in [Action::\"QUERY\", Action::\"REQUEST\"]`";
const AGENT: &str = "an agent is written `Agent::\"spiffe://…\"`";

const NOT_IN: &str = "`!` stands before parentheses, as in `!(principal in Group::\"partners\")`";

/// Whether a hint is about several that are joined, each of which is found by itself.
pub(in crate::check) fn is_of_several(hint: &str) -> bool {
    hint == EACH || hint == LISTED
}

/// Bytes of a condition that are looked at.
const MAX_LOOK: usize = 400;

/// What is asked for at a place and what was found there, in Cedar's words, and the text there.
pub(super) struct Found<'t> {
    pub expected: &'t str,
    pub saw: &'t str,
    /// From the place on.
    pub own: &'t str,
    /// Up to it.
    pub before: &'t str,
}

impl Found<'_> {
    /// What was probably meant.
    pub fn meant(&self) -> Option<String> {
        let behind = self.behind();
        let behind: Vec<&str> = behind.iter().map(String::as_str).collect();
        let hint = match (self.expected, self.saw) {
            (expected, saw) if expected.contains("OpenRecord") => {
                let held = written::held(self.own).filter(|_| saw.starts_with("Set<"));
                return Some(held.unwrap_or_else(|| no_members(saw, self.own)));
            }
            (expected, saw) if expected.starts_with("Set<") && expected.contains("AnyEntity") => {
                return self.right_of_in(saw);
            }
            (expected, "Bool") if expected.contains("AnyEntity") && self.own.starts_with('!') => {
                return Some(written::held(self.own).unwrap_or_else(|| NOT_IN.to_owned()));
            }
            (expected, saw) if expected.contains("AnyEntity") => return left_of(&behind, saw, self.own),
            ("Set<__cedar::internal::Any>", "String") => {
                "what a text holds is asked as in `resource.memo like \"*abc*\"`"
            }
            ("Set<__cedar::internal::Any>", "Group") => return Some(written::group(self.before, self.own)),
            ("String", "Bool") if self.own.starts_with('!') => {
                "`!` stands before parentheses, as in `!(resource.memo like \"*abc*\")`"
            }
            (expected, "Bool") if expected.contains("Long") && self.own.starts_with('!') => {
                "`!` stands before parentheses, as in `!(context.major >= 2)`"
            }
            ("duration", "String") => {
                let text = self.own.strip_prefix('"').and_then(|own| own.split('"').next())?;
                return super::times::duration(text, super::of_day(self.before, self.own));
            }
            ("String", saw) if behind.first() == Some(&"like") => {
                if saw.starts_with("Set<") {
                    HOLDS
                } else {
                    "texts alone are held against a pattern; what else there is is compared by `==`, `<` and the like"
                }
            }
            ("String", _) => return self.argument(),
            ("Bool", "String")
                if self.own.starts_with('"') && self.before.trim_end().ends_with(['|', '&']) =>
            {
                EACH
            }
            ("Bool", "String") if self.before.ends_with('!') => NOT,
            ("Bool", "Long") if self.before.ends_with('!') => NOT,
            ("Bool", "String") if self.own.starts_with('"') && self.before.trim_end().ends_with('(') => EACH,
            ("Bool", "Long")
                if self.before.trim_end().ends_with('|')
                    && self.own.starts_with(|first: char| first.is_ascii_digit()) =>
            {
                "each side is asked by itself, as in `context.major == 1 || context.major == 2`"
            }
            ("Bool", "Action") if self.is_listed() => LISTED,
            ("Bool", "Action") if self.before.trim_end().ends_with('|') => {
                "several stand in brackets, as in `action in [Action::\"QUERY\", Action::\"REQUEST\"]`"
            }
            ("Bool", "Group") if self.before.trim_end().ends_with('|') => {
                "each side is asked by itself, as in `principal in Group::\"partners\" || principal in Group::\"planners\"`"
            }
            ("Bool", "Agent") if self.before.trim_end().ends_with('|') => {
                "each side is asked by itself, as in `principal == Agent::\"spiffe://…\" || principal == Agent::\"spiffe://…\"`"
            }
            ("Bool", "String") => "a text is asked about as in `resource.currency == \"EUR\"`",
            ("Bool", "Long") => "a number is asked about as in `context.major == 2`",
            ("Bool", saw) if saw.starts_with("Set<") => HOLDS,
            ("Long", "String") | ("datetime, or duration, or Long", "String")
                if !self.own.starts_with('"') =>
            {
                NO_ORDER
            }
            ("Long", "String") if behind.first() == Some(&"+") || self.before.trim_end().ends_with('+') => {
                NO_ORDER
            }
            ("Long", "datetime" | "duration") if self.moves() => MOVED,
            ("duration", "datetime") => {
                "that is asked of a length of time; the time of day of a time is one: `context.now.toTime()`"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// The words behind the first thing that stands at the place: a member with what is called of it, a text, or a list.
    fn behind(&self) -> Vec<String> {
        let own = self.own.split(';').next().unwrap_or_default();
        let own = own.get(..MAX_LOOK).unwrap_or(own);
        let mut depth = 0_usize;
        let mut words = Vec::new();
        for token in tokens::all(own) {
            let asks = matches!(
                token.text,
                "in" | "is" | "has" | "like" | "=" | "!" | "<" | ">" | "&" | "|" | "+" | "-"
            );
            match token.text {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" if depth == 0 => break,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            if !words.is_empty() || (asks && depth == 0 && token.at > 0) {
                words.push(token.text.to_owned());
            }
        }
        words
    }

    /// Whether the place is in a list of actions that is written out.
    fn is_listed(&self) -> bool {
        let part = self.before.rsplit([';', '{', '}', ']']).next().unwrap_or_default();
        part.rsplit_once('[').is_some_and(|(before, _)| before.trim_end().ends_with(" in"))
    }

    /// What stands behind `in`.
    fn right_of_in(&self, saw: &str) -> Option<String> {
        let before = self.before.trim_end();
        let asks = |variable: &str| {
            before.strip_suffix("in").map(str::trim_end).is_some_and(|before| before.ends_with(variable))
        };
        let hint = match saw {
            "Set<String>" if asks("action") => "an action is written as in `Action::\"REQUEST\"`",
            "Set<String>" if asks("principal") || asks("receiver") => {
                "a group is written as in `Group::\"partners\"`"
            }
            "Set<String>" if self.own.starts_with('[') => SEVERAL,
            "Set<Long>" if self.own.starts_with('[') => NUMBERS,
            "Set<Bool>" if self.own.starts_with('[') && asks("action") => LISTED,
            saw if self.own.starts_with('[') && saw.starts_with("Set<") => return None,
            saw if saw.starts_with("Set<") => HOLDS,
            "String" => match self.own.strip_prefix('"').and_then(|own| own.split_once('"')) {
                Some((name, _)) if name.contains("://") => AGENT,
                Some((name, _)) if asks("action") => {
                    return Some(format!("an action is written as in `Action::\"{name}\"`"));
                }
                Some((name, _)) if asks("principal") || asks("receiver") => {
                    return Some(format!("a group is written as in `Group::\"{name}\"`"));
                }
                Some(_) if asks("credentials") => HOLDS,
                _ => "`in` asks whether somebody is in a group; values are compared by `==`",
            },
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// Whether the part of the condition around adds, takes off or multiplies something else than two numbers, as in `2030-01-01`.
    fn moves(&self) -> bool {
        let ends = [';', '{', '}', '&', '|'];
        let before = self.before.rsplit(ends).next().unwrap_or_default();
        let own = self.own.split(ends).next().unwrap_or_default();
        let part = format!("{before}{own}");
        let words = tokens::all(&part);
        let number = |word: &str| word.starts_with(|first: char| first.is_ascii_digit());
        words.windows(3).any(|three| {
            matches!(three, [left, sign, right]
                if matches!(sign.text, "+" | "-" | "*") && !(number(left.text) && number(right.text)))
        })
    }

    /// What a function takes.
    fn argument(&self) -> Option<String> {
        let before = self.before.trim_end();
        let of =
            |name: &str| before.strip_suffix('(').is_some_and(|before| before.trim_end().ends_with(name));
        let example = match () {
            () if of("datetime") => "datetime(\"2030-01-01\")",
            () if of("duration") => "duration(\"8h\")",
            () if of("decimal") => "decimal(\"10000.0\")",
            () if of("ip") => "ip(\"10.0.0.0/8\")",
            () => return None,
        };
        Some(format!("it stands in quotation marks, as in `{example}`"))
    }
}

const NUMBERS: &str = "whether a number is one of several is asked as in `[1, 2].contains(context.major)`";

/// Of a value that stands before `in` or `is`.
fn left_of(behind: &[&str], saw: &str, own: &str) -> Option<String> {
    if let Some(meant) = written::held(own).filter(|_| matches!(behind, ["in", ..])) {
        return Some(meant);
    }
    let hint = match (behind, saw) {
        (["is", "null" | "nil" | "None" | "undefined", ..], _) => NOTHING,
        (["is", ..], _) => "`is` asks what an entity is; values are compared by `==`",
        (["in", "[", ..], "String") => SEVERAL,
        (["in", "[", ..], "Long") => NUMBERS,
        (["in", ..], "String") if own.starts_with('"') => {
            "what is in a set is asked as in `principal.credentials.contains(\"auditor\")`, and what a text holds as in `resource.memo like \"*abc*\"`"
        }
        (["in", ..], saw) if saw.starts_with("Set<") => HOLDS,
        (["in", ..], _) => {
            "`in` asks whether somebody is in a group, as in `principal in Group::\"partners\"`"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

/// Whether a day of the week is asked of what stands at a place.
fn is_of_week(own: &str) -> bool {
    let words = tokens::all(own.split([';', '&', '|', '}']).next().unwrap_or_default());
    words.windows(2).any(|two| matches!(two, [point, name] if point.text == "." && is_weekday(name.text)))
}

/// Of what is no record.
fn no_members(saw: &str, own: &str) -> String {
    let what = match saw {
        saw if saw.starts_with("Set<") => {
            "a set has no members: it is asked with `contains`, `containsAny`, `containsAll` and `isEmpty`"
        }
        "Bool" if own.starts_with('!') => "`!` stands before parentheses, as in `!(resource has memo)`",
        "String" => "a text has no members: it is compared by `==` and `like`",
        "Long" => "a number has no members: it is compared by `==`, `<` and the like",
        "decimal" => {
            "a decimal has no members: it is compared as in `resource.amount.greaterThan(decimal(\"10000.0\"))`"
        }
        "datetime" if is_of_week(own) => NO_WEEKDAY,
        "datetime" => {
            "a time has no members: its day is asked as in `context.now.toDate()`, its time of day as in `context.now.toTime()`, in UTC"
        }
        "duration" => {
            "a length of time has no members: it is asked as in `context.now.toTime() < duration(\"8h\")`"
        }
        _ => "this has no members",
    };
    what.to_owned()
}
