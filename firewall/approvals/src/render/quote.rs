//! Agent text as marked lines.

use super::visible::visible;

/// Begins each line of agent text. No line of the gateway begins with it.
pub(super) const MARK: &str = "│ ";
/// Characters of a line of agent text. Longer lines are broken, so that each line on a screen begins with the mark.
const WIDTH: usize = 72;

/// Text that an agent chose, under a label of the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Quote {
    pub(super) label: String,
    pub(super) text: String,
}

/// One line of the part of a card that shows agent text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// The gateway's words.
    Label(String),
    /// Agent text, marked.
    Agent(String),
}

impl Line {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Label(text) | Self::Agent(text) => text,
        }
    }
}

/// Lines of all quotes.
pub(super) fn lines(quotes: &[Quote]) -> Vec<Line> {
    let mut lines = Vec::new();
    for quote in quotes {
        lines.push(Line::Label(quote.label.clone()));
        lines.extend(marked(&quote.text).map(Line::Agent));
    }
    lines
}

/// Agent text, each line with the mark.
fn marked(text: &str) -> impl Iterator<Item = String> {
    let shown = visible(text);
    let mut lines = Vec::new();
    for line in shown.split('\n') {
        let characters: Vec<char> = line.chars().collect();
        if characters.is_empty() {
            lines.push(MARK.trim_end().to_owned());
        }
        for part in characters.chunks(WIDTH) {
            lines.push(MARK.chars().chain(part.iter().copied()).collect());
        }
    }
    lines.into_iter()
}

/// The first lines that fit into this many bytes; true if some are left out.
pub(super) fn within(lines: Vec<Line>, bytes: usize) -> (Vec<Line>, bool) {
    let (mut room, all) = (bytes, lines.len());
    let fits = |line: &Line| {
        let left = room.checked_sub(line.as_str().len().saturating_add(1));
        room = left.unwrap_or(0);
        left.is_some()
    };
    let kept: Vec<Line> = lines.into_iter().take_while(fits).collect();
    let cut = kept.len() < all;
    (kept, cut)
}

/// The first characters of a text that fit into this many UTF-16 units, with a mark if some are left out.
pub(super) fn short(text: &str, units: usize) -> String {
    if text.encode_utf16().count() <= units {
        return text.to_owned();
    }
    let mut room = units.saturating_sub(1);
    let fits = |c: &char| {
        let left = room.checked_sub(c.len_utf16());
        room = left.unwrap_or(0);
        left.is_some()
    };
    text.chars().take_while(fits).chain(['…']).collect()
}
