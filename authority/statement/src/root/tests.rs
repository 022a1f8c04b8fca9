use super::*;
use crate::checkpoint::LogKey;
use crate::entry::Entry;
use crate::format::FormatFault;
use crate::jws::MultiJws;
use crate::statement::{SignedStatement, Statement, StatementFault, TYPE};
use crate::testing::{AUTHORITY, ORIGIN, START};
use crate::trust::RootEntry;
use ring::rand::SystemRandom;
use semgate_certs::{ChainLimits, Issuer, KeyPair, RootKey, RootProfile, Roots, SignerId};
use semgate_contexts::Prefix;

/// Root keys of one authority.
struct Ceremony {
    roots: Vec<Issuer>,
    log: LogKey,
}

impl Ceremony {
    fn of(keys: usize) -> Ceremony {
        let random = SystemRandom::new();
        let root = |n| {
            let profile = RootProfile::new(format!("root {n}"), START - 10);
            Issuer::root(&profile, KeyPair::generate(&random).unwrap(), &random).unwrap()
        };
        Ceremony { roots: (0..keys).map(root).collect(), log: LogKey::generate(ORIGIN, &random).unwrap() }
    }

    fn certificates(&self, of: &[usize]) -> Vec<CertificateDer<'static>> {
        of.iter().map(|n| self.roots[*n].chain().certificates()[0].clone()).collect()
    }

    /// A reader configured with these of the roots.
    fn anchors(&self, of: &[usize], threshold: u64) -> Anchors {
        let roots = Roots::from_der(self.certificates(of), &ChainLimits::default()).unwrap();
        Anchors::new(AUTHORITY, ORIGIN, &roots, threshold, self.log.verifier())
    }

    fn list(&self, threshold: u64, of: &[usize]) -> RootAct {
        let issuing = vec![Thumbprint::of(b"issuing")];
        RootAct::Keys(KeyList::new(
            threshold,
            self.certificates(of),
            issuing,
            vec![self.log.verifier().to_string()],
        ))
    }

    fn signed(&self, number: u64, act: RootAct, by: &[usize]) -> SignedStatement {
        let statement = RootStatement { authority: AUTHORITY.to_owned(), number, act, reason: String::new() };
        let payload = Statement::Root(Box::new(statement)).to_bytes().unwrap();
        let mut jws = MultiJws::draft(&payload, TYPE);
        for n in by {
            let root = &self.roots[*n];
            jws.sign(root.key().as_ref(), &root.chain().thumbprint(), &SystemRandom::new()).unwrap();
        }
        SignedStatement::of_root(jws, &Prefix::default()).unwrap()
    }

    fn entry(&self, number: u64, act: RootAct, by: &[usize]) -> Entry {
        Entry::new(START, self.signed(number, act, by)).unwrap()
    }
}

fn named(certificate: &[u8]) -> SignerId {
    SignerId::new(vec![Thumbprint::of(certificate)], Vec::new())
}

fn compromised(from: u64) -> RootAct {
    RootAct::Compromised { key: Thumbprint::of(b"signer"), spki: None, from }
}

#[test]
fn it_takes_the_threshold_of_different_root_keys() {
    let ceremony = Ceremony::of(4);
    let anchors = ceremony.anchors(&[0, 1, 2], 2);
    let accepted = |by: &[usize]| anchors.clone().accept(0, &ceremony.entry(1, compromised(0), by));
    assert_eq!(accepted(&[0, 2]), Ok(()));
    assert_eq!(accepted(&[0, 1, 2]), Ok(()));
    for by in [&[][..], &[1], &[1, 3], &[1, 1]] {
        let signed = u64::from(!by.is_empty());
        assert_eq!(accepted(by), Err(RootFault::Threshold { signed, needed: 2 }), "{by:?}");
    }
}

