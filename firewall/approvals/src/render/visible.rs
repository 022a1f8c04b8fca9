//! Text of others, without characters that change what a person reads.

use std::fmt::Write;

use semgate_contexts::schema::is_unseen;
use unicode_general_category::{GeneralCategory as Category, get_general_category};

/// Combining marks in a row that are shown as such. No language stacks more; a longer stack paints over other lines.
const MAX_MARKS: usize = 2;

/// The text with each control, invisible or bidirectional character as a code such as `\u{202E}`. Line feeds stay.
///
/// Codes also stand for spaces other than U+0020, private and unassigned characters, marks without a base, and marks past
/// the second on one base.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut marks = MAX_MARKS;
    for c in text.chars() {
        if is_mark(c) && !is_hidden(c) {
            marks = marks.saturating_add(1);
            if marks <= MAX_MARKS {
                shown.push(c)
            } else {
                code(&mut shown, c)
            }
            continue;
        }
        // a mark that follows a line feed or a code has no base of its own
        let is_base = c != '\n' && c != ' ' && !is_hidden(c);
        marks = if is_base { 0 } else { MAX_MARKS };
        if c == '\n' || !is_hidden(c) { shown.push(c) } else { code(&mut shown, c) }
    }
    shown
}

/// The text on one line: as [`visible`], with line feeds as codes too.
pub fn visible_line(text: &str) -> String {
    visible(text).replace('\n', "\\u{A}")
}

fn code(shown: &mut String, c: char) {
    // writing to a string does not fail
    let _ = write!(shown, "\\u{{{:X}}}", u32::from(c));
}

fn is_mark(c: char) -> bool {
    matches!(get_general_category(c), Category::NonspacingMark | Category::EnclosingMark)
}

fn is_hidden(c: char) -> bool {
    let blank = matches!(c, '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{2800}' | '\u{3164}'
        | '\u{ffa0}' | '\u{34f}' | '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}');
    let category = matches!(
        get_general_category(c),
        Category::Control
            | Category::Format
            | Category::LineSeparator
            | Category::ParagraphSeparator
            | Category::SpaceSeparator
            | Category::PrivateUse
            | Category::Unassigned
    );
    c != ' ' && (blank || category || is_unseen(c))
}
