//! What is wrong with a policy that could do nothing, in words, with its place in the text.

use std::collections::BTreeSet;

use cedar_policy::pst::{Clause, Expr};
use semgate_contexts::Version;

use super::facts::Where;
use super::never::{self, Never, before};
use super::pieces::Begin;
use super::why::Why;
use super::{World, pieces, tokens};
use crate::check::{Texts, closest, kind, member_elsewhere};
use crate::credentials::{is_left_out, is_shown};
use crate::parse::{Written, annotated, place};
use crate::{Place, PolicyFault};

/// Values that a hint lists; of more it names the nearest.
const MAX_LISTED: usize = 16;

impl Texts<'_> {
    pub(super) fn idle(&self, written: &Written, idle: &pieces::Idle<'_>) -> PolicyFault {
        let shown = pieces::shown(idle.piece);
        let (why, hint) = if idle.always {
            (
                format!("`{shown}` is true for every message"),
                "what is true of every message asks for nothing: leave it out".to_owned(),
            )
        } else {
            let hint = "a part that is never true does nothing: leave it out, or say what was meant";
            let because = idle.because.as_ref().map_or_else(String::new, |why| format!("{why}; "));
            (format!("`{shown}` is true for no message that comes to it"), format!("{because}{hint}"))
        };
        PolicyFault::Invalid {
            place: self.place_of_piece(written, pieces::begin(idle.piece)),
            policy: written.id.to_string(),
            why,
            hint: Some(hint),
        }
    }

    /// Where a variable of the conditions stands.
    pub(super) fn place_of_variable(&self, written: &Written, variable: Option<*const Expr>) -> Place {
        self.place_of_piece(written, variable.map(|variable| Begin { variable, word: None }))
    }

    /// Where a piece of the conditions begins.
    pub(super) fn place_of_piece(&self, written: &Written, begin: Option<Begin>) -> Place {
        let mut all = Vec::new();
        for clause in written.judged.iter() {
            let (Clause::When(condition) | Clause::Unless(condition)) = clause;
            pieces::variables(condition, &mut all);
        }
        let number = |begin: Begin| all.iter().position(|other| std::ptr::eq(*other, begin.variable));
        let words = self.words(written);
        let at = begin.and_then(|begin| {
            let variable = tokens::variables(&words).get(number(begin)?).copied()?;
            Some(begin.word.and_then(|word| tokens::before(&words, variable, word)).unwrap_or(variable))
        });
        match at {
            Some(at) => self.place_at(written, at),
            None => self.place_of_clause(written, Some(0)),
        }
    }

    /// Conditions that are true for no message: which of them, and why.
    pub(super) fn never_true(
        &self,
        written: &Written,
        clause: Option<usize>,
        why: Option<Why>,
        behind: Option<String>,
    ) -> PolicyFault {
        let place = match why.as_ref().and_then(|why| why.at) {
            Some(at) => self.place_of_piece(written, Some(at)),
            None => self.place_of_clause(written, clause),
        };
        let what = if clause.is_some() { "condition is" } else { "conditions together are" };
        let hint = [why.map(|why| why.text), behind].into_iter().flatten().collect::<Vec<_>>().join("; ");
        PolicyFault::Invalid {
            place,
            policy: written.id.to_string(),
            why: format!("its {what} true for no message"),
            hint: (!hint.is_empty()).then_some(hint),
        }
    }

    /// What a policy that is true for no message may have been meant for, and is not there.
    pub(super) fn behind(&self, written: &Written, here: &Where, world: &World<'_>) -> Option<String> {
        let context = &written.reads.context;
        let prose = context.wants("free_text") || context.wants("scores");
        if let Some(name) = prose.then(|| world.never_prose(here)).flatten() {
            return Some(format!(
                "no version of `{name}` has a member that is marked `x-free-text`, and beside it stands no text"
            ));
        }
        let line = &world.catalogue.types.get(here.of_type?)?.line;
        let left = world.catalogue.left_out.iter().find(|left| left.urn.line() == line)?;
        Some(format!("`{}` is left out, as it does not fit beside the policies", left.urn))
    }

    /// A refused reply tells its caller nothing of why, so nobody reads such a notice.
    pub(super) fn notice_of_replies(&self, written: &Written) -> PolicyFault {
        PolicyFault::Invalid {
            place: self.place_at(written, annotated(self.text(written), "notice")),
            policy: written.id.to_string(),
            why: "`@notice` is never shown: this policy decides replies only, and of a refused reply its caller learns no reason"
                .to_owned(),
            hint: Some("leave it out, or let the policy decide requests too".to_owned()),
        }
    }

    pub(super) fn below_floor(
        &self,
        written: &Written,
        of_type: usize,
        (asked, floor): (&[Version], Version),
        world: &World<'_>,
    ) -> PolicyFault {
        let line = world.catalogue.types.get(of_type).map_or("", |info| info.line.as_str());
        let asked: Vec<String> = asked.iter().map(|version| format!("`{version}`")).collect();
        let at = ["major", "minor"]
            .into_iter()
            .find_map(|member| self.offset_of(written, &["context", ".", member]));
        PolicyFault::BelowFloor {
            place: self.place_at(written, at.unwrap_or_default()),
            policy: written.id.to_string(),
            why: format!(
                "of `{line}` it can match {} only, and the floor lets nothing below `{floor}` through",
                asked.join(", ")
            ),
        }
    }

    pub(super) fn never(&self, written: &Written, never: Never, world: &World<'_>) -> PolicyFault {
        let literal = |literal: &never::Literally| self.place_of_text(written, literal);
        let (place, why, hint) = match never {
            Never::Text { member, literal: text, values } => {
                let folded =
                    values.iter().map(String::as_str).find(|value| value.eq_ignore_ascii_case(&text.text));
                let near = folded.or_else(|| closest(&text.text, values.iter().map(String::as_str)));
                let hint = match near {
                    Some(near) => format!("did you mean `{near:?}`?"),
                    None => format!("it is {}", listed(&values)),
                };
                (literal(&text), format!("`{member}` is never `{:?}`", text.text), hint)
            }
            Never::Form { member, literal: text, asks } => {
                (literal(&text), format!("`{member}` is never `{:?}`", text.text), asks)
            }
            Never::Between { member, literal: text, days } => {
                let day = text.text.get(..10).unwrap_or_default();
                let hint = match days {
                    true => format!("it is a day, and so its midnight in UTC: `datetime(\"{day}\")`"),
                    false => "it is in whole seconds".to_owned(),
                };
                (literal(&text), format!("`{member}` is never `{}`", text.text), hint)
            }
            Never::Number { member, literal, places, numbers } => {
                let names: Vec<&str> = member.split('.').collect();
                let words: Vec<&str> = names.iter().flat_map(|name| [".", name]).skip(1).collect();
                let place = self.place_of_words(written, &words);
                let number = crate::numbers::Shown { number: literal, places };
                (place, format!("`{member}` is never `{number}`"), numbers.described(places))
            }
            Never::Range { member, literal: text, is_set: false } => {
                let hint =
                    format!("it is one address: did you mean `{member}.isInRange(ip(\"{}\"))`?", text.text);
                (literal(&text), format!("`{member}` is never `{}`, a range", text.text), hint)
            }
            Never::Range { member, literal: text, is_set: true } => {
                let why = format!("`{member}` never holds `{}`, a range", text.text);
                (literal(&text), why, "each item is one address, and only that is found".to_owned())
            }
            Never::Credential { literal: text } => {
                let plain: String = text.text.split_whitespace().collect();
                let blank = (plain != text.text && world.held(&plain)).then_some(plain.as_str());
                let near = blank.or_else(|| closest(&text.text, world.credentials()));
                let hint = near.map_or_else(
                    || {
                        if is_left_out(&text.text) {
                            return "usages of RFC 5280 and of Semgate, and anyPolicy, are never credentials".to_owned();
                        }
                        if is_shown(&text.text) {
                            return "what agents show is named `cert:eku:OID`, `cert:policy:OID` or `token:ISSUER:NAME`"
                                .to_owned();
                        }
                        "a credential is there once an agent has it, or the list `credentials` names it"
                            .to_owned()
                    },
                    |near| format!("did you mean `\"{near}\"`?"),
                );
                (literal(&text), format!("nobody has the credential `{}`", text.text), hint)
            }
            Never::TrustDomain { member, text, meant, at } => {
                let form = "a trust domain is what stands between `spiffe://` and the next `/`";
                let hint = match meant {
                    Some(meant) => format!("{form}: did you mean `\"{meant}\"`?"),
                    None => format!("{form}: lower-case letters, digits, `.`, `_` and `-`"),
                };
                (self.place_of_variable(written, Some(at)), format!("`{member}` is never `\"{text}\"`"), hint)
            }
            Never::Unknown { member, of, near, at } => {
                let why = format!("attribute `{member}` {of} not found");
                let place = self.place_of_variable(written, Some(at));
                let quoted = format!("\"{member}\"");
                let behind = |words: &[&str]| self.offset_of(written, words);
                let is_has = behind(&["has", &member]).or_else(|| behind(&["has", &quoted])).is_some();
                // what a sender has, or where one belongs, is no member
                let other = near.as_deref().is_some_and(|near| near.ends_with("`trust_domain`?"));
                let has = (is_has && !other && of.ends_with("entity type `Agent`")).then(|| {
                    let named =
                        if matches!(member.as_str(), "credential" | "credentials") { "auditor" } else { &member };
                    format!(
                        "a credential is asked as in `principal.credentials.contains(\"{named}\")`, and a group as in `principal in Group::\"partners\"`"
                    )
                });
                let own = behind(&["resource", ".", &member]).and_then(|at| self.text(written).get(at..));
                let kind = own.and_then(|own| kind(own, world.catalogue));
                let elsewhere = || member_elsewhere(&member, &of, world.catalogue);
                let hint = kind.or_else(elsewhere).or(has).or(near);
                return PolicyFault::Invalid { place, policy: written.id.to_string(), why, hint };
            }
            Never::Hidden { member, of_type } => {
                let name = world.catalogue.types.get(of_type).map_or("", |info| &info.name);
                let at = [["has", &member], [".", &member]]
                    .into_iter()
                    .find_map(|words| Some(self.offset_of(written, &words)? + words[0].len()));
                let why = format!("`{member}` of `{name}` is not visible to policies");
                let hint = "a number needs a `multipleOf` that is a multiple of 0.0001, and any other member one type";
                (self.place_at(written, self.blank(written, at.unwrap_or_default())), why, hint.to_owned())
            }
        };
        PolicyFault::Invalid { place, policy: written.id.to_string(), why, hint: Some(hint) }
    }

    /// Past the blanks at an offset.
    fn blank(&self, written: &Written, at: usize) -> usize {
        let rest = self.text(written).get(at..).unwrap_or_default();
        at + (rest.len() - rest.trim_start().len())
    }

    pub(crate) fn text(&self, written: &Written) -> &str {
        self.file(written).1.get(written.start..).unwrap_or_default()
    }

    pub(crate) fn words(&self, written: &Written) -> Vec<tokens::Token<'_>> {
        tokens::of(self.text(written))
    }

    fn offset_of(&self, written: &Written, words: &[&str]) -> Option<usize> {
        tokens::sequence(&self.words(written), words)
    }

    pub(crate) fn place_of_words(&self, written: &Written, words: &[&str]) -> Place {
        self.place_at(written, self.offset_of(written, words).unwrap_or_default())
    }

    pub(super) fn place_of_text(&self, written: &Written, text: &never::Literally) -> Place {
        let at = tokens::literal(&self.words(written), &text.text, before(&written.judged, text));
        self.place_at(written, at.unwrap_or_default())
    }

    pub(super) fn place_of_clause(&self, written: &Written, clause: Option<usize>) -> Place {
        let all = tokens::clauses(&self.words(written));
        self.place_at(written, clause.and_then(|at| all.get(at)).copied().unwrap_or_default())
    }

    pub(crate) fn place_at(&self, written: &Written, within: usize) -> Place {
        let (file, text) = self.file(written);
        place(file, text, written.start + within)
    }
}

/// The values that a text can have, with what is not seen by its codes: whoever publishes a context writes them, and what is told is one line.
pub(super) fn listed(values: &BTreeSet<String>) -> String {
    if values.len() > MAX_LISTED {
        return format!("one of {} values", values.len());
    }
    let listed: Vec<String> = values.iter().map(|value| format!("`{value:?}`")).collect();
    format!("one of {}", listed.join(", "))
}
