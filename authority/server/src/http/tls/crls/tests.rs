use super::*;
use ring::rand::SystemRandom;
use semgate_certs::{
    ChainFault, ChainLimits, CrlProfile, CrlShards, Family, Issuer, IssuingProfile, KeyPair, LeafProfile,
    Revoked, RootProfile, SpiffeId, Usage, verify_chain,
};

const NOW: u64 = 1_800_000_000;

fn key() -> KeyPair {
    KeyPair::generate(&SystemRandom::new()).unwrap()
}

fn none_yet(dir: &Path) -> ClientCrls {
    ClientCrls {
        dir: dir.to_owned(),
        verified: VerifiedCrls::new(CrlLimits::default()),
        store: Arc::default(),
        seen: BTreeMap::new(),
        again: BTreeSet::new(),
    }
}

/// Writes as `semgate cert crl` does.
fn write(dir: &Path, by: &Issuer, number: u64, revoked: &[Revoked]) {
    write_from(NOW, dir, by, number, revoked);
}

fn write_from(this_update: u64, dir: &Path, by: &Issuer, number: u64, revoked: &[Revoked]) {
    let places = CrlShards::new("https://authority.test/v1/crl", 1).unwrap();
    let profile = CrlProfile { shard: 0, number, this_update, next_update: this_update + 3600, revoked };
    let der = by.crl(&places, &profile, &SystemRandom::new()).unwrap();
    std::fs::create_dir_all(dir.join("1")).unwrap();
    std::fs::write(dir.join("new"), der).unwrap();
    std::fs::rename(dir.join("new"), dir.join("1/0.crl")).unwrap();
    std::fs::write(dir.join(ISSUER), by.chain().to_pem()).unwrap();
}

#[test]
fn lists_of_two_issuers_are_read_again_when_they_change_and_a_forged_one_leaves_what_is_held() {
    let random = SystemRandom::new();
    let root = Issuer::root(&RootProfile::new("root", NOW - 10), key(), &random).unwrap();
    let stranger = Issuer::root(&RootProfile::new("root", NOW - 10), key(), &random).unwrap();
    let profile = IssuingProfile::new("tls", Family::Tls, NOW - 10);
    let issuing = |by: &Issuer| by.issuing(&profile, key(), &random).unwrap();
    let (first, second, forger) = (issuing(&root), issuing(&root), issuing(&stranger));
    let places = CrlShards::new("https://authority.test/v1/crl", 1).unwrap();
    let leaf = |by: &Issuer| {
        let id = SpiffeId::parse("spiffe://semgate.test/publisher/a").unwrap();
        by.leaf(&LeafProfile::agent(id, NOW).crl(places.clone()), key().public(), &random).unwrap()
    };
    let (one, two) = (leaf(&first), leaf(&second));
    let dir = tempfile::tempdir().unwrap();
    let roots = Roots::from_pem(&root.chain().to_pem(), &ChainLimits::default()).unwrap();
    let mut crls = none_yet(dir.path());
    let judged = |crls: &ClientCrls, chain: &semgate_certs::Chain, at: u64| {
        verify_chain(chain, &roots.clone().with_crls(crls.store()), Usage::Agent, at).map(drop)
    };
    crls.refresh(&roots, true, NOW, None);
    assert_eq!(judged(&crls, &one, NOW), Err(ChainFault::RevocationUnknown), "there is no list yet");
    write(dir.path(), &first, 1, &[]);
    crls.refresh(&roots, false, NOW, None);
    assert_eq!(judged(&crls, &one, NOW), Ok(()));
    assert_eq!(
        judged(&crls, &two, NOW),
        Err(ChainFault::RevocationUnknown),
        "of another key of the same name"
    );
    write(&dir.path().join("next"), &second, 1, &[]);
    crls.refresh(&roots, false, NOW, None);
    assert_eq!((judged(&crls, &one, NOW), judged(&crls, &two, NOW)), (Ok(()), Ok(())));
    let revoked = Revoked::of(&one.certificates()[0], NOW).unwrap();
    write(dir.path(), &first, 2, &[revoked]);
    crls.refresh(&roots, false, NOW, None);
    assert_eq!(judged(&crls, &one, NOW), Err(ChainFault::Revoked));
    // lists by somebody else, and older ones put back
    write(dir.path(), &forger, u64::MAX, &[]);
    crls.refresh(&roots, false, NOW, None);
    assert_eq!(judged(&crls, &one, NOW), Err(ChainFault::Revoked));
    write(dir.path(), &first, 1, &[]);
    crls.refresh(&roots, false, NOW, None);
    assert_eq!(judged(&crls, &one, NOW), Err(ChainFault::Revoked));
    assert_eq!(judged(&crls, &two, NOW), Ok(()));
    assert_eq!(judged(&crls, &two, NOW + 3601), Err(ChainFault::CrlExpired), "a stale list lets nobody in");
}

