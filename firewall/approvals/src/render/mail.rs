//! Mail: a text part and an HTML part with the same content. The HTML loads nothing.

use std::fmt::Write;

use askama::Template;

use super::card::{Card, Fact, Links};
use super::quote::{Line, lines, within};
use crate::InteractionKind;

/// Bytes of agent text in a mail: some mailboxes cut longer messages, and the page shows all of it.
const MAX_AGENT_TEXT: usize = 32_000;

/// The content of a mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// One line without agent text.
    pub subject: String,
    /// The text part.
    pub text: String,
    /// The HTML part.
    pub html: String,
}

#[derive(Template)]
#[template(path = "mail.html")]
struct Page<'a> {
    card: &'a Card,
    facts: &'a [Fact],
    lines: &'a [Line],
    cut: bool,
    yes: &'a str,
    approve: Option<&'a str>,
    deny: Option<&'a str>,
    elsewhere: String,
}

/// Renders a card with the links of one person.
///
/// # Errors
/// None in practice: a template that was compiled is written to a string.
pub fn mail(card: &Card, links: &Links) -> Result<Mail, askama::Error> {
    let (quoted, cut) = within(lines(&card.quotes), MAX_AGENT_TEXT);
    let deny = links.deny.as_deref().filter(|_| card.kind != Some(InteractionKind::Notification));
    let page = Page {
        card,
        facts: &card.facts,
        lines: &quoted,
        cut,
        yes: card.yes(),
        approve: links.approve.as_deref(),
        deny,
        elsewhere: card.elsewhere(),
    };
    let html = page.render()?;
    Ok(Mail { subject: format!("{} ({})", card.title, card.id), text: text(&page), html })
}

fn text(page: &Page<'_>) -> String {
    let mut text = format!("{}\n\n{}\n", page.card.title, page.card.fact_lines().join("\n"));
    // writing to a string does not fail
    for line in page.lines {
        let _ = match line {
            Line::Label(words) => write!(text, "\n{words}\n"),
            Line::Agent(words) => writeln!(text, "{words}"),
        };
    }
    if page.cut {
        text.push_str("\nThis mail is too small for the whole request. Read all of it before you decide.\n");
    }
    for (word, link) in [(page.yes, page.approve), ("Deny", page.deny)] {
        if let Some(link) = link {
            let _ = write!(text, "\n{word}: {link}\n");
        }
    }
    if page.approve.or(page.deny).is_some() {
        text.push_str("\nA link opens a page that asks you again. It works once and only for you.\n");
    }
    let _ = write!(text, "\n{}\n", page.elsewhere);
    text
}