#[test]
fn two_certificates_over_one_key_are_one_signer() {
    let ceremony = Ceremony::of(1);
    let random = SystemRandom::new();
    let again = KeyPair::from_pem(&ceremony.roots[0].key().pem().unwrap(), &random).unwrap();
    let twin = Issuer::root(&RootProfile::new("twin", START - 5), again, &random).unwrap();
    let both = [ceremony.certificates(&[0])[0].clone(), twin.chain().certificates()[0].clone()];
    let keys: Vec<RootKey> =
        both.iter().map(|der| RootKey::of(der, &ChainLimits::default()).unwrap()).collect();
    let mut jws = MultiJws::draft(b"{}", TYPE);
    for issuer in [&ceremony.roots[0], &twin] {
        jws.sign(issuer.key().as_ref(), &issuer.chain().thumbprint(), &random).unwrap();
    }
    assert_eq!(jws.claimed().count(), 2);
    assert_eq!(jws.signers(&keys, START), 1);
}

#[test]
fn a_signature_by_an_expired_root_key_does_not_count() {
    let ceremony = Ceremony::of(1);
    let keys = [RootKey::of(&ceremony.certificates(&[0])[0], &ChainLimits::default()).unwrap()];
    let signed = ceremony.signed(1, compromised(0), &[0]);
    let signers = |at| signed.multi().unwrap().signers(&keys, at);
    let (first, last) = keys[0].validity();
    assert_eq!([signers(first - 1), signers(first), signers(last), signers(last + 1)], [0, 1, 1, 0]);
}

#[test]
fn a_change_of_the_root_takes_the_threshold_of_the_old_and_of_the_new() {
    let ceremony = Ceremony::of(5);
    let anchors = ceremony.anchors(&[0, 1, 2], 2);
    // 0, 1, 2 by two become 2, 3, 4 by three
    let accepted = |by: &[usize]| {
        let mut anchors = anchors.clone();
        anchors.accept(0, &ceremony.entry(1, ceremony.list(3, &[2, 3, 4]), by)).map(|()| anchors)
    };
    assert_eq!(accepted(&[2, 3, 4]).unwrap_err(), RootFault::Threshold { signed: 1, needed: 2 });
    assert_eq!(accepted(&[0, 1]).unwrap_err(), RootFault::OwnThreshold { signed: 0, needed: 3 });
    assert_eq!(accepted(&[0, 1, 2, 3]).unwrap_err(), RootFault::OwnThreshold { signed: 2, needed: 3 });
    let after = accepted(&[0, 2, 3, 4]).unwrap();
    assert_eq!((after.number(), after.threshold(), after.keys().len()), (1, 3, 3));
    let next = |by: &[usize]| after.clone().accept(1, &ceremony.entry(2, compromised(0), by));
    assert_eq!(next(&[0, 1, 2]), Err(RootFault::Threshold { signed: 1, needed: 3 }), "the old keys are out");
    assert_eq!(next(&[2, 3, 4]), Ok(()));
}

#[test]
fn root_statements_count_once_in_their_order_and_for_their_authority() {
    let ceremony = Ceremony::of(1);
    let mut anchors = ceremony.anchors(&[0], 1);
    let first = ceremony.entry(1, compromised(5), &[0]);
    let second = ceremony.entry(2, compromised(3), &[0]);
    assert_eq!(anchors.clone().accept(7, &second), Err(RootFault::Number), "left out");
    anchors.accept(7, &first).unwrap();
    assert_eq!(anchors.clone().accept(8, &first), Err(RootFault::Number), "replayed");
    assert_eq!(anchors.clone().accept(7, &second), Err(RootFault::Order));
    anchors.accept(8, &second).unwrap();
    assert_eq!(anchors.compromised(&named(b"signer")), Some(3), "the earlier index counts");
    let other = RootStatement {
        authority: "other.test".to_owned(),
        number: 3,
        act: compromised(0),
        reason: String::new(),
    };
    let mut jws = MultiJws::draft(&Statement::Root(Box::new(other)).to_bytes().unwrap(), TYPE);
    let root = &ceremony.roots[0];
    jws.sign(root.key().as_ref(), &root.chain().thumbprint(), &SystemRandom::new()).unwrap();
    let entry = Entry::new(START, SignedStatement::of_root(jws, &Prefix::default()).unwrap()).unwrap();
    assert_eq!(anchors.accept(9, &entry), Err(RootFault::Authority), "one root may stand above several");
}

