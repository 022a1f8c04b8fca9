use super::*;
use crate::{Family, IssuingProfile, KeyPair, LeafProfile, RootProfile};
use ring::rand::SystemRandom;

const NOW: u64 = 1_800_000_000;
const YEAR: u64 = 365 * 86_400;

struct House {
    root: Issuer,
    issuing: Issuer,
    random: SystemRandom,
}

impl House {
    fn new(name: &str) -> House {
        let random = SystemRandom::new();
        let key = || KeyPair::generate(&random).unwrap();
        let root =
            Issuer::root(&RootProfile::new(format!("{name} root"), NOW - 3600), key(), &random).unwrap();
        let profile = IssuingProfile::new(format!("{name} contexts"), Family::Contexts, NOW - 3600);
        let issuing = root.issuing(&profile, key(), &random).unwrap();
        House { root, issuing, random }
    }

    fn key(&self) -> RootKey {
        RootKey::of(&self.root.chain().certificates()[0], &ChainLimits::default()).unwrap()
    }

    fn roots(&self) -> Roots {
        Roots::from_der(self.root.chain().certificates().to_vec(), &ChainLimits::default()).unwrap()
    }

    fn signer(&self, names: &[&str]) -> Chain {
        let key = KeyPair::generate(&self.random).unwrap();
        self.issuing.leaf(&LeafProfile::context(lines(names), NOW), key.public(), &self.random).unwrap()
    }

    fn cross(&self, other: &House, names: &[&str]) -> CertificateDer<'static> {
        let theirs = &other.issuing.chain().certificates()[0];
        self.root.cross(theirs, &lines(names), NOW + YEAR, &self.random).unwrap()
    }
}

fn lines(names: &[&str]) -> Vec<Line> {
    names.iter().map(|name| Line::parse(name).unwrap()).collect()
}

fn check(
    ours: &House,
    der: &CertificateDer<'static>,
    names: &[&str],
) -> Result<CrossCertificate, CrossFault> {
    CrossCertificate::check(der, &[ours.key()], &lines(names), NOW + YEAR, &ChainLimits::default())
}

#[test]
fn a_signer_of_the_other_authority_counts_below_our_root_for_the_lines_alone() {
    let (ours, theirs) = (House::new("ours"), House::new("theirs"));
    let cross = check(&ours, &ours.cross(&theirs, &["payment"]), &["payment"]).unwrap();
    let judge =
        |names: &[&str]| cross.leaf(&theirs.signer(names), &ours.roots()).map(|leaf| leaf.lines().to_vec());
    assert_eq!(judge(&["payment"]), Ok(lines(&["payment"])));
    assert_eq!(judge(&["payment.card"]), Ok(lines(&["payment.card"])));
    assert_eq!(judge(&["travel"]), Err(ChainFault::NotPermittedByNameConstraints));
    // one name outside is one too many
    assert_eq!(judge(&["payment", "travel"]), Err(ChainFault::NotPermittedByNameConstraints));
    // theirs stays theirs, and ours is not reached without the cross-certificate
    let leaf = theirs.signer(&["payment"]);
    assert!(verify_chain(&leaf, &theirs.roots(), Usage::Context, NOW).is_ok());
    assert_eq!(
        verify_chain(&leaf, &ours.roots(), Usage::Context, NOW).err(),
        Some(ChainFault::UnknownIssuer)
    );
}

#[test]
fn nobody_stands_below_the_other_and_no_other_role_of_it_counts() {
    let (ours, theirs, third) = (House::new("ours"), House::new("theirs"), House::new("third"));
    let cross = check(&ours, &ours.cross(&theirs, &["payment"]), &["payment"]).unwrap();
    let fault = cross.leaf(&third.signer(&["payment"]), &ours.roots()).err();
    assert_eq!(fault, Some(ChainFault::UnknownIssuer));
    // the other certifies a third as it was certified: one step too many, whoever sends it along
    let onward = theirs.root.cross(
        &third.issuing.chain().certificates()[0],
        &lines(&["payment"]),
        NOW + YEAR,
        &theirs.random,
    );
    let leaf = third.signer(&["payment"]).certificates()[0].clone();
    let chain = vec![leaf, onward.unwrap(), ours.cross(&theirs, &["payment"])];
    let chain = Chain::from_der(chain, &ChainLimits::default()).unwrap();
    assert!(verify_chain(&chain, &ours.roots(), Usage::Context, NOW).is_err());
    let key = KeyPair::generate(&theirs.random).unwrap();
    let status = LeafProfile::role(Usage::Status, crate::LineScope::Trees(lines(&["payment"])), NOW);
    let status = theirs.issuing.leaf(&status, key.public(), &theirs.random).unwrap();
    assert_eq!(cross.leaf(&status, &ours.roots()).err(), Some(ChainFault::WrongUsage));
}

