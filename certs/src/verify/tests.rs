//! The certificate cases: each is judged by `verify_chain` and by `openssl verify -x509_strict`, and the two must agree
//! but where a case says why not. `docs/spec/certificate-cases.md` counts the verdicts.

mod cases;
mod certtool;
mod delegation;
mod extensions;
mod generated;
mod limbo;
mod names;
mod openssl;
mod revocation;
mod times;
mod vectors;

use crate::tests::{Forged, NOW, World, both, instant, leaf_params, root_params};
use crate::{
    Chain, ChainFault, ChainLimits, CrlStore, Crls, PeerFault, PeerRoots, PemFault, Roots, Thumbprint,
    TrustDomain, Usage, verify_chain,
};
use rustls_pki_types::CertificateDer;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// What openssl says of the same chain at the same time.
#[derive(Clone, Copy)]
enum Openssl {
    Agrees,
    /// The opposite, and why.
    Differs(&'static str),
}

struct Case {
    name: &'static str,
    chain: Vec<CertificateDer<'static>>,
    roots: Vec<CertificateDer<'static>>,
    usage: Usage,
    at: u64,
    /// Judged as the certificate of a peer of the trust domain `semgate.test`.
    peer: bool,
    /// The revocation lists at hand, DER; none: nothing is looked up.
    crls: Option<Vec<Vec<u8>>>,
    /// The reason of the refusal, or `ok`.
    ours: &'static str,
    openssl: Openssl,
}

impl Case {
    /// A chain of this leaf and issuer under the root of `world`.
    fn new(name: &'static str, world: &World, usage: Usage, leaf: &Forged, issuer: &Forged) -> Case {
        Case {
            name,
            chain: vec![leaf.der.clone(), issuer.der.clone()],
            roots: vec![world.root.der.clone()],
            usage,
            at: NOW,
            peer: false,
            crls: None,
            ours: "ok",
            openssl: Openssl::Agrees,
        }
    }

    fn at(mut self, at: u64) -> Case {
        self.at = at;
        self
    }

    fn root(mut self, root: &Forged) -> Case {
        self.roots = vec![root.der.clone()];
        self
    }

    fn chain(mut self, chain: &[&CertificateDer<'static>]) -> Case {
        self.chain = chain.iter().map(|der| (*der).clone()).collect();
        self
    }

    fn of_peer(mut self) -> Case {
        self.peer = true;
        self
    }

    fn lists(mut self, lists: Vec<Vec<u8>>) -> Case {
        self.crls = Some(lists);
        self
    }

    fn refused(mut self, ours: &'static str) -> Case {
        self.ours = ours;
        self
    }

    fn differs(mut self, why: &'static str) -> Case {
        self.openssl = Openssl::Differs(why);
        self
    }

    /// Whether all three judges say the same.
    fn is_agreed(&self) -> bool {
        matches!(self.openssl, Openssl::Agrees) && certtool::differs(self).is_none()
    }

    fn judge(&self) -> &'static str {
        let roots = match Roots::from_der(self.roots.clone(), &ChainLimits::default()) {
            Ok(roots) => roots,
            Err(PemFault::BadRoot(fault)) => return fault.as_str(),
            Err(fault) => panic!("{}: {fault}", self.name),
        };
        let roots = match &self.crls {
            Some(lists) => {
                roots.with_crls(std::sync::Arc::new(CrlStore::new(Crls::from_der(lists).unwrap())))
            }
            None => roots,
        };
        let verdict = if self.peer {
            let peers = PeerRoots::new().with(TrustDomain::parse("semgate.test").unwrap(), roots);
            peers.identify(&self.chain, self.at).map(|_| ())
        } else {
            // Read with wide limits, so that those of the roots decide.
            let wide =
                ChainLimits { max_certificates: 100, max_certificate_bytes: 1 << 20, ..Default::default() };
            let chain = Chain::from_der(self.chain.clone(), &wide).unwrap();
            verify_chain(&chain, &roots, self.usage, self.at).map(|_| ()).map_err(PeerFault::Chain)
        };
        verdict.map_or_else(PeerFault::as_str, |()| "ok")
    }
}

fn all() -> Vec<Case> {
    let world = World::new();
    let mut all = cases::good(&world);
    all.extend(times::all(&world));
    all.extend(cases::trust(&world));
    all.extend(cases::usages(&world));
    all.extend(delegation::constraints(&world));
    all.extend(delegation::roles(&world));
    all.extend(names::lines(&world));
    all.extend(names::peers(&world));
    all.extend(cases::shapes(&world));
    all.extend(extensions::critical(&world));
    all.extend(extensions::constraints(&world));
    all.extend(revocation::usages(&world));
    all.extend(revocation::shards(&world));
    all.extend(revocation::issuers(&world));
    all.extend(generated::all(&world));
    all
}

#[test]
fn our_verdicts_are_those_of_the_table_and_openssl_and_certtool_agree_or_the_difference_is_explained() {
    let mut wrong = String::new();
    for case in all() {
        let ours = case.judge();
        if ours != case.ours {
            writeln!(wrong, "{}: ours is {ours}, the table says {}", case.name, case.ours).unwrap();
        }
        let theirs = openssl::verify(&case);
        let agrees = theirs.accepted == (ours == "ok");
        if agrees != matches!(case.openssl, Openssl::Agrees) {
            writeln!(wrong, "{}: ours is {ours}, openssl says {}", case.name, theirs.output).unwrap();
        }
        let theirs = certtool::verify(&case);
        let agrees = theirs.accepted == (ours == "ok");
        if agrees != certtool::differs(&case).is_none() {
            writeln!(wrong, "{}: ours is {ours}, certtool says {}", case.name, theirs.output).unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Cases on which all three judges agree, at least: those that differ, each with a reason, come on top.
const AGREED: usize = 150;

#[test]
fn all_three_agree_on_at_least_a_hundred_and_fifty_cases_and_no_two_have_one_name() {
    let all = all();
    let names: BTreeSet<&str> = all.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), all.len());
    let agreed = all.iter().filter(|case| case.is_agreed()).count();
    assert!(agreed >= AGREED, "{agreed} of {}", all.len());
    for name in certtool::DIFFERS.iter().map(|(name, _)| name).chain(certtool::AGREES) {
        assert!(names.contains(name), "{name}");
    }
}

#[test]
fn the_page_of_cases_is_up_to_date() {
    let (agreed, differ): (Vec<Case>, Vec<Case>) = all().into_iter().partition(Case::is_agreed);
    let mut page = String::from(concat!(
        "# Certificate cases\n\n",
        "Three verifiers judge each chain at the same time: `verify_chain`, `openssl verify -x509_strict` and GnuTLS's `certtool --verify`. ",
        "Where there are revocation lists, openssl gets `-crl_check -extended_crl`. The cases are in `certs/src/verify/tests/`; a test compares each verdict. ",
        "`SEMGATE_BLESS=1 cargo test -p semgate-certs` writes this page.\n",
    ));
    let (n, all) = (agreed.len(), agreed.len() + differ.len());
    let verdicts = listed(&counts(agreed.iter().map(|case| case.ours)));
    writeln!(page, "\n## Agreement\n\nAll three agree on {n} of {all} cases: {verdicts}.").unwrap();
    page.push_str("\n## Differences\n\n| openssl | certtool | Semgate | reason |\n|---|---|---|---|\n");
    let mut differences = BTreeMap::<Difference, Vec<&str>>::new();
    for case in &differ {
        differences.entry(difference(case)).or_default().push(case.ours);
    }
    for (Difference { openssl, certtool, why }, ours) in differences {
        let ours = listed(&counts(ours.into_iter()));
        writeln!(page, "| {openssl} | {certtool} | {ours} | {why} |").unwrap();
    }
    page.push_str(&limbo::section());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/spec/certificate-cases.md");
    if std::env::var_os("SEMGATE_BLESS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        stored == page,
        "docs/spec/certificate-cases.md is not up to date; write it again with SEMGATE_BLESS=1"
    );
}

/// The other verdicts on a case on which the verifiers differ, and the reason.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Difference {
    openssl: &'static str,
    certtool: &'static str,
    why: String,
}

fn difference(case: &Case) -> Difference {
    let ok = case.ours == "ok";
    let verdict = |accepted: bool| if accepted { "ok" } else { "refused" };
    let (openssl, why) = match case.openssl {
        Openssl::Agrees => (ok, ""),
        Openssl::Differs(why) => (!ok, why),
    };
    let also = certtool::differs(case);
    let certtool = ok == also.is_none();
    let why = match also {
        Some(also) if why.is_empty() => also.to_owned(),
        Some(also) if also != why => format!("{why}; {also}"),
        _ => why.to_owned(),
    };
    Difference { openssl: verdict(openssl), certtool: verdict(certtool), why }
}

fn counts(verdicts: impl Iterator<Item = &'static str>) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for verdict in verdicts {
        *counts.entry(verdict).or_default() += 1;
    }
    counts
}