#[test]
fn a_trust_list_names_only_keys_of_this_log() {
    let ceremony = Ceremony::of(1);
    let anchors = ceremony.anchors(&[0], 1);
    let other = LogKey::generate("other.test/log", &SystemRandom::new()).unwrap();
    for log in [other.verifier().to_string(), "semgate.test/log+00000000+AAAA".to_owned()] {
        let list = KeyList::new(1, ceremony.certificates(&[0]), vec![Thumbprint::of(b"i")], vec![log]);
        let entry = ceremony.entry(1, RootAct::Keys(list), &[0]);
        assert_eq!(anchors.clone().accept(0, &entry), Err(RootFault::LogKey));
    }
}

#[test]
fn whoever_is_configured_with_a_later_list_begins_there_and_keeps_what_takes_away() {
    let ceremony = Ceremony::of(3);
    let entries: Vec<RootEntry> = [
        ceremony.entry(1, compromised(4), &[0]),
        ceremony.entry(2, ceremony.list(2, &[1, 2]), &[0, 1, 2]),
        ceremony.entry(
            3,
            RootAct::Compromised { key: Thumbprint::of(b"feed"), spki: None, from: 9 },
            &[1, 2],
        ),
    ]
    .iter()
    .zip(0..)
    .map(|(entry, index)| RootEntry::of(index, entry))
    .collect();
    let read = |anchors: Anchors| anchors.with_entries(&entries, u64::MAX, &Prefix::default());
    for anchors in [ceremony.anchors(&[0], 1), ceremony.anchors(&[1, 2], 2)] {
        let anchors = read(anchors).unwrap();
        assert_eq!((anchors.number(), anchors.threshold()), (3, 2));
        assert_eq!(anchors.compromised(&named(b"signer")), Some(4));
        assert_eq!(anchors.compromised(&named(b"feed")), Some(9));
    }
    let stranger = read(ceremony.anchors(&[2], 1)).unwrap_err();
    assert_eq!(stranger, RootFault::Threshold { signed: 0, needed: 1 }, "no list is its own");
}

