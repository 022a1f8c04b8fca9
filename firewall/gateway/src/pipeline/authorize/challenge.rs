//! `WWW-Authenticate` (RFC 9110 §11.6.1), parsed in full and rewritten.
//!
//! Forwards the schemes `Bearer` (RFC 6750 §3) and `DPoP` (RFC 9449 §7.1), each once. Keeps those of their parameters that
//! hold names and addresses. Drops `realm` and `error_description`, which are uninspected sentences. Drops every other scheme
//! and parameter, which the gateway does not understand.

/// Forwarded errors (RFC 6750 §3.1, RFC 9449 §7.1 and §9).
const ERRORS: [&str; 5] =
    ["invalid_request", "invalid_token", "insufficient_scope", "use_dpop_nonce", "invalid_dpop_proof"];

/// Schemes in their written form. They are matched case-insensitively.
const SCHEMES: [&str; 2] = ["Bearer", "DPoP"];

/// Maximum length of an algorithm's name (RFC 7518 has at most 18 characters).
const MAX_ALG: usize = 32;

/// One forwarded challenge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Challenge {
    scheme: &'static str,
    pub(super) error: Option<&'static str>,
    scope: Option<String>,
    algs: Option<String>,
    pub(super) resource_metadata: Option<String>,
}

impl Challenge {
    fn of(scheme: &'static str, params: Vec<(String, String)>) -> Option<Self> {
        let mut challenge = Self { scheme, ..Self::default() };
        let mut names = Vec::new();
        for (name, value) in params {
            if names.contains(&name) {
                return None;
            }
            challenge.take(&name, value)?;
            names.push(name);
        }
        Some(challenge)
    }

    /// The challenge as sent to callers, with this address for the metadata.
    pub(super) fn write(&self, resource_metadata: Option<&str>) -> String {
        let params = [
            ("error", self.error),
            ("scope", self.scope.as_deref()),
            ("algs", self.algs.as_deref()),
            ("resource_metadata", resource_metadata),
        ];
        // values contain no quote and no backslash
        let written = params.iter().filter_map(|(name, value)| Some(format!("{name}=\"{}\"", (*value)?)));
        let written: Vec<String> = written.collect();
        if written.is_empty() {
            self.scheme.to_owned()
        } else {
            format!("{} {}", self.scheme, written.join(", "))
        }
    }

    /// Takes a parameter; `None` for an invalid value.
    fn take(&mut self, name: &str, value: String) -> Option<()> {
        match name {
            "error" => self.error = ERRORS.into_iter().find(|known| *known == value),
            "scope" => self.scope = Some(value).filter(|value| value.split(' ').all(is_scope)),
            "algs" => self.algs = Some(value).filter(|value| value.split(' ').all(is_alg)),
            "resource_metadata" => self.resource_metadata = Some(value),
            _ => return Some(()),
        }
        let read = match name {
            "scope" => self.scope.is_some(),
            "algs" => self.algs.is_some(),
            _ => true,
        };
        read.then_some(())
    }
}

/// Returns true for a `scope-token` (RFC 6749 §3.3).
pub(super) fn is_scope(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'"' | b'\\'))
}

/// Returns true for the name of a JOSE algorithm.
pub(super) fn is_alg(text: &str) -> bool {
    (1..=MAX_ALG).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_+".contains(&b))
}

/// Challenges of the supported schemes, in order. `None` for a malformed line, and for a scheme or parameter that occurs
/// twice.
pub(super) fn read(lines: &[String]) -> Option<Vec<Challenge>> {
    let mut all: Vec<Challenge> = Vec::new();
    for line in lines {
        let mut rest = Rest(line);
        rest.separators();
        while !rest.0.is_empty() {
            let scheme = rest.token()?;
            let params = rest.params()?;
            rest.separators();
            let Some(scheme) = SCHEMES.into_iter().find(|known| known.eq_ignore_ascii_case(scheme)) else {
                continue;
            };
            if all.iter().any(|other| other.scheme == scheme) {
                return None;
            }
            all.push(Challenge::of(scheme, params)?);
        }
    }
    Some(all)
}

/// The unread part of the text.
struct Rest<'t>(&'t str);

impl<'t> Rest<'t> {
    /// Skips blanks. Returns true if there were any.
    fn blanks(&mut self) -> bool {
        let rest = self.0.trim_start_matches([' ', '\t']);
        std::mem::replace(&mut self.0, rest).len() > rest.len()
    }

    /// Skips the separators between two list elements, empty elements included (RFC 9110 §5.6.1).
    fn separators(&mut self) {
        self.0 = self.0.trim_start_matches([' ', '\t', ',']);
    }

    fn take(&mut self, is: impl Fn(u8) -> bool) -> &'t str {
        let end = self.0.bytes().position(|b| !is(b)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at_checked(end).unwrap_or_default();
        self.0 = rest;
        taken
    }

    fn token(&mut self) -> Option<&'t str> {
        let token = self.take(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b));
        (!token.is_empty()).then_some(token)
    }

    /// Reads a quoted or unquoted value.
    fn value(&mut self) -> Option<String> {
        let Some(quoted) = self.0.strip_prefix('"') else { return self.token().map(str::to_owned) };
        let (mut value, mut escaped) = (String::new(), false);
        for (at, c) in quoted.char_indices() {
            match c {
                _ if escaped => {
                    value.push(c);
                    escaped = false;
                }
                '\\' => escaped = true,
                '"' => {
                    self.0 = quoted.get(at + 1..)?;
                    return Some(value);
                }
                _ => value.push(c),
            }
        }
        None
    }

    /// Reads `name = value`, if it comes next.
    fn param(&mut self) -> Option<(String, String)> {
        let name = self.token()?.to_ascii_lowercase();
        self.blanks();
        self.0 = self.0.strip_prefix('=')?;
        self.blanks();
        Some((name, self.value()?))
    }

    /// Returns true at the end of a list element.
    fn over(&self) -> bool {
        let rest = self.0.trim_start_matches([' ', '\t']);
        rest.is_empty() || rest.starts_with(',')
    }

    /// The parameters of the scheme just read, up to the next scheme. Refuses a `token68`, which only other schemes have.
    fn params(&mut self) -> Option<Vec<(String, String)>> {
        let mut params = Vec::new();
        if self.over() {
            return Some(params);
        }
        if !self.blanks() {
            return None;
        }
        let before = self.0;
        match self.param() {
            Some(param) if self.over() => params.push(param),
            _ => {
                self.0 = before;
                self.take(|b| b.is_ascii_alphanumeric() || b"-._~+/".contains(&b));
                self.take(|b| b == b'=');
                return self.over().then_some(params);
            }
        }
        loop {
            let before = self.0;
            self.separators();
            if self.0.is_empty() {
                return Some(params);
            }
            let next = self.0;
            let name = self.token()?;
            self.blanks();
            let named = self.0.starts_with('=');
            if !named {
                // start of the next scheme
                self.0 = before;
                return (!name.is_empty()).then_some(params);
            }
            self.0 = next;
            params.push(self.param()?);
            if !self.over() {
                return None;
            }
        }
    }
}
