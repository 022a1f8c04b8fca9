//! Facts about a leaf that its checked chain proves.

use crate::extensions::{Role, SigningUse};
use crate::malleability::mirrored_signature;
use crate::names::{SubtreeRelation, line_of_uri, relation_to_subtree};
use crate::read::{Facts, Name, Purpose};
use crate::{
    CONTEXTS_TREE, ChainFault, Family, KeyId, PeerFault, PublicKey, Roots, SignerId, SpiffeId, Thumbprint,
    Usage, dns_of_line,
};
use semgate_contexts::{Line, Prefix};
use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;

/// A leaf whose chain was checked for one usage at one time. Only [`crate::verify_chain`] makes one:
///
/// ```compile_fail
/// use semgate_certs::{Thumbprint, Usage, VerifiedLeaf};
/// let leaf = VerifiedLeaf { usage: Usage::Context, thumbprint: Thumbprint::of(b"anything") };
/// ```
#[derive(Clone, Debug)]
pub struct VerifiedLeaf {
    usage: Usage,
    key: PublicKey,
    thumbprint: Thumbprint,
    signer: SignerId,
    not_before: u64,
    not_after: u64,
    lines: Vec<Line>,
    trees: Vec<String>,
    uris: Vec<String>,
    marks: Vec<String>,
}

impl VerifiedLeaf {
    /// The usage that the chain was checked for.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// The key that the leaf certifies.
    pub fn public_key(&self) -> &PublicKey {
        &self.key
    }

    /// The leaf's `x5t#S256`.
    pub fn thumbprint(&self) -> Thumbprint {
        self.thumbprint
    }

    /// The names by which a statement may accuse the signer. They are the thumbprints of the certificate and of its with_mirrored_signature,
    /// which takes no key to make ([`crate::Chain::with_mirrored_signature`]). They are also the keys of the certificate and of its path,
    /// without the root's.
    pub fn signer_id(&self) -> &SignerId {
        &self.signer
    }

    /// The first second at which every certificate of the chain is valid.
    pub fn not_before(&self) -> u64 {
        self.not_before
    }

    /// The last second at which every certificate of the chain, and its root, is valid.
    pub fn not_after(&self) -> u64 {
        self.not_after
    }

    /// Further attributes, each permitted by every issuing certificate of its path, sorted: foreign extended key usages
    /// (`eku:1.2.3`) and certificate policies (`policy:1.2.3`).
    pub fn marks(&self) -> &[String] {
        &self.marks
    }

    pub(crate) fn marked(self, marks: Vec<String>) -> VerifiedLeaf {
        VerifiedLeaf { marks, ..self }
    }

    /// The same leaf with the keys of the issuing certificates of its path.
    pub(crate) fn vouched_by(mut self, issuers: impl Iterator<Item = KeyId>) -> VerifiedLeaf {
        let keys = std::iter::once(KeyId::of(self.key.spki())).chain(issuers).collect();
        self.signer = SignerId::new(self.signer.certificates().to_vec(), keys);
        self
    }

    /// The lines that a context leaf may sign for, in the spelling of its URIs. Empty for other usages.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Proof that this leaf may sign for a line. A context leaf must name exactly this line, case included. A status, feed or
    /// log leaf must name a tree that holds it (DNS ignores case). Server and agent leaves sign for none.
    ///
    /// # Errors
    /// [`LineNotDelegated`].
    pub fn allows_line(&self, line: &Line) -> Result<LineAllowed, LineNotDelegated> {
        let dns = dns_of_line(line);
        let holds = |tree: &String| relation_to_subtree(&dns, tree) == SubtreeRelation::Inside;
        match self.lines.contains(line) || self.trees.iter().any(holds) {
            true => Ok(LineAllowed { line: line.clone(), signer: self.thumbprint }),
            false => Err(LineNotDelegated),
        }
    }