/// Other bytes in place of these, while the file looks as it did: what was read is not what is there.
fn misread(file: &Path, mut meanwhile: impl FnMut()) {
    let (bytes, modified) =
        (std::fs::read(file).unwrap(), std::fs::metadata(file).unwrap().modified().unwrap());
    let put = |bytes: &[u8]| {
        std::fs::write(file, bytes).unwrap();
        std::fs::File::options().write(true).open(file).unwrap().set_modified(modified).unwrap();
    };
    put(&vec![0xff; bytes.len()]);
    meanwhile();
    put(&bytes);
}

#[test]
fn a_list_that_begins_later_or_was_misread_once_is_taken_by_a_later_look_though_no_file_changes() {
    let random = SystemRandom::new();
    let root = Issuer::root(&RootProfile::new("root", NOW - 10), key(), &random).unwrap();
    let by = root.issuing(&IssuingProfile::new("tls", Family::Tls, NOW - 10), key(), &random).unwrap();
    let roots = Roots::from_pem(&root.chain().to_pem(), &ChainLimits::default()).unwrap();
    let places = CrlShards::new("https://authority.test/v1/crl", 1).unwrap();
    let id = SpiffeId::parse("spiffe://semgate.test/publisher/a").unwrap();
    let leaf = by.leaf(&LeafProfile::agent(id, NOW).crl(places), key().public(), &random).unwrap();
    let judged = |crls: &ClientCrls, at: u64| {
        verify_chain(&leaf, &roots.clone().with_crls(crls.store()), Usage::Agent, at).map(drop)
    };
    let metrics = Metrics::new();
    let counted = |result: &str, times: u64| {
        let line = format!("semgate_authority_client_crls_total{{result=\"{result}\"}} {times}\n");
        assert!(metrics.render().contains(&line), "{result}: {}", metrics.render());
    };
    let dir = tempfile::tempdir().unwrap();
    let mut crls = none_yet(dir.path());
    write_from(NOW + 60, dir.path(), &by, 1, &[]);
    for at in [NOW, NOW + 1, NOW + 59] {
        crls.refresh(&roots, false, at, Some(&metrics));
        assert_eq!(judged(&crls, at), Err(ChainFault::RevocationUnknown), "it begins later");
    }
    counted("early", 1);
    crls.refresh(&roots, false, NOW + 60, Some(&metrics));
    assert_eq!(judged(&crls, NOW + 60), Ok(()));
    counted("taken", 1);
    for file in ["1/0.crl", ISSUER] {
        let mut crls = none_yet(dir.path());
        misread(&dir.path().join(file), || {
            for _ in 0..2 {
                crls.refresh(&roots, false, NOW + 60, Some(&metrics));
                assert_eq!(judged(&crls, NOW + 60), Err(ChainFault::RevocationUnknown), "{file}");
            }
        });
        crls.refresh(&roots, false, NOW + 60, Some(&metrics));
        assert_eq!(judged(&crls, NOW + 60), Ok(()), "{file}");
        assert!(crls.again.is_empty());
    }
    counted("refused", 2);
    counted("taken", 3);
}
