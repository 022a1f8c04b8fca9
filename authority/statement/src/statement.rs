//! Statements: the acts of an authority, each a compact JWS (`typ` `statement+jws`) by its role's key.

use crate::format::{FormatFault, Members, is_name, limits, write};
use crate::jws::{Compact, JwsFault, MultiJws, SignFault, SigningIdentity};
use crate::permission::SignedPermission;
use crate::recognition::MAX_RECOGNISED_LINES;
use crate::root::RootStatement;
use crate::trust::Trust;
use ring::rand::SecureRandom;
use semgate_certs::{ChainFault, Roots, SignerId, SpiffeId, Thumbprint, Usage, VerifiedLeaf, verify_chain};
pub use semgate_contexts::schema::is_unseen;
use semgate_contexts::{ContextUrn, Digest, Line, Prefix, Version};
use serde_json::json;
use std::fmt;

mod own;
#[cfg(test)]
mod tests;

pub use own::OwnStatement;

/// `typ` of a statement.
pub const TYPE: &str = "statement+jws";
/// The longest compact statement accepted; an entry must fit 65,535 bytes with its time.
pub const MAX_STATEMENT_BYTES: usize = 65_000;
/// The longest reason, in bytes: a sentence or two for people.
pub const MAX_REASON_BYTES: usize = 1_024;

/// A change to a published context.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Act {
    /// INVALID, for ever.
    Revoke,
    /// SUSPENDED until resumed.
    Suspend,
    /// Back to the status before the suspension.
    Resume,
    /// DEPRECATED: still counts, with a hint; nothing new selects it.
    Retire,
}

impl Act {
    /// All acts.
    pub const ALL: [Act; 4] = [Act::Revoke, Act::Suspend, Act::Resume, Act::Retire];

    /// The `kind` of the statement and the last part of its address: `revoke`, `suspend`, `resume` or `retire`.
    pub fn as_str(self) -> &'static str {
        match self {
            Act::Revoke => "revoke",
            Act::Suspend => "suspend",
            Act::Resume => "resume",
            Act::Retire => "retire",
        }
    }

    /// The act with exactly this name.
    pub fn parse(name: &str) -> Option<Act> {
        Act::ALL.into_iter().find(|act| act.as_str() == name)
    }
}

/// One act of an authority. Reserved kinds are refused until they have a meaning: versions that do not know a kind could not replay the
/// log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Statement {
    /// A context counts from now on. Signed by a context signer of its line.
    Publish {
        /// The published context.
        urn: ContextUrn,
        /// Digest of the document's canonical bytes.
        digest: Digest,
        /// Thumbprint of the certificate that signed the document.
        signer: Thumbprint,
    },
    /// The status of a published context changes. Signed by the status key.
    Change {
        /// The change.
        act: Act,
        /// The published context.
        urn: ContextUrn,
        /// Position of its publish statement in the log, which is its status index.
        index: u64,
        /// The reason, for people; see [`MAX_REASON_BYTES`].
        reason: String,
    },
    /// The lowest version of a line that still counts rises. Signed by the status key.
    Floor {
        /// The line.
        line: Line,
        /// Lowest version still allowed.
        min: Version,
        /// The reason, for people.
        reason: String,
    },
    /// Withdraws the recognition of another authority: the kill switch. Signed by the status key, because it only takes away.
    Withdraw {
        /// The authority.
        recognised: String,
        /// Log index of its recognition, which is also the status index of that.
        index: u64,
        /// The lines of that recognition; the signer must be delegated each.
        lines: Vec<Line>,
        /// The reason, for people.
        reason: String,
    },
    /// A named person permits a version that breaks, or is not proven. A record: it changes no status. Signed by the status key.
    Override {
        /// SPIFFE id of the person who signed the permission, as the authority verified it then.
        by: SpiffeId,
        /// The signed permission.
        permission: Box<SignedPermission>,
    },
    /// An act of the root. Signed by a threshold of root keys.
    Root(Box<RootStatement>),
}

/// Reason for refusing a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatementFault {
    /// The JWS, its chain, or its signature.
    Jws(JwsFault),
    /// The payload is not a statement in canonical form.
    Format(FormatFault),
    /// A `kind` that this version does not know.
    UnknownKind,
    /// The signing certificate does not name the line of the statement.
    LineNotDelegated,
    /// A statement of the root, which no single certificate signs: see [`crate::Anchors::accept`].
    OfTheRoot,
    /// A reason longer than [`MAX_REASON_BYTES`] or with control characters.
    Reason,
    /// A new reason without a visible character.
    Blank,
    /// A new text with invisible characters: see [`is_unseen`].
    Unseen,
}

