//! Certificate revocation lists in shards (RFC 5280 §5), as Let's Encrypt's Boulder makes them. A certificate names the one
//! list that covers it, by its serial number. The issuing distribution point of a list states its share of the certificates.

use crate::issue::{IssueFault, Issuer};
use crate::pem;
use crate::read::{CrlName, Presence, serial_of};
use crate::{ChainFault, KeyId, PemFault};
use rcgen::{
    CertificateRevocationListParams, CrlDistributionPoint, CrlIssuingDistributionPoint, CrlScope,
    KeyIdMethod, RevokedCertParams, SerialNumber,
};
use ring::rand::SecureRandom;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::SectionKind;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use webpki::{CertRevocationList, OwnedCertRevocationList};

mod verified;

pub use verified::{CrlLimits, CrlOutcome, VerifiedCrls};

/// Shards of one issuer: 1,024 lists of a thousand entries are a million revoked certificates.
pub const MAX_SHARDS: u32 = 1_024;
/// Lists that a verifier holds: those of sixteen issuers at most.
pub const MAX_CRLS: usize = 16 * MAX_SHARDS as usize;
/// Bytes of one list: some thirty thousand entries of our serial numbers.
pub const MAX_CRL_BYTES: usize = 1024 * 1024;

/// The addresses of an issuer's lists: `<base>/<shards>/<n>.crl` for `n` below the number of shards. The number is in the
/// name. So a list of another number of shards never covers a certificate that lies on another of its shards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrlShards {
    base: String,
    shards: u32,
}

/// The reason that there can be no such lists, or that one cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CrlFault {
    /// The base is no `http` or `https` address of printable ASCII without a final slash, or is longer than 200 bytes.
    Base,
    /// No shard, or more than [`MAX_SHARDS`].
    Shards,
    /// More lists than [`MAX_CRLS`], or one longer than [`MAX_CRL_BYTES`].
    TooLarge,
    /// Not a list of version 2 in the form of RFC 5280.
    Malformed,
    /// No certificate that may sign lists here has the name of its issuer.
    Issuer,
    /// Its issuer did not sign it, or may sign no lists.
    Signature,
    /// There is no room for it.
    Full,
    /// Not PEM.
    Pem(PemFault),
}

impl fmt::Display for CrlFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CrlFault::Base => {
                f.write_str("the address of the lists is not a valid URL without a final slash")
            }
            CrlFault::Shards => write!(f, "the number of shards must be from 1 to {MAX_SHARDS}"),
            CrlFault::TooLarge => f.write_str("the revocation lists are larger than the limit"),
            CrlFault::Malformed => f.write_str("not a certificate revocation list"),
            CrlFault::Issuer => f.write_str("the revocation list comes from an unknown issuer"),
            CrlFault::Signature => f.write_str("the revocation list is not signed by its issuer"),
            CrlFault::Full => f.write_str("there is no room for more revocation lists"),
            CrlFault::Pem(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for CrlFault {}

impl CrlShards {
    /// `shards` lists below an address.
    ///
    /// # Errors
    /// [`CrlFault::Base`], [`CrlFault::Shards`].
    pub fn new(base: &str, shards: u32) -> Result<CrlShards, CrlFault> {
        let host = base.strip_prefix("https://").or_else(|| base.strip_prefix("http://")).unwrap_or_default();
        let plain = base.bytes().all(|b| b.is_ascii_graphic()) && base.len() <= 200;
        if host.is_empty() || host.ends_with('/') || !plain {
            return Err(CrlFault::Base);
        }
        if shards == 0 || shards > MAX_SHARDS {
            return Err(CrlFault::Shards);
        }
        Ok(CrlShards { base: base.to_owned(), shards })
    }

    /// The number of shards.
    pub fn count(&self) -> u32 {
        self.shards
    }

    /// The shard of a serial number, taken as one large number: its remainder. Serial numbers are random, so shards fill evenly.
    pub fn of(&self, serial: &[u8]) -> u32 {
        let shards = u64::from(self.shards);
        let rest = serial.iter().fold(0u64, |rest, byte| (rest * 256 + u64::from(*byte)) % shards);
        u32::try_from(rest).unwrap_or_default()
    }

    /// The address of a shard, which is the name of its distribution point.
    pub fn uri(&self, shard: u32) -> String {
        format!("{}/{}/{shard}.crl", self.base, self.shards)
    }

    /// The lists among which an address of one is, as [`CrlShards::uri`] writes it.
    pub(crate) fn of_point(url: &str) -> Option<CrlShards> {
        let (rest, _) = url.strip_suffix(".crl")?.rsplit_once('/')?;
        let (base, shards) = rest.rsplit_once('/')?;
        CrlShards::new(base, shards.parse().ok()?).ok()
    }

    pub(crate) fn point(&self, serial: &[u8]) -> CrlDistributionPoint {
        CrlDistributionPoint { uris: vec![self.uri(self.of(serial))] }
    }
}

/// A revoked certificate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revoked {
    /// Its serial number, big-endian without leading zeros.
    pub serial: Vec<u8>,
    /// The time of revocation, in seconds since the epoch.
    pub at: u64,
}