    /// The one SPIFFE id of a server, agent or policy leaf. Refuses a leaf with none, with two, or with another URI.
    ///
    /// # Errors
    /// [`PeerFault::NoSpiffeId`], [`PeerFault::SeveralIds`], [`PeerFault::NotSpiffe`].
    pub fn spiffe(&self) -> Result<SpiffeId, PeerFault> {
        one_id(self.uris.iter().map(String::as_str))
    }
}

/// Proof that a verified leaf may sign for a line. Only [`VerifiedLeaf::allows_line`] makes one:
///
/// ```compile_fail
/// # fn forge(line: semgate_contexts::Line, signer: semgate_certs::Thumbprint) {
/// let proof = semgate_certs::LineAllowed { line, signer };
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineAllowed {
    line: Line,
    signer: Thumbprint,
}

impl LineAllowed {
    /// The line.
    pub fn line(&self) -> &Line {
        &self.line
    }

    /// The leaf that may sign for it.
    pub fn signer(&self) -> Thumbprint {
        self.signer
    }
}

/// The leaf was not delegated the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LineNotDelegated;

impl fmt::Display for LineNotDelegated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the certificate is not delegated the line")
    }
}

impl std::error::Error for LineNotDelegated {}

/// The one SPIFFE id among the URIs of a certificate (X.509-SVID §2: exactly one URI).
pub(crate) fn one_id<'a>(mut uris: impl Iterator<Item = &'a str>) -> Result<SpiffeId, PeerFault> {
    let first = uris.next().ok_or(PeerFault::NoSpiffeId)?;
    match uris.next() {
        Some(_) => Err(PeerFault::SeveralIds),
        None => SpiffeId::parse(first).map_err(PeerFault::NotSpiffe),
    }
}

/// Checks the points of a leaf that webpki leaves open, once it has found a path. `window` is the time in which the whole
/// chain is valid.
pub(crate) fn check(
    facts: Facts,
    der: &[u8],
    usage: Usage,
    roots: &Roots,
    window: RangeInclusive<u64>,
) -> Result<VerifiedLeaf, ChainFault> {
    check_purposes(&facts, usage)?;
    let key = PublicKey::from_spki(&facts.spki).map_err(|_| ChainFault::UnsupportedAlgorithm)?;
    let longest = roots.limits().max_leaf_lifetime;
    let lifetime = facts.not_after.saturating_sub(facts.not_before);
    if usage.family() == Family::Contexts && lifetime > longest {
        return Err(ChainFault::LifetimeTooLong);
    }
    let (lines, trees) = match usage {
        Usage::Context => (lines(&facts, &roots.prefix)?, Vec::new()),
        Usage::Status | Usage::Feed | Usage::Log => (Vec::new(), trees(&facts)?),
        Usage::Policy => {
            check_signer(&facts)?;
            (Vec::new(), Vec::new())
        }
        Usage::Server | Usage::Agent => {
            check_endpoint(&facts, usage)?;
            (Vec::new(), Vec::new())
        }
    };
    let uris = facts.uris().map(str::to_owned).collect();
    let (not_before, not_after) = window.into_inner();
    let thumbprint = Thumbprint::of(der);
    let certificates =
        std::iter::once(thumbprint).chain(mirrored_signature(der).map(|der| Thumbprint::of(&der)));
    let signer = SignerId::new(certificates.collect(), vec![KeyId::of(key.spki())]);
    Ok(VerifiedLeaf {
        usage,
        key,
        thumbprint,
        signer,
        not_before,
        not_after,
        lines,
        trees,
        uris,
        marks: Vec::new(),
    })
}