impl StatementFault {
    /// A short stable name for records, such as `unknown_kind`.
    pub fn as_str(&self) -> &'static str {
        match self {
            StatementFault::Jws(fault) => fault.as_str(),
            StatementFault::Format(_) => "format",
            StatementFault::UnknownKind => "unknown_kind",
            StatementFault::LineNotDelegated => "line_not_delegated",
            StatementFault::OfTheRoot => "of_the_root",
            StatementFault::Reason => "reason",
            StatementFault::Blank => "blank",
            StatementFault::Unseen => "unseen",
        }
    }
}

impl fmt::Display for StatementFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StatementFault::Jws(fault) => write!(f, "statement: {fault}"),
            StatementFault::Format(fault) => write!(f, "statement: {fault}"),
            StatementFault::UnknownKind => f.write_str("statement of an unknown kind"),
            StatementFault::LineNotDelegated => {
                f.write_str("statement by a certificate that does not name its line")
            }
            StatementFault::OfTheRoot => f.write_str("statement of the root by a single certificate"),
            StatementFault::Reason => f.write_str("reason is too long or has control characters"),
            StatementFault::Blank => f.write_str("the reason has no visible character"),
            StatementFault::Unseen => {
                f.write_str("a name or reason has control, bidirectional or zero-width characters")
            }
        }
    }
}

impl std::error::Error for StatementFault {}

impl From<JwsFault> for StatementFault {
    fn from(fault: JwsFault) -> Self {
        StatementFault::Jws(fault)
    }
}

impl From<FormatFault> for StatementFault {
    fn from(fault: FormatFault) -> Self {
        StatementFault::Format(fault)
    }
}

impl Statement {
    /// The role that signs this kind: [`Usage::Context`] for publish, [`Usage::Status`] for the rest; none for an act of the root.
    pub fn role(&self) -> Option<Usage> {
        match self {
            Statement::Publish { .. } => Some(Usage::Context),
            Statement::Change { .. }
            | Statement::Floor { .. }
            | Statement::Withdraw { .. }
            | Statement::Override { .. } => Some(Usage::Status),
            Statement::Root(_) => None,
        }
    }

    /// The affected lines; its signer must be delegated each. None for acts on keys.
    pub fn lines(&self) -> &[Line] {
        match self {
            Statement::Publish { urn, .. } | Statement::Change { urn, .. } => {
                std::slice::from_ref(urn.line())
            }
            Statement::Floor { line, .. } => std::slice::from_ref(line),
            Statement::Withdraw { lines, .. } => lines,
            Statement::Override { permission, .. } => {
                std::slice::from_ref(permission.unverified().urn.line())
            }
            Statement::Root(_) => &[],
        }
    }

