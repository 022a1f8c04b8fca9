//! Hostile text on a page: escaped for HTML, with characters that people cannot see shown as codes.
//!
//! Two layers. [`Escape`] escapes every expression of every template. [`filters::visible`] also marks the codes, and cuts
//! long text.

use std::fmt::{self, Write};

use askama::filters::Escaper;

/// Characters of one value on a page. A longer one is cut, and linked as a whole.
pub(crate) const MAX_CHARS: usize = 4_096;

/// True for a character that people cannot see, or that changes the order of others: controls, format characters,
/// separators of lines and paragraphs, fillers, private and unassigned tags.
pub(crate) fn is_hidden(c: char) -> bool {
    if matches!(c, '\n' | '\t') {
        return false;
    }
    c.is_control()
        || matches!(c,
            '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
            | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            | '\u{2800}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}'
            | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}'
            | '\u{E000}'..='\u{F8FF}' | '\u{F0000}'..='\u{10FFFF}')
        // spaces that look like others, or like nothing
        || (c.is_whitespace() && c != ' ')
}

/// Writes one character for HTML: text or a quoted attribute.
fn write_char(to: &mut (impl Write + ?Sized), c: char) -> fmt::Result {
    match c {
        '&' => to.write_str("&amp;"),
        '<' => to.write_str("&lt;"),
        '>' => to.write_str("&gt;"),
        '"' => to.write_str("&quot;"),
        '\'' => to.write_str("&#39;"),
        c if is_hidden(c) => write!(to, "\\u{{{:X}}}", u32::from(c)),
        c => to.write_char(c),
    }
}

/// The escaper of all templates, in text and in quoted attributes.
#[derive(Clone, Copy, Debug)]
pub struct Escape;

impl Escaper for Escape {
    fn write_escaped_str<W: Write>(&self, mut to: W, text: &str) -> fmt::Result {
        text.chars().try_for_each(|c| write_char(&mut to, c))
    }

    fn write_escaped_char<W: Write>(&self, mut to: W, c: char) -> fmt::Result {
        write_char(&mut to, c)
    }
}

/// Text as HTML: escaped, codes in a `<span class="code">`, cut after `most` characters.
pub(crate) fn marked(text: &str, most: usize) -> String {
    let mut html = String::with_capacity(text.len().min(most).saturating_add(64));
    for c in text.chars().take(most) {
        // writing to a string does not fail
        let _ = match is_hidden(c) {
            true => write!(html, "<span class=\"code\">\\u{{{:X}}}</span>", u32::from(c)),
            false => write_char(&mut html, c),
        };
    }
    let more = text.chars().count().saturating_sub(most);
    if more > 0 {
        let _ = write!(html, "<span class=\"cut\">… {more} more characters</span>");
    }
    html
}

/// A number of seconds, however templates borrow it.
pub(crate) trait Seconds {
    fn seconds(&self) -> u64;
}

impl Seconds for u64 {
    fn seconds(&self) -> u64 {
        *self
    }
}

impl<T: Seconds> Seconds for &T {
    fn seconds(&self) -> u64 {
        (**self).seconds()
    }
}

/// The filters of templates.
pub(crate) mod filters {
    use askama::filters::Safe;
    use askama::{Result, Values};

    use super::{MAX_CHARS, Seconds, marked};
    use crate::clock::{span, utc};

    /// Text of an agent, a policy or a context: see the module.
    #[askama::filter_fn]
    pub(crate) fn visible(text: impl ToString, _: &dyn Values) -> Result<Safe<String>> {
        Ok(Safe(marked(&text.to_string(), MAX_CHARS)))
    }

    /// As [`visible`], cut after this many characters; the whole text has a page of its own.
    #[askama::filter_fn]
    pub(crate) fn visible_to(text: impl ToString, _: &dyn Values, most: usize) -> Result<Safe<String>> {
        Ok(Safe(marked(&text.to_string(), most)))
    }

    /// A time in Unix seconds as `<time>`: UTC, which a script shows as local time.
    #[askama::filter_fn]
    pub(crate) fn time(seconds: impl Seconds, _: &dyn Values) -> Result<Safe<String>> {
        let utc = utc(seconds.seconds());
        Ok(Safe(format!("<time datetime=\"{utc}\" title=\"{utc}\">{utc}</time>")))
    }

    /// A span of seconds in words.
    #[askama::filter_fn]
    pub(crate) fn seconds(seconds: impl Seconds, _: &dyn Values) -> Result<Safe<String>> {
        Ok(Safe(span(seconds.seconds())))
    }

    /// One segment of a path in a link, or a value of its query. `.` and `..` become nothing: the link leads to no page.
    #[askama::filter_fn]
    pub(crate) fn segment(text: impl ToString, _: &dyn Values) -> Result<Safe<String>> {
        Ok(Safe(crate::links::segment(&text.to_string()).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests;