fn check_purposes(facts: &Facts, usage: Usage) -> Result<(), ChainFault> {
    let signs = match facts.role {
        Role::Leaf { signs } => signs,
        Role::Issuer { .. } => return Err(ChainFault::WrongRole),
    };
    match (signs, usage.family()) {
        (SigningUse::Certificates, _) => return Err(ChainFault::WrongRole),
        (SigningUse::No, _) | (SigningUse::Unsaid, Family::Contexts) => return Err(ChainFault::WrongUsage),
        (SigningUse::Yes, _) | (SigningUse::Unsaid, Family::Tls) => {}
    }
    if !facts.purposes.contains(&Purpose::Ours(usage)) {
        return Err(ChainFault::WrongUsage);
    }
    let alone = match usage.family() {
        Family::Contexts => facts.purposes.len() == 1,
        Family::Tls => !facts.purposes.iter().any(|purpose| purpose.is_of(Family::Contexts).is_some()),
    };
    if alone { Ok(()) } else { Err(ChainFault::UsageNotAlone) }
}

fn no_wildcard(facts: &Facts) -> Result<(), ChainFault> {
    let wild = facts.dns().chain(facts.uris()).any(|name| name.contains('*'));
    if wild { Err(ChainFault::Wildcard) } else { Ok(()) }
}

/// The lines of a context leaf. It has DNS and URI names only, and both sets state the same lines.
fn lines(facts: &Facts, prefix: &Prefix) -> Result<Vec<Line>, ChainFault> {
    no_wildcard(facts)?;
    if facts.names.is_empty() || facts.names.iter().any(|name| matches!(name, Name::Address(_) | Name::Other))
    {
        return Err(ChainFault::Names);
    }
    let lines: Option<Vec<Line>> = facts.uris().map(|uri| line_of_uri(prefix, uri)).collect();
    let lines = lines.ok_or(ChainFault::Names)?;
    let by_uri: BTreeSet<String> = lines.iter().map(dns_of_line).collect();
    let by_dns: BTreeSet<String> = facts.dns().map(str::to_owned).collect();
    // Equal counts too: two URIs that differ only in case would share one DNS name.
    let once = by_uri.len() == lines.len() && by_dns.len() == facts.dns().count();
    if by_uri == by_dns && once { Ok(lines) } else { Err(ChainFault::NamesDisagree) }
}

/// The trees of a status, feed or log leaf: DNS names at or below `contexts.invalid`, and nothing else.
fn trees(facts: &Facts) -> Result<Vec<String>, ChainFault> {
    no_wildcard(facts)?;
    let in_tree = |name: &Name| match name {
        Name::Dns(dns) => relation_to_subtree(dns, CONTEXTS_TREE) == SubtreeRelation::Inside,
        _ => false,
    };
    match !facts.names.is_empty() && facts.names.iter().all(in_tree) {
        true => Ok(facts.dns().map(str::to_owned).collect()),
        false => Err(ChainFault::Names),
    }
}

/// A signer of policies: `contexts.invalid` itself and one SPIFFE id, and nothing else.
fn check_signer(facts: &Facts) -> Result<(), ChainFault> {
    no_wildcard(facts)?;
    let other = |name: &Name| matches!(name, Name::Address(_) | Name::Other);
    let tree = facts.dns().count() == 1 && facts.dns().all(|dns| dns == CONTEXTS_TREE);
    match tree && !facts.names.iter().any(other) && one_id(facts.uris()).is_ok() {
        true => Ok(()),
        false => Err(ChainFault::Names),
    }
}

/// A server or agent leaf names something, and nothing below `contexts.invalid`. Agents have no wildcards.
fn check_endpoint(facts: &Facts, usage: Usage) -> Result<(), ChainFault> {
    if usage == Usage::Agent {
        no_wildcard(facts)?;
    }
    let foreign = |name: &Name| match name {
        Name::Dns(dns) => relation_to_subtree(dns, CONTEXTS_TREE) == SubtreeRelation::Inside,
        Name::Uri(_) | Name::Address(_) => false,
        Name::Other => true,
    };
    match facts.names.is_empty() || facts.names.iter().any(foreign) {
        true => Err(ChainFault::Names),
        false => Ok(()),
    }
}
