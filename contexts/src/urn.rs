//! Names of contexts: `urn:contexts:<line>:v<major>.<minor>`, in one canonical form (F0-18).
//!
//! A text either *is* the canonical form or is refused; nothing is folded, trimmed or decoded. Two URNs are therefore equal
//! exactly when their bytes are. The grammar is in `docs/spec/urn.md`.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

/// Longest DNS label (RFC 1035 §2.3.4); a line's labels become DNS labels in name constraints.
pub const MAX_LABEL: usize = 63;
/// Longest line: a DNS name of 253 bytes less the 17 of `.contexts.invalid` that follow the reversed labels.
pub const MAX_LINE: usize = 253 - ".contexts.invalid".len();
/// Longest prefix. Room for a registered namespace and a few segments; RFC 8141 itself sets no bound.
pub const MAX_PREFIX: usize = 64;
/// Longest whole URN: prefix, line, and `:v4294967295.4294967295` with the two colons.
pub const MAX_URN: usize = MAX_PREFIX + 1 + MAX_LINE + 1 + "v4294967295.4294967295".len();

/// The reason that a text is no prefix, line, version or URN. It never holds the text itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrnFault {
    /// Longer than any canonical form can be.
    #[error("context urn is too long")]
    TooLong,
    /// A prefix that is not `urn:`, a lower-case namespace and lower-case segments joined by `:`.
    #[error("urn prefix is not `urn:` and lower-case segments")]
    PrefixForm,
    /// The URN does not begin with the configured prefix and a `:`.
    #[error("context urn does not begin with the configured prefix")]
    PrefixDiffers,
    /// There are not exactly two parts, line and version, after the prefix.
    #[error("context urn does not have exactly a line and a version after the prefix")]
    Parts,
    /// A label of the line is empty.
    #[error("line has an empty label")]
    LabelEmpty,
    /// A label is longer than [`MAX_LABEL`] bytes.
    #[error("line has a label of more than 63 bytes")]
    LabelTooLong,
    /// The line is longer than [`MAX_LINE`] bytes.
    #[error("line has more than 236 bytes")]
    LineTooLong,
    /// A character of the line is not an ASCII letter, digit, hyphen or dot.
    #[error("line has a character that is not an ascii letter, digit, hyphen or dot")]
    LineCharacter,
    /// A label begins or ends with a hyphen.
    #[error("line has a label that begins or ends with a hyphen")]
    LabelHyphen,
    /// The version is not `v`, digits, a dot and digits.
    #[error("version is not `v<major>.<minor>`")]
    VersionForm,
    /// A version number has a leading zero.
    #[error("version number has a leading zero")]
    VersionLeadingZero,
    /// A version number is greater than 4294967295.
    #[error("version number is greater than 4294967295")]
    VersionTooLarge,
}

/// The text before the line, `urn:contexts` by default. It is configured, because `contexts` is not a registered namespace.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Prefix(Arc<str>);

impl Prefix {
    /// Takes `urn:<nid>` and any further `:<segment>`. All are lower-case letters, digits and inner hyphens, and the
    /// namespace has 2 to 32 characters (RFC 8141 §2). So the whole URN has one spelling.
    ///
    /// # Errors
    /// [`UrnFault::TooLong`] past [`MAX_PREFIX`], else [`UrnFault::PrefixForm`].
    pub fn parse(text: &str) -> Result<Self, UrnFault> {
        if text.len() > MAX_PREFIX {
            return Err(UrnFault::TooLong);
        }
        let rest = text.strip_prefix("urn:").ok_or(UrnFault::PrefixForm)?;
        for (n, segment) in rest.split(':').enumerate() {
            let known = segment.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
            let length_fits = if n == 0 { (2..=32).contains(&segment.len()) } else { !segment.is_empty() };
            if !known || !length_fits || segment.starts_with('-') || segment.ends_with('-') {
                return Err(UrnFault::PrefixForm);
            }
        }
        Ok(Self(text.into()))
    }

    /// The prefix without the `:` that follows it in a URN.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Prefix {
    fn default() -> Self {
        Self("urn:contexts".into())
    }
}

/// The name that the versions of one context share, such as `payment` or `acme.logistics`.
///
/// Labels of ASCII letters, digits and inner hyphens joined by dots, 1 to [`MAX_LABEL`] bytes each, [`MAX_LINE`] in all. Case
/// counts. Since DNS ignores case, an authority never publishes two lines that differ only in case, or whose trees do
/// ([`Line::folded`]).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line(Arc<str>);

impl Line {
    /// Takes the canonical form only.
    ///
    /// # Errors
    /// The [`UrnFault`] of the first part that does not fit.
    pub fn parse(text: &str) -> Result<Self, UrnFault> {
        if text.len() > MAX_LINE {
            return Err(UrnFault::LineTooLong);
        }
        text.split('.').try_for_each(check_label)?;
        Ok(Self(text.into()))
    }

    /// The line as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The labels from left to right; at least one.
    pub fn labels(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('.')
    }

