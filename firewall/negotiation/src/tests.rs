//! Agents with certificates of one throw-away root, for the tests of this crate.

use crate::responder::SupportedContext;
use crate::{Features, Floors, Identity, InitiatorConfig, Minimum, Offer, ResponderConfig, Trust};
use ring::rand::SystemRandom;
use semgate_certs::{
    ChainLimits, Family, Issuer, IssuingProfile, KeyPair, LeafProfile, PeerRoots, RootProfile, Roots,
    SpiffeId, TrustDomain,
};
use semgate_contexts::{ContextUrn, Digest, Line, Prefix, Version};
use semgate_statement::SigningIdentity;

/// 2026-06-01T00:00:00Z.
pub(crate) const NOW: u64 = 1_780_272_000;
pub(crate) const A: &str = "spiffe://semgate.test/agent/retailer-7";
pub(crate) const B: &str = "spiffe://semgate.test/agent/wholesaler-1";
pub(crate) const CONTEXT: &str = "urn:contexts:snl:v1.0";
pub(crate) const AUTHORITY: &str = "authority.test";

/// A root, its issuing certificate and what trusts them.
pub(crate) struct World {
    pub(crate) roots: PeerRoots,
    pub(crate) prefix: Prefix,
    pub(crate) random: SystemRandom,
    pub(crate) issuer: Issuer,
    pub(crate) root_pem: String,
}

impl World {
    pub(crate) fn new() -> World {
        let random = SystemRandom::new();
        let key = || KeyPair::generate(&random).unwrap();
        let since = NOW - 86_400;
        let root = Issuer::root(&RootProfile::new("test root", since), key(), &random).unwrap();
        let profile = IssuingProfile::new("test agents", Family::Tls, since);
        let issuer = root.issuing(&profile, key(), &random).unwrap();
        let trusted = Roots::from_der(root.chain().certificates().to_vec(), &ChainLimits::default()).unwrap();
        let roots = PeerRoots::new().with(TrustDomain::parse("semgate.test").unwrap(), trusted);
        let root_pem = root.chain().to_pem();
        World { roots, prefix: Prefix::default(), random, issuer, root_pem }
    }

    pub(crate) fn trust(&self) -> Trust<'_> {
        Trust { roots: &self.roots, prefix: &self.prefix }
    }

    pub(crate) fn signing(&self, profile: &LeafProfile) -> SigningIdentity {
        let key = KeyPair::generate(&self.random).unwrap();
        let chain = self.issuer.leaf(profile, key.public(), &self.random).unwrap();
        SigningIdentity::new(key, chain)
    }

    pub(crate) fn agent(&self, id: &str) -> Identity {
        let signing = self.signing(&LeafProfile::agent(spiffe(id), NOW - 3_600));
        Identity::new(signing, &self.trust(), &self.random, NOW).unwrap()
    }

    pub(crate) fn server(&self, id: &str) -> Identity {
        let profile = LeafProfile::server(Some(spiffe(id)), vec![], vec![], NOW - 3_600);
        Identity::new(self.signing(&profile), &self.trust(), &self.random, NOW).unwrap()
    }
}

pub(crate) fn spiffe(id: &str) -> SpiffeId {
    SpiffeId::parse(id).unwrap()
}

pub(crate) fn urn(short: &str) -> ContextUrn {
    ContextUrn::parse_short(short, &Prefix::default()).unwrap()
}

pub(crate) fn offer(short: &str) -> Offer {
    Offer { urn: urn(short), digest: Digest::of(short.as_bytes()), features: Features::none() }
}

pub(crate) fn with_features(short: &str, features: &[&str]) -> Offer {
    Offer { features: Features::sorted(features.iter().copied()).unwrap(), ..offer(short) }
}

pub(crate) fn minimum(line: &str, min: &str) -> Minimum {
    Minimum { line: Line::parse(line).unwrap(), min: Version::parse(min).unwrap() }
}

pub(crate) fn opening(contexts: &[&str]) -> InitiatorConfig {
    let contexts = contexts.iter().map(|short| offer(short)).collect();
    InitiatorConfig { to: spiffe(B), contexts, minimums: Vec::new(), seal_to: None }
}

pub(crate) fn answering(contexts: &[&str]) -> ResponderConfig {
    let spoken = |short: &&str| SupportedContext { offer: offer(short), authority: AUTHORITY.to_owned() };
    ResponderConfig { contexts: contexts.iter().map(spoken).collect(), ..ResponderConfig::default() }
}

pub(crate) fn floor_of_authority(line: &str, min: &str) -> (Line, Floors) {
    let floors = Floors { authority: Some(Version::parse(min).unwrap()), ..Floors::default() };
    (Line::parse(line).unwrap(), floors)
}

/// How often a fuzz test tries: `SEMGATE_FUZZ_CASES`, 256 unless set.
pub(crate) fn fuzz_cases() -> proptest::test_runner::Config {
    let cases = std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(256);
    proptest::test_runner::Config { cases, failure_persistence: None, ..Default::default() }
}
