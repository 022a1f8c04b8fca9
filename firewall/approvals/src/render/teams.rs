//! Teams: an Adaptive Card 1.5.
//!
//! Every text stands in a `TextRun`, which has no Markdown. Buttons open a link: a card that a webhook delivers cannot carry
//! `Action.Execute`, since no registered bot would get the click.

use serde_json::{Value, json};

use super::card::{Card, Links};
use super::quote::{Line, lines, within};
use crate::{InteractionKind, Verdict};

/// Bytes of agent text: Teams refuses messages above 28 KB, and each line takes about as much again for its element.
const MAX_AGENT_TEXT: usize = 5_000;
/// Lines of agent text, for the same reason.
const MAX_LINES: usize = 80;
/// Longest URL of a card. Longer ones are left out.
const MAX_URL: usize = 2_000;

/// The message for a webhook: one attachment.
pub fn teams(card: &Card, links: &Links) -> Value {
    json!({
        "type": "message",
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "contentUrl": null,
            "content": content(card, links),
        }],
    })
}

fn content(card: &Card, links: &Links) -> Value {
    let (mut quoted, mut cut) = within(lines(&card.quotes), MAX_AGENT_TEXT);
    if quoted.len() > MAX_LINES {
        quoted.truncate(MAX_LINES);
        cut = true;
    }
    let mut body = vec![run(&json!({
        "type": "TextRun", "text": card.title, "size": "Large", "weight": "Bolder",
    }))];
    body.extend(card.facts.iter().map(|fact| {
        json!({"type": "RichTextBlock", "spacing": "Small", "inlines": [
            {"type": "TextRun", "text": format!("{}: ", fact.label), "weight": "Bolder"},
            {"type": "TextRun", "text": fact.value},
        ]})
    }));
    if !quoted.is_empty() {
        let items: Vec<Value> = quoted.iter().map(line).collect();
        body.push(json!({"type": "Container", "style": "emphasis", "items": items}));
    }
    if cut {
        let words = "This card is too small for the whole request. Read all of it before you decide.";
        body.push(run(&json!({"type": "TextRun", "text": words, "weight": "Bolder"})));
    }
    body.push(run(&json!({"type": "TextRun", "text": card.elsewhere(), "isSubtle": true})));
    json!({
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.5",
        "fallbackText": card.title,
        "body": body,
        "actions": actions(card, links),
    })
}

fn run(run: &Value) -> Value {
    json!({"type": "RichTextBlock", "inlines": [run]})
}

fn line(line: &Line) -> Value {
    match line {
        Line::Label(text) => run(&json!({"type": "TextRun", "text": text, "weight": "Bolder"})),
        Line::Agent(text) => json!({"type": "RichTextBlock", "spacing": "None", "inlines": [
            {"type": "TextRun", "text": text, "fontType": "Monospace"},
        ]}),
    }
}

fn actions(card: &Card, links: &Links) -> Vec<Value> {
    let open = |title: &str, url: &str, style: &str| {
        let fits = url.len() <= MAX_URL;
        fits.then(|| json!({"type": "Action.OpenUrl", "title": title, "url": url, "style": style}))
    };
    let approve = links.approve.as_deref().and_then(|url| open(card.yes(), url, "positive"));
    let deny = links.deny.as_deref().filter(|_| card.kind != Some(InteractionKind::Notification));
    let title = if card.needs_reason(Verdict::Denied) { "Deny with a reason" } else { "Deny" };
    let deny = deny.and_then(|url| open(title, url, "destructive"));
    let page = card.page.as_deref().and_then(|url| open("Open the request", url, "default"));
    [approve, deny, page].into_iter().flatten().collect()
}
