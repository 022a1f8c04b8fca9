//! The confirmation page: plain HTML without script.

use askama::Template;

use super::card::{Card, Fact};
use super::quote::{Line, lines};
use crate::{InteractionKind, Verdict};

/// The style sheet inside the page. A content security policy permits it by its hash.
pub const STYLE: &str = include_str!("../../templates/page.css");

/// Everything of the page that belongs to one person and one visit.
#[derive(Clone, Copy, Debug)]
pub struct Form<'a> {
    /// Name of the person whom the link belongs to.
    pub person: &'a str,
    /// The answer that the link offers.
    pub verdict: Verdict,
    /// The hidden token of the form, good for one submission.
    pub token: &'a str,
    /// The reason why the last submission changed nothing.
    pub fault: Option<&'a str>,
}

/// A page that only states something.
#[derive(Clone, Copy, Debug, Template)]
#[template(path = "notice.html")]
pub struct Notice<'a> {
    /// The heading.
    pub title: &'a str,
    /// One sentence.
    pub text: &'a str,
}

#[derive(Template)]
#[template(path = "page.html")]
struct Confirmation<'a> {
    card: &'a Card,
    facts: &'a [Fact],
    lines: Vec<Line>,
    form: Form<'a>,
    /// Number and text of each option.
    options: Vec<Choosable>,
    verb: &'a str,
    needs_reason: bool,
}

struct Choosable {
    index: usize,
    text: String,
}

/// The page that asks a person to confirm an answer. It shows the whole request.
///
/// # Errors
/// None in practice: a template that was compiled is written to a string.
pub fn confirmation(card: &Card, form: Form<'_>) -> Result<String, askama::Error> {
    let chooses = form.verdict == Verdict::Approved && card.kind == Some(InteractionKind::Clarification);
    let options = card.options.iter().enumerate().filter(|_| chooses);
    let options = options.map(|(index, text)| Choosable { index, text: super::visible_line(text) }).collect();
    let verb = if form.verdict == Verdict::Approved { card.yes() } else { "Deny" };
    let needs_reason = card.needs_reason(form.verdict);
    let page = Confirmation {
        card,
        facts: &card.facts,
        lines: lines(&card.quotes),
        form,
        options,
        verb,
        needs_reason,
    };
    page.render()
}

/// A page that only states something, such as the end of a request.
///
/// # Errors
/// As [`confirmation`].
pub fn notice(title: &str, text: &str) -> Result<String, askama::Error> {
    Notice { title, text }.render()
}