/// A mirror left a `signer_compromised` out of what stands before the list that a reader is configured with, and the reader took the rest.
#[test]
fn a_statement_that_is_left_out_before_the_list_that_a_reader_begins_at_is_refused() {
    let ceremony = Ceremony::of(3);
    let said = [
        ceremony.entry(1, ceremony.list(1, &[0]), &[0]),
        ceremony.entry(2, compromised(4), &[0]),
        ceremony.entry(3, ceremony.list(1, &[0]), &[0]),
        ceremony.entry(4, ceremony.list(2, &[1, 2]), &[0, 1, 2]),
    ];
    let newcomer = ceremony.anchors(&[1, 2], 2);
    let read = |entries: &[RootEntry]| newcomer.with_entries(entries, u64::MAX, &Prefix::default());
    let of = |which: &[usize]| which.iter().map(|n| RootEntry::of(*n as u64, &said[*n])).collect::<Vec<_>>();
    assert_eq!(read(&of(&[0, 1, 2, 3])).unwrap().compromised(&named(b"signer")), Some(4));
    for lie in [&[0, 2, 3][..], &[0, 3], &[0, 1, 3], &[1, 2, 3], &[3], &[0, 0, 1, 2, 3], &[0, 2, 1, 3]] {
        let found = read(&of(lie)).unwrap_err();
        let twice = lie == [0, 0, 1, 2, 3];
        assert_eq!(found, if twice { RootFault::Order } else { RootFault::Number }, "{lie:?}");
    }
    let mut swapped = of(&[0, 1, 2, 3]);
    (swapped[1].index, swapped[2].index) = (2, 1);
    assert_eq!(read(&swapped).unwrap_err(), RootFault::Order);
    let mut earlier = of(&[0, 1, 2, 3]);
    earlier[1].logged_at -= 1;
    assert_eq!(read(&earlier).unwrap_err(), RootFault::Order);
    let keys = crate::testing::Keys::new(START - 10);
    let other = Statement::Floor {
        line: Line::parse("payment").unwrap(),
        min: Version::new(1, 0),
        reason: String::new(),
    };
    let other = SignedStatement::sign(other, &keys.status, &keys.random).unwrap();
    let mut between = of(&[0, 1, 2, 3]);
    between[1] = RootEntry::of(1, &Entry::new(START, other).unwrap());
    assert_eq!(read(&between).unwrap_err(), RootFault::OtherKind);
    let foreign = RootStatement {
        authority: "other.test".to_owned(),
        number: 2,
        act: compromised(9),
        reason: String::new(),
    };
    let mut jws = MultiJws::draft(&Statement::Root(Box::new(foreign)).to_bytes().unwrap(), TYPE);
    let root = &ceremony.roots[0];
    jws.sign(root.key().as_ref(), &root.chain().thumbprint(), &SystemRandom::new()).unwrap();
    let foreign = SignedStatement::of_root(jws, &Prefix::default()).unwrap();
    between[1] = RootEntry::of(1, &Entry::new(START, foreign).unwrap());
    assert_eq!(read(&between).unwrap_err(), RootFault::Authority);
}

#[test]
fn payloads_have_one_form_and_only_root_keys_sign_them() {
    let ceremony = Ceremony::of(1);
    let signed = ceremony.signed(1, compromised(2), &[0]);
    let text = String::from_utf8(signed.unverified().to_bytes().unwrap()).unwrap();
    let key = Thumbprint::of(b"signer");
    assert_eq!(
        text,
        format!(
            r#"{{"authority":"semgate.test","from":2,"key":"{key}","kind":"signer_compromised","number":1,"reason":""}}"#
        )
    );
    let again = SignedStatement::read(signed.as_str(), &Prefix::default()).unwrap();
    assert_eq!(again.unverified(), signed.unverified());
    assert_eq!(again.key(), None);
    let spaced = signed.as_str().replace(":[{", ": [{");
    assert_eq!(
        SignedStatement::read(&spaced, &Prefix::default()).err(),
        Some(StatementFault::Format(FormatFault::NotCanonical))
    );
    let keys = crate::testing::Keys::new(START - 10);
    let by_status = SignedStatement::sign(signed.unverified().clone(), &keys.status, &keys.random).unwrap();
    assert_eq!(
        SignedStatement::read(by_status.as_str(), &Prefix::default()).err(),
        Some(StatementFault::OfTheRoot),
        "no single key of a role says what takes the root"
    );
    let read = |text: &str| Statement::read(text.as_bytes(), &Prefix::default());
    for (wrong, fault) in [
        (text.replace(r#""number":1"#, r#""number":-1"#), FormatFault::Member("number")),
        (text.replace(r#""from":2,"#, ""), FormatFault::Member("from")),
        (text.replace(r#""from":2,"#, r#""from":2,"x":1,"#), FormatFault::UnknownMember),
    ] {
        assert_eq!(read(&wrong), Err(StatementFault::Format(fault)));
    }
    let list = ceremony.signed(1, ceremony.list(1, &[0]), &[0]);
    let text = String::from_utf8(list.unverified().to_bytes().unwrap()).unwrap();
    for threshold in ["0", "2"] {
        let wrong = text.replace(r#""threshold":1"#, &format!(r#""threshold":{threshold}"#));
        assert_eq!(read(&wrong), Err(StatementFault::Format(FormatFault::Member("threshold"))));
    }
}