impl Revoked {
    /// The serial number of a certificate, revoked at `at`.
    ///
    /// # Errors
    /// [`ChainFault`] for bytes that are no certificate.
    pub fn of(der: &CertificateDer<'_>, at: u64) -> Result<Revoked, ChainFault> {
        Ok(Revoked { serial: serial_of(der)?, at })
    }
}

/// One list to be signed.
#[derive(Clone, Debug)]
pub struct CrlProfile<'a> {
    /// The number of the shard.
    pub shard: u32,
    /// Rises with each edition of the list (RFC 5280 §5.2.3).
    pub number: u64,
    /// The time of issue.
    pub this_update: u64,
    /// The time until which it counts.
    pub next_update: u64,
    /// Every revoked certificate of the issuer; those of other shards are left out.
    pub revoked: &'a [Revoked],
}

impl Issuer {
    /// Signs a shard of this issuer's list: DER.
    ///
    /// # Errors
    /// [`IssueFault::Times`] for a list that ends before it begins; [`IssueFault::Encoding`].
    pub fn crl(
        &self,
        places: &CrlShards,
        profile: &CrlProfile<'_>,
        random: &dyn SecureRandom,
    ) -> Result<Vec<u8>, IssueFault> {
        if profile.next_update <= profile.this_update {
            return Err(IssueFault::Times);
        }
        let mut revoked_certs = Vec::new();
        for one in profile.revoked.iter().filter(|one| places.of(&one.serial) == profile.shard) {
            revoked_certs.push(RevokedCertParams {
                serial_number: SerialNumber::from_slice(&one.serial),
                revocation_time: crate::issue::instant(Some(one.at))?,
                reason_code: None,
                invalidity_date: None,
            });
        }
        let params = CertificateRevocationListParams {
            this_update: crate::issue::instant(Some(profile.this_update))?,
            next_update: crate::issue::instant(Some(profile.next_update))?,
            crl_number: SerialNumber::from(profile.number),
            issuing_distribution_point: Some(CrlIssuingDistributionPoint {
                distribution_point: CrlDistributionPoint { uris: vec![places.uri(profile.shard)] },
                scope: Some(CrlScope::UserCertsOnly),
            }),
            revoked_certs,
            key_identifier_method: KeyIdMethod::Sha256,
        };
        self.sign_crl(&params, random)
    }
}

/// Revocation lists that a verifier holds, by issuer and distribution point. Nothing in them is trusted before a chain is
/// checked.
#[derive(Clone, Debug, Default)]
pub struct Crls(Vec<CrlEntry>);

#[derive(Clone, Debug)]
struct CrlEntry {
    this_update: u64,
    next_update: u64,
    /// The key that verified its signature; none if the signature was not checked.
    key: Option<KeyId>,
    list: Arc<CertRevocationList<'static>>,
}