    /// The `kind` member.
    pub fn kind(&self) -> &'static str {
        match self {
            Statement::Publish { .. } => "publish",
            Statement::Change { act, .. } => act.as_str(),
            Statement::Floor { .. } => "floor",
            Statement::Withdraw { .. } => "withdraw",
            Statement::Override { .. } => "override",
            Statement::Root(said) => said.kind(),
        }
    }

    /// Canonical payload bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FormatFault> {
        write(&match self {
            Statement::Publish { urn, digest, signer } => json!({
                "kind": "publish", "urn": urn.as_str(), "digest": digest.to_string(), "signer": signer.to_string(),
            }),
            Statement::Change { act, urn, index, reason } => json!({
                "kind": act.as_str(), "urn": urn.as_str(), "index": index, "reason": reason,
            }),
            Statement::Floor { line, min, reason } => json!({
                "kind": "floor", "line": line.as_str(), "min": min.to_string(), "reason": reason,
            }),
            Statement::Withdraw { recognised, index, lines, reason } => json!({
                "kind": "withdraw", "recognised": recognised, "index": index, "reason": reason,
                "lines": lines.iter().map(Line::as_str).collect::<Vec<_>>(),
            }),
            Statement::Override { by, permission } => json!({
                "kind": "override", "by": by.as_str(), "permission": permission.as_str(),
            }),
            Statement::Root(said) => said.to_json(),
        })
    }

    /// Reads canonical payload bytes; anything else is refused.
    pub fn read(bytes: &[u8], prefix: &Prefix) -> Result<Statement, StatementFault> {
        let json =
            semgate_contexts::json::read(bytes, &limits(MAX_STATEMENT_BYTES)).map_err(FormatFault::from)?;
        let kind = json.as_object().and_then(|o| o.get("kind")).and_then(|k| k.as_str());
        let urn = |m: &Members<'_, '_>| m.parsed("urn", |text| ContextUrn::parse(text, prefix).ok());
        let statement = match kind.ok_or(FormatFault::Member("kind"))? {
            "publish" => {
                let m = Members::closed(&json, &["kind", "urn", "digest", "signer"], &[])?;
                Statement::Publish {
                    urn: urn(&m)?,
                    digest: m.parsed("digest", |text| Digest::parse(text).ok())?,
                    signer: m.parsed("signer", Thumbprint::parse)?,
                }
            }
            "floor" => {
                let m = Members::closed(&json, &["kind", "line", "min", "reason"], &[])?;
                Statement::Floor {
                    line: m.parsed("line", |text| Line::parse(text).ok())?,
                    min: m.parsed("min", |text| Version::parse(text).ok())?,
                    reason: check_reason(m.text("reason")?)?.to_owned(),
                }
            }
            "withdraw" => read_withdraw(&json)?,
            "override" => {
                let m = Members::closed(&json, &["kind", "by", "permission"], &[])?;
                Statement::Override {
                    by: m.parsed("by", |text| SpiffeId::parse(text).ok())?,
                    permission: Box::new(SignedPermission::read(m.text("permission")?.as_bytes(), prefix)?),
                }
            }
            other => {
                let Some(act) = Act::parse(other) else { return Statement::read_root(bytes, other, &json) };
                let m = Members::closed(&json, &["kind", "urn", "index", "reason"], &[])?;
                let reason = check_reason(m.text("reason")?)?.to_owned();
                Statement::Change { act, urn: urn(&m)?, index: m.integer("index")?, reason }
            }
        };
        if statement.to_bytes()? != bytes {
            return Err(FormatFault::NotCanonical.into());
        }
        Ok(statement)
    }

    fn read_root(
        bytes: &[u8],
        kind: &str,
        json: &semgate_contexts::json::Json<'_>,
    ) -> Result<Statement, StatementFault> {
        let statement = RootStatement::read(kind, json)?.ok_or(StatementFault::UnknownKind)?;
        let statement = Statement::Root(Box::new(statement));
        if statement.to_bytes()? != bytes {
            return Err(FormatFault::NotCanonical.into());
        }
        Ok(statement)
    }
}

fn read_withdraw(json: &semgate_contexts::json::Json<'_>) -> Result<Statement, StatementFault> {
    let m = Members::closed(json, &["kind", "recognised", "index", "lines", "reason"], &[])?;
    let lines = m.list("lines")?;
    if lines.is_empty() || lines.len() > MAX_RECOGNISED_LINES {
        return Err(FormatFault::Member("lines").into());
    }
    let lines = lines.iter().map(|line| line.as_str().and_then(|text| Line::parse(text).ok()));
    Ok(Statement::Withdraw {
        recognised: m.parsed("recognised", |text| is_name(text).then(|| text.to_owned()))?,
        index: m.integer("index")?,
        lines: lines.collect::<Option<_>>().ok_or(FormatFault::Member("lines"))?,
        reason: check_reason(m.text("reason")?)?.to_owned(),
    })
}

/// Checks a reason: at most [`MAX_REASON_BYTES`], no control characters (they would reach logs and screens).
pub fn check_reason(text: &str) -> Result<&str, StatementFault> {
    if text.len() > MAX_REASON_BYTES || text.chars().any(char::is_control) {
        return Err(StatementFault::Reason);
    }
    Ok(text)
}

/// Checks a new reason: as [`check_reason`], with a visible character and no invisible ones. Logs are read by [`check_reason`] alone, so
/// that older reasons stay readable.
pub fn check_new_reason(text: &str) -> Result<&str, StatementFault> {
    if text.chars().any(is_unseen) {
        return Err(StatementFault::Unseen);
    }
    if text.chars().all(|c| c.is_whitespace() || matches!(c, '\u{200c}' | '\u{200d}')) {
        return Err(StatementFault::Blank);
    }
    check_reason(text)
}

/// A signed statement: read, not yet verified.
#[derive(Clone, Debug)]
pub struct SignedStatement {
    text: String,
    jws: Form,
    statement: Statement,
}

/// The form of the signature.
#[derive(Clone, Debug)]
enum Form {
    /// By the key of its role.
    One(Compact),
    /// By root keys.
    Many(MultiJws),
}

impl SignedStatement {
    /// Signs a statement. Verifiers check that the identity has the role. Statements of the root are signed otherwise: see
    /// [`SignedStatement::of_root`].
    pub fn sign(
        statement: Statement,
        identity: &SigningIdentity,
        random: &dyn SecureRandom,
    ) -> Result<SignedStatement, SignFault> {
        let text = Compact::sign(&statement.to_bytes()?, TYPE, identity, random)?;
        let jws = Compact::read(&text, TYPE, MAX_STATEMENT_BYTES)
            .map_err(|_| SignFault::Payload(FormatFault::TooLarge))?;
        Ok(SignedStatement { text, jws: Form::One(jws), statement })
    }