    /// The line in lower case, which must be unique within an authority.
    #[must_use]
    pub fn folded(&self) -> String {
        self.0.to_ascii_lowercase()
    }

    /// Returns true if the two are [one line folded](Self::folded), in any spelling.
    #[must_use]
    pub fn folds_with(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

fn check_label(label: &str) -> Result<(), UrnFault> {
    if label.is_empty() {
        Err(UrnFault::LabelEmpty)
    } else if !label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
        Err(UrnFault::LineCharacter)
    } else if label.len() > MAX_LABEL {
        Err(UrnFault::LabelTooLong)
    } else if label.starts_with('-') || label.ends_with('-') {
        Err(UrnFault::LabelHyphen)
    } else {
        Ok(())
    }
}

/// A version of a line; ordered by major, then minor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Rises when readers or writers of the last version would break.
    pub major: u32,
    /// Rises when everything said in the last version still holds.
    pub minor: u32,
}

impl Version {
    /// A version of these numbers.
    #[must_use]
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// Takes `v<major>.<minor>`: decimal digits, no leading zero, no sign.
    ///
    /// # Errors
    /// [`UrnFault::VersionForm`], [`UrnFault::VersionLeadingZero`] or [`UrnFault::VersionTooLarge`].
    pub fn parse(text: &str) -> Result<Self, UrnFault> {
        let rest = text.strip_prefix('v').ok_or(UrnFault::VersionForm)?;
        let (major, minor) = rest.split_once('.').ok_or(UrnFault::VersionForm)?;
        Ok(Self { major: number(major)?, minor: number(minor)? })
    }
}

fn number(text: &str) -> Result<u32, UrnFault> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        Err(UrnFault::VersionForm)
    } else if text.len() > 1 && text.starts_with('0') {
        Err(UrnFault::VersionLeadingZero)
    } else {
        text.parse().map_err(|_| UrnFault::VersionTooLarge)
    }
}

/// The name of one version of one context.
///
/// Holds its canonical text, so printing it returns exactly the bytes that were parsed. Ordered by line, then version. Equal
/// where the texts are: line and version follow from the text, so neither is hashed or compared.
#[derive(Clone, PartialOrd, Ord)]
pub struct ContextUrn {
    line: Line,
    version: Version,
    text: Arc<str>,
}

impl PartialEq for ContextUrn {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.text, &other.text) || self.text == other.text
    }
}

impl Eq for ContextUrn {}

impl Hash for ContextUrn {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl ContextUrn {
    /// Takes `<prefix>:<line>:v<major>.<minor>` and no other spelling. Refuses another case of the prefix, percent-encoding,
    /// white space, a further part, and a `?`, `#` or `/` component.
    ///
    /// # Errors
    /// The [`UrnFault`] of the first part, from the left, that does not fit.
    pub fn parse(text: &str, prefix: &Prefix) -> Result<Self, UrnFault> {
        if text.len() > MAX_URN {
            return Err(UrnFault::TooLong);
        }
        let rest = text.strip_prefix(prefix.as_str()).and_then(|rest| rest.strip_prefix(':'));
        let (line, version) = line_and_version(rest.ok_or(UrnFault::PrefixDiffers)?)?;
        Ok(Self { line, version, text: text.into() })
    }

    /// Takes the short form `<line>:v<major>.<minor>` that a command line allows; never used for bytes from the wire.
    ///
    /// # Errors
    /// As [`ContextUrn::parse`].
    pub fn parse_short(text: &str, prefix: &Prefix) -> Result<Self, UrnFault> {
        let (line, version) = line_and_version(text)?;
        Ok(Self::new(prefix, line, version))
    }

    /// The URN of this version of this line.
    #[must_use]
    pub fn new(prefix: &Prefix, line: Line, version: Version) -> Self {
        let text = format!("{}:{line}:{version}", prefix.as_str()).into();
        Self { line, version, text }
    }

    /// The line.
    #[must_use]
    pub const fn line(&self) -> &Line {
        &self.line
    }

    /// The version.
    #[must_use]
    pub const fn version(&self) -> Version {
        self.version
    }

    /// The canonical text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// `<line>:v<major>.<minor>`, as people write it.
    #[must_use]
    pub fn short(&self) -> String {
        format!("{}:{}", self.line, self.version)
    }
}

fn line_and_version(text: &str) -> Result<(Line, Version), UrnFault> {
    let (line, version) = text.split_once(':').ok_or(UrnFault::Parts)?;
    if version.contains(':') {
        return Err(UrnFault::Parts);
    }
    Ok((Line::parse(line)?, Version::parse(version)?))
}

impl FromStr for Version {
    type Err = UrnFault;

    fn from_str(text: &str) -> Result<Self, UrnFault> {
        Self::parse(text)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}.{}", self.major, self.minor)
    }
}

macro_rules! shown_as_text {
    ($($name:ty),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    )*};
}

shown_as_text!(Prefix, Line, ContextUrn);

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
