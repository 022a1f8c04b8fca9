use super::*;
use semgate_certs::{CertificateDer, ChainLimits};
use semgate_statement::testing::{MemoryAuthority, START};

const UNTIL: u64 = START + 86_400;
const FOREIGN: &str = "the key belongs to a recognised authority: withdraw the recognition instead";

fn issuing(of: &MemoryAuthority) -> CertificateDer<'static> {
    of.keys.contexts.chain().certificates()[0].clone()
}

fn anchors(of: &MemoryAuthority) -> Anchors {
    let config = of.config();
    let anchors = Anchors::new(&config.authority, &config.origin, &config.roots, 1, &config.log);
    anchors.with_entries(of.trust.root(), u64::MAX, &config.prefix).unwrap()
}

/// Says of the key of this certificate, or of the one that crosses it, that it is compromised.
fn check_named_key(
    ours: &MemoryAuthority,
    der: &CertificateDer<'_>,
    known: &[(Thumbprint, KeyId)],
    at: u64,
) -> Result<(), &'static str> {
    let suspect = Suspect::of(der, &ChainLimits::default()).unwrap();
    let act = RootAct::Compromised { key: suspect.certificate, spki: Some(suspect.key), from: 0 };
    names_a_key(&act, &anchors(ours), &ours.replay, known, at)
}

#[test]
fn a_key_of_a_recognised_authority_is_not_said_to_be_compromised_but_its_recognition_withdrawn() {
    let mut ours = MemoryAuthority::named("ours.test", "ours.test/log", START);
    let theirs = MemoryAuthority::named("theirs.test", "theirs.test/log", START);
    assert_eq!(check_named_key(&ours, &issuing(&theirs), &[], START), Ok(()), "nobody recognises it");
    let recognition = ours.recognition(&theirs, &[("payment", None)], UNTIL);
    let cross = recognition.cross[0].clone();
    ours.recognise(recognition);
    for der in [&issuing(&theirs), &cross] {
        assert_eq!(check_named_key(&ours, der, &[], START), Err(FOREIGN));
        assert_eq!(check_named_key(&ours, der, &[], UNTIL - 1), Err(FOREIGN));
        assert_eq!(check_named_key(&ours, der, &[], UNTIL), Ok(()), "the recognition has ended");
    }
    assert_eq!(check_named_key(&ours, &issuing(&ours), &[], START), Ok(()), "our own");
    // a key that signs here too takes back here what it signed
    let suspect = Suspect::of(&issuing(&theirs), &ChainLimits::default()).unwrap();
    let known = [(suspect.certificate, suspect.key)];
    assert_eq!(check_named_key(&ours, &issuing(&theirs), &known, START), Ok(()));
    ours.withdraw("theirs.test");
    assert_eq!(check_named_key(&ours, &cross, &[], START), Ok(()), "the recognition was withdrawn");
}