impl Crls {
    /// Reads DER lists.
    ///
    /// # Errors
    /// [`CrlFault::TooLarge`], [`CrlFault::Malformed`] for the first that cannot be read. Leaving it out would let its
    /// revoked certificates pass, or refuse everybody.
    pub fn from_der<D: AsRef<[u8]>>(lists: &[D]) -> Result<Crls, CrlFault> {
        if lists.len() > MAX_CRLS || lists.iter().any(|der| der.as_ref().len() > MAX_CRL_BYTES) {
            return Err(CrlFault::TooLarge);
        }
        let read = |der: &D| {
            let owned = OwnedCertRevocationList::from_der(der.as_ref()).map_err(|_| CrlFault::Malformed)?;
            let name = CrlName::read(der.as_ref()).ok_or(CrlFault::Malformed)?;
            Ok(CrlEntry {
                this_update: name.this_update,
                next_update: name.next_update,
                key: None,
                list: Arc::new(CertRevocationList::from(owned)),
            })
        };
        // of two editions of one list the later counts, since webpki takes the first that it finds
        let mut newest: BTreeMap<(Vec<u8>, Vec<u8>), (u64, usize)> = BTreeMap::new();
        for (n, der) in lists.iter().enumerate() {
            let name = CrlName::read(der.as_ref()).ok_or(CrlFault::Malformed)?;
            let known = newest.entry((name.issuer, name.point)).or_insert((name.number, n));
            if name.number > known.0 {
                *known = (name.number, n);
            }
        }
        let retained = newest.values().filter_map(|(_, n)| lists.get(*n));
        Ok(Crls(retained.map(read).collect::<Result<_, CrlFault>>()?))
    }

    /// Reads PEM lists (`X509 CRL`).
    ///
    /// # Errors
    /// As [`Crls::from_der`]; [`CrlFault::Pem`].
    pub fn from_pem(text: &str) -> Result<Crls, CrlFault> {
        let most = MAX_CRL_BYTES * 2;
        let lists = pem::sections(text, SectionKind::Crl, most).map_err(CrlFault::Pem)?;
        Crls::from_der(&lists)
    }

    /// The number of lists.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there is no list.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first second after `at` at which a list ends, in seconds since the epoch. Time alone changes no verdict before it.
    pub fn next_end(&self, at: u64) -> Option<u64> {
        self.0.iter().map(|held| held.next_update).filter(|end| *end > at).min()
    }

    /// The lists that had been issued at `at`: webpki checks the end of a list, not its beginning. A leaf that names no list
    /// gets only lists of a whole issuer, since webpki would take any shard for it. A list with a known signer must be signed
    /// by one of `keys`, since webpki tells issuers by name alone and takes the first list.
    pub(crate) fn lists(
        &self,
        at: u64,
        names_one: Presence,
        keys: &[KeyId],
    ) -> Vec<&CertRevocationList<'static>> {
        let unsharded = |held: &&CrlEntry| held.list.issuing_distribution_point().is_none();
        let of_it = |held: &&CrlEntry| held.key.is_none_or(|key| keys.contains(&key));
        let made = self.0.iter().filter(|held| held.this_update <= at).filter(of_it);
        let mut lists: Vec<_> = made.filter(|held| names_one == Presence::Yes || unsharded(held)).collect();
        // a list of the whole issuer does not replace the one that the leaf names
        lists.sort_by_key(unsharded);
        lists.into_iter().map(|held| held.list.as_ref()).collect()
    }

    /// Returns true if a list of a whole issuer, verified by one of these keys, holds this serial number. Other lists and the
    /// list's end do not matter: a revoked certificate stays revoked.
    pub(crate) fn unsharded_list_holds(&self, serial: &[u8], keys: &[KeyId]) -> bool {
        let signed = self.0.iter().filter(|held| held.key.is_some_and(|key| keys.contains(&key)));
        let mut unsharded = signed.filter(|held| held.list.issuing_distribution_point().is_none());
        unsharded.any(|held| !matches!(held.list.find_serial(serial), Ok(None)))
    }
}

/// The lists that verifiers hold now, replaced as a whole while they are in use. The next handshake refuses newly revoked
/// certificates. [`CrlStore::edition`] tells holders of an older verdict to check again.
#[derive(Debug, Default)]
pub struct CrlStore {
    lists: RwLock<Arc<Crls>>,
    edition: AtomicU64,
}

impl CrlStore {
    /// A store with these lists.
    pub fn new(crls: Crls) -> CrlStore {
        CrlStore { lists: RwLock::new(Arc::new(crls)), edition: AtomicU64::new(0) }
    }

    /// Replaces all lists.
    pub fn replace(&self, crls: Crls) {
        *self.lists.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(crls);
        self.edition.fetch_add(1, Ordering::Release);
    }

    /// The lists now.
    pub fn current(&self) -> Arc<Crls> {
        Arc::clone(&self.lists.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The edition, which rises with each replacement. A verdict made after reading it uses this edition or a later one.
    pub fn edition(&self) -> u64 {
        self.edition.load(Ordering::Acquire)
    }
}

/// The PEM form of a list.
pub fn crl_pem(der: &[u8]) -> String {
    pem::write("X509 CRL", der)
}