#[test]
fn a_cross_certificate_that_is_not_what_it_should_be_is_refused_by_reason() {
    let (ours, theirs) = (House::new("ours"), House::new("theirs"));
    let good = ours.cross(&theirs, &["payment"]);
    assert_eq!(check(&ours, &good, &["payment", "travel"]), Err(CrossFault::Lines));
    assert_eq!(
        check(&ours, &ours.cross(&theirs, &["payment", "travel"]), &["payment"]),
        Err(CrossFault::Lines)
    );
    assert_eq!(check(&theirs, &good, &["payment"]), Err(CrossFault::Signature));
    let late = CrossCertificate::check(
        &good,
        &[ours.key()],
        &lines(&["payment"]),
        NOW + YEAR + 1,
        &ChainLimits::default(),
    );
    assert_eq!(late, Err(CrossFault::Ends));
    let root = ours.root.chain().certificates()[0].clone();
    assert_eq!(check(&ours, &root, &["payment"]), Err(CrossFault::Role));
    let profile = IssuingProfile::new("wide", Family::Contexts, NOW)
        .lines(crate::LineScope::Trees(lines(&["payment"])));
    let wide = ours.root.issuing(&profile, KeyPair::generate(&ours.random).unwrap(), &ours.random).unwrap();
    assert_eq!(check(&ours, &wide.chain().certificates()[0], &["payment"]), Err(CrossFault::Usage));
    let mut cut = good.to_vec();
    cut.truncate(100);
    assert_eq!(check(&ours, &CertificateDer::from(cut), &["payment"]), Err(CrossFault::Malformed));
    // a bit of the signature
    let mut forged = good.to_vec();
    *forged.last_mut().unwrap() ^= 1;
    assert_eq!(check(&ours, &CertificateDer::from(forged), &["payment"]), Err(CrossFault::Signature));
}

#[test]
fn what_cannot_be_certified_is_not() {
    let (ours, theirs) = (House::new("ours"), House::new("theirs"));
    let issuing = &theirs.issuing.chain().certificates()[0];
    let make = |by: &Issuer, names: &[&str], end| by.cross(issuing, &lines(names), end, &ours.random).err();
    assert_eq!(make(&ours.root, &[], NOW + YEAR), Some(IssueFault::NamesMissing));
    assert_eq!(make(&ours.root, &["pay", "PAY"], NOW + YEAR), Some(IssueFault::RepeatedLine));
    assert_eq!(make(&ours.root, &["pay"], NOW + 9 * YEAR), Some(IssueFault::LifetimeTooLong));
    assert_eq!(make(&ours.issuing, &["pay"], NOW + YEAR), Some(IssueFault::NotAnIssuer));
    let root = &theirs.root.chain().certificates()[0];
    assert_eq!(
        ours.root.cross(root, &lines(&["pay"]), NOW + YEAR, &ours.random).err(),
        Some(IssueFault::NotAnIssuer)
    );
}

#[test]
fn openssl_holds_a_signer_of_the_other_to_the_lines_as_we_do() {
    let (ours, theirs) = (House::new("ours"), House::new("theirs"));
    let cross = ours.cross(&theirs, &["payment"]);
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, der: &CertificateDer<'_>| {
        let path = dir.path().join(name);
        std::fs::write(&path, crate::pem::write("CERTIFICATE", der)).unwrap();
        path
    };
    let roots = file("roots.pem", &ours.root.chain().certificates()[0]);
    let cross = file("cross.pem", &cross);
    for (name, accepted) in [("payment", true), ("payment.card", true), ("travel", false)] {
        let leaf = file("leaf.pem", &theirs.signer(&[name]).certificates()[0]);
        let mut command = std::process::Command::new("openssl");
        command.args(["verify", "-x509_strict", "-no-CApath", "-no-CAstore", "-attime", &NOW.to_string()]);
        let output =
            command.arg("-CAfile").arg(&roots).arg("-untrusted").arg(&cross).arg(leaf).output().unwrap();
        let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert_eq!(output.status.success(), accepted, "{name}: {printed}");
        assert_eq!(printed.contains("permitted subtree violation"), !accepted, "{name}: {printed}");
    }
}