    /// A statement of the root, with its signatures so far.
    pub fn of_root(jws: MultiJws, prefix: &Prefix) -> Result<SignedStatement, StatementFault> {
        let statement = Statement::read(jws.unverified_payload(), prefix)?;
        if !matches!(statement, Statement::Root(_)) {
            return Err(StatementFault::UnknownKind);
        }
        Ok(SignedStatement { text: jws.to_text()?, jws: Form::Many(jws), statement })
    }

    /// Reads the compact form, or, for a statement of the root, the JSON form with several signatures.
    pub fn read(text: &str, prefix: &Prefix) -> Result<SignedStatement, StatementFault> {
        if text.starts_with('{') {
            let signed = SignedStatement::of_root(
                MultiJws::read(text.as_bytes(), TYPE, MAX_STATEMENT_BYTES)?,
                prefix,
            )?;
            let canonical = signed.text == text;
            return if canonical { Ok(signed) } else { Err(FormatFault::NotCanonical.into()) };
        }
        let jws = Compact::read(text, TYPE, MAX_STATEMENT_BYTES)?;
        let statement = Statement::read(jws.unverified_payload(), prefix)?;
        if matches!(statement, Statement::Root(_)) {
            return Err(StatementFault::OfTheRoot);
        }
        Ok(SignedStatement { text: text.to_owned(), jws: Form::One(jws), statement })
    }

    /// The statement, not verified.
    pub fn unverified(&self) -> &Statement {
        &self.statement
    }

    /// Thumbprint of the certificate that claims to have signed it; none for root keys.
    pub fn key(&self) -> Option<Thumbprint> {
        match &self.jws {
            Form::One(jws) => Some(jws.key()),
            Form::Many(_) => None,
        }
    }

    /// The signatures of root keys; none for other statements.
    pub fn multi(&self) -> Option<&MultiJws> {
        match &self.jws {
            Form::One(_) => None,
            Form::Many(jws) => Some(jws),
        }
    }

    /// The compact text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Checks signature and role at time `at` (its `logged_at`). The chain is looked up by thumbprint. It must be valid under the roots for
    /// the role of its kind, and allow the statement's line.
    pub fn verify(&self, trust: &Trust, roots: &Roots, at: u64) -> Result<VerifiedStatement, StatementFault> {
        let (Some(key), Some(role)) = (self.key(), self.statement.role()) else {
            return Err(StatementFault::OfTheRoot);
        };
        let chain = trust.chain(&key).ok_or(JwsFault::UnknownKey)?;
        let leaf = verify_chain(chain, roots, role, at).map_err(JwsFault::from)?;
        self.verify_under(&leaf)
    }

    /// Checks a statement under a leaf whose chain the caller verified for a time that suits it. The leaf's usage must be that of the
    /// statement's role.
    pub fn verify_under(&self, leaf: &VerifiedLeaf) -> Result<VerifiedStatement, StatementFault> {
        let Form::One(jws) = &self.jws else { return Err(StatementFault::OfTheRoot) };
        let verified = self.permitted_to(leaf)?;
        jws.verify_with(leaf)?;
        Ok(verified)
    }

    /// Checks that this leaf may sign this statement. That it did is for the caller to know.
    fn permitted_to(&self, leaf: &VerifiedLeaf) -> Result<VerifiedStatement, StatementFault> {
        let role = self.statement.role().ok_or(StatementFault::OfTheRoot)?;
        if leaf.usage() != role {
            return Err(JwsFault::from(ChainFault::WrongUsage).into());
        }
        for line in self.statement.lines() {
            leaf.allows_line(line).map_err(|_| StatementFault::LineNotDelegated)?;
        }
        let signer = leaf.signer_id().clone();
        Ok(VerifiedStatement { statement: self.statement.clone(), key: leaf.thumbprint(), signer })
    }
}

/// A statement with checked signature, role and line. Only [`SignedStatement`] and [`OwnStatement`] make one.
#[derive(Clone, Debug)]
pub struct VerifiedStatement {
    statement: Statement,
    key: Thumbprint,
    signer: SignerId,
}

impl VerifiedStatement {
    /// The statement.
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// The certificate that signed it.
    pub fn key(&self) -> Thumbprint {
        self.key
    }

    /// Every name by which a statement can compromise its signer.
    pub fn signer_id(&self) -> &SignerId {
        &self.signer
    }
}