/// The counts as text: "`names` 12, `wildcard` 3".
fn listed(counts: &BTreeMap<&str, usize>) -> String {
    counts.iter().map(|(verdict, cases)| format!("`{verdict}` {cases}")).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_revoked_issuing_certificate_or_root_vouches_for_nothing_at_any_time_but_a_leaf_is_the_logs_matter() {
    let world = World::new();
    let leaf = world.contexts.issue(&leaf_params(Usage::Context, both("payment")));
    let chain = vec![leaf.der.clone(), world.contexts.der.clone()];
    let chain = Chain::from_der(chain, &ChainLimits::default()).unwrap();
    for (revoked, verdict) in [
        (&world.contexts.der, Err(ChainFault::IssuerRevoked)),
        (&world.root.der, Err(ChainFault::IssuerRevoked)),
        (&world.tls.der, Ok(())),
        (&leaf.der, Ok(())),
    ] {
        let roots = world.root.roots().with_revoked([Thumbprint::of(revoked)]);
        for at in [NOW - 3600, NOW] {
            assert_eq!(verify_chain(&chain, &roots, Usage::Context, at).map(|_| ()), verdict);
        }
    }
}

#[test]
fn a_root_that_was_renewed_with_its_key_counts_beside_the_expired_one() {
    let world = World::new();
    let mut params = root_params();
    params.not_after = instant(NOW - 1);
    let key = rcgen::KeyPair::try_from(world.root.key.serialized_der()).unwrap();
    let old: CertificateDer<'static> = params.self_signed(&key).unwrap().into();
    let leaf = world.contexts.issue(&leaf_params(Usage::Context, both("payment")));
    let chain = vec![leaf.der.clone(), world.contexts.der.clone()];
    let chain = Chain::from_der(chain, &ChainLimits::default()).unwrap();
    let verdict = |roots: Vec<CertificateDer<'static>>| {
        let roots = Roots::from_der(roots, &ChainLimits::default()).unwrap();
        verify_chain(&chain, &roots, Usage::Context, NOW).map(|_| ())
    };
    assert_eq!(verdict(vec![old.clone()]), Err(ChainFault::Expired));
    assert_eq!(verdict(vec![old.clone(), world.root.der.clone()]), Ok(()));
    assert_eq!(verdict(vec![world.root.der.clone(), old]), Ok(()));
}
