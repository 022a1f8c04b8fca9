//! Slack: Block Kit. Agent text stands in `plain_text` objects only, which Slack shows as they are.

use serde_json::{Value, json};

use super::card::Card;
use super::click::{Choice, Click};
use super::quote::{Line, lines, short, within};
use crate::{Factor, InteractionKind, Verdict};

/// Characters of a header (Block Kit).
const MAX_HEADER: usize = 150;
/// Characters of a section's text (Block Kit).
const MAX_SECTION: usize = 3_000;
/// Characters of a button's text (Block Kit).
const MAX_BUTTON: usize = 75;
/// Elements of an actions block (Block Kit).
const MAX_ELEMENTS: usize = 25;
/// Bytes of agent text on a card: more would hide the buttons below several screens.
const MAX_AGENT_TEXT: usize = 12_000;

/// The message for a webhook. A card that cannot show the whole action has no button that decides.
pub fn slack(card: &Card) -> Value {
    let (quoted, cut) = within(lines(&card.quotes), MAX_AGENT_TEXT);
    let mut blocks = vec![
        json!({"type": "header", "text": text(card.title, MAX_HEADER)}),
        section(&card.fact_lines().join("\n")),
    ];
    if !quoted.is_empty() {
        blocks.push(json!({"type": "divider"}));
        blocks.extend(sections(&quoted).iter().map(|part| section(part)));
        blocks.push(json!({"type": "divider"}));
    }
    if cut {
        blocks
            .push(section("This card is too small for the whole request. Read all of it before you decide."));
    }
    let elements = elements(card, cut);
    if !elements.is_empty() {
        blocks.push(json!({"type": "actions", "elements": elements}));
    }
    blocks.push(json!({"type": "context", "elements": [text(&card.elsewhere(), MAX_SECTION)]}));
    // the text for notifications and readers of screens
    json!({"text": card.title, "blocks": blocks})
}

fn text(words: &str, most: usize) -> Value {
    json!({"type": "plain_text", "text": short(words, most), "emoji": false})
}

fn section(words: &str) -> Value {
    json!({"type": "section", "text": text(words, MAX_SECTION)})
}

/// Lines joined into texts that fit into a section each.
fn sections(lines: &[Line]) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for line in lines.iter().map(Line::as_str) {
        let units = |text: &str| text.encode_utf16().count();
        match parts.last_mut() {
            Some(part) if units(part).saturating_add(units(line)) < MAX_SECTION => {
                part.push('\n');
                part.push_str(line);
            }
            _ => parts.push(line.to_owned()),
        }
    }
    parts
}

fn elements(card: &Card, cut: bool) -> Vec<Value> {
    let by_click = !cut && card.takes(Factor::Slack);
    let choosing = card.kind == Some(InteractionKind::Clarification);
    // one place is for the denial, one for the link
    let options_fit = card.options.len() <= MAX_ELEMENTS.saturating_sub(2);
    let mut elements = Vec::new();
    if by_click && !card.needs_reason(Verdict::Approved) {
        if choosing && options_fit {
            elements.extend(card.options.iter().enumerate().map(|(n, option)| {
                let label = format!("{}: {}", n.saturating_add(1), super::visible_line(option));
                button(card, Choice::Option(n), &label, None)
            }));
        } else if !choosing {
            elements.push(button(card, Choice::Approve, card.yes(), Some("primary")));
        }
    }
    if by_click && !card.needs_reason(Verdict::Denied) && card.kind != Some(InteractionKind::Notification) {
        elements.push(button(card, Choice::Deny, "Deny", Some("danger")));
    }
    if let Some(page) = &card.page {
        elements.push(json!({
            "type": "button", "action_id": "open", "text": text("Open the request", MAX_BUTTON), "url": page,
        }));
    }
    elements
}

fn button(card: &Card, choice: Choice, label: &str, style: Option<&str>) -> Value {
    let action = match choice {
        Choice::Approve => "approve".to_owned(),
        Choice::Deny => "deny".to_owned(),
        Choice::Option(n) => format!("option-{n}"),
    };
    let click = Click { id: card.id.clone(), digest: card.digest, choice };
    let mut button = json!({
        "type": "button", "action_id": action, "text": text(label, MAX_BUTTON), "value": click.to_string(),
    });
    if let (Some(style), Some(members)) = (style, button.as_object_mut()) {
        members.insert("style".to_owned(), style.into());
    }
    button
}
