//! The names of leaves.

use super::Case;
use crate::Usage;
use crate::tests::{World, both, dns, leaf_params, uri};
use rcgen::SanType;

const FORMS: &str = "Semgate requires both forms of a line";
const KINDS: &str = "Semgate defines the kinds of names of each usage";
const WILD: &str = "openssl checks a wildcard against the constraints like any name";
const IDS: &str = "openssl does not read SPIFFE ids";
const RETAILER: &str = "spiffe://semgate.test/agent/retailer-7";

pub(super) fn lines(world: &World) -> Vec<Case> {
    let with = |usage: Usage, names: Vec<SanType>| world.issuer(usage).issue(&leaf_params(usage, names));
    let case =
        |name, names| Case::new(name, world, Usage::Context, &with(Usage::Context, names), &world.contexts);
    let payment = "payment.contexts.invalid";
    let role = |name, names| {
        Case::new(name, world, Usage::Feed, &with(Usage::Feed, names), &world.contexts)
            .refused("names")
            .differs(KINDS)
    };
    let policy = |name, names| {
        Case::new(name, world, Usage::Policy, &with(Usage::Policy, names), &world.contexts)
            .refused("names")
            .differs(KINDS)
    };
    let tree = || dns(crate::CONTEXTS_TREE);
    let signer = || uri("spiffe://semgate.test/policy-signer");
    let extra = |more: SanType| [both("payment"), vec![more]].concat();
    let mail = SanType::Rfc822Name("a@semgate.test".try_into().unwrap());
    vec![
        policy("a policy leaf without an id", vec![tree()]),
        policy("a policy leaf without the tree of all lines", vec![signer()]),
        policy("a policy leaf of one line", vec![dns(payment), signer()]),
        policy("a policy leaf with two ids", vec![tree(), signer(), uri("spiffe://semgate.test/other")]),
        policy("a policy leaf whose URI is no id", vec![tree(), uri("urn:contexts:payment")]),
        case("the URI form alone", vec![uri("urn:contexts:payment")])
            .refused("names_disagree")
            .differs(FORMS),
        case("the DNS form alone", vec![dns(payment)]).refused("names_disagree").differs(FORMS),
        case("two forms of two lines", vec![dns(payment), uri("urn:contexts:travel")])
            .refused("names_disagree")
            .differs(FORMS),
        case("one DNS form more than URI forms", extra(dns("travel.contexts.invalid")))
            .refused("names_disagree")
            .differs(FORMS),
        case("one URI form more than DNS forms", extra(uri("urn:contexts:travel")))
            .refused("names_disagree")
            .differs(FORMS),
        case("two lines that differ only in case", extra(uri("urn:contexts:Payment")))
            .refused("names_disagree")
            .differs(FORMS),
        case("a line in mixed case with its DNS form in lower case", both("PayMent")),
        case("a DNS form in upper case", vec![dns("Payment.contexts.invalid"), uri("urn:contexts:payment")])
            .refused("names_disagree")
            .differs(FORMS),
        case(
            "the labels of a DNS form not reversed",
            vec![dns("acme.x.contexts.invalid"), uri("urn:contexts:acme.x")],
        )
        .refused("names_disagree")
        .differs(FORMS),
        case("a wildcard line", vec![dns("*.contexts.invalid"), uri("urn:contexts:payment")])
            .refused("wildcard")
            .differs(WILD),
        case("a wildcard URI", vec![dns(payment), uri("urn:contexts:*")]).refused("wildcard").differs(WILD),
        case("a URI with a version", vec![dns(payment), uri("urn:contexts:payment:v1.0")])
            .refused("names")
            .differs(KINDS),
        case("a URI with another prefix", vec![dns(payment), uri("urn:other:payment")])
            .refused("names")
            .differs(KINDS),
        case("a line with a mail address beside it", extra(mail)).refused("names").differs(KINDS),
        case("a line with an address beside it", extra(SanType::IpAddress([127, 0, 0, 1].into())))
            .refused("names")
            .differs(KINDS),
        case("a context leaf without names", Vec::new()).refused("names").differs(KINDS),
        role("a feed leaf without names", Vec::new()),
        role("a feed leaf with a URI", both("payment")),
        Case::new(
            "an agent that claims a line, from an issuer that may not",
            world,
            Usage::Agent,
            &with(Usage::Agent, vec![uri(RETAILER), dns(payment)]),
            &world.tls,
        )
        .refused("name_constraints"),
    ]
}

pub(super) fn peers(world: &World) -> Vec<Case> {
    let case = |name, names: Vec<SanType>| {
        let leaf = world.tls.issue(&leaf_params(Usage::Agent, names));
        Case::new(name, world, Usage::Agent, &leaf, &world.tls).of_peer()
    };
    vec![
        case("a peer with one SPIFFE id", vec![uri(RETAILER)]),
        case("a peer with a SPIFFE id and a host name", vec![uri(RETAILER), dns("retailer.agents.test")]),
        case("a peer with two SPIFFE ids", vec![uri(RETAILER), uri("spiffe://semgate.test/operator")])
            .refused("several_ids")
            .differs(IDS),
        case("a peer with a SPIFFE id and another URI", vec![uri(RETAILER), uri("https://semgate.test/")])
            .refused("several_ids")
            .differs(IDS),
        case("a peer with a host name only", vec![dns("retailer.agents.test")])
            .refused("no_spiffe_id")
            .differs(IDS),
        case("a peer with a web address only", vec![uri("https://semgate.test/agent/retailer-7")])
            .refused("not_spiffe")
            .differs(IDS),
        case("a peer whose id has dot segments", vec![uri("spiffe://semgate.test/agent/../operator")])
            .refused("not_spiffe")
            .differs(IDS),
        case("a peer whose id is in upper case", vec![uri("SPIFFE://SEMGATE.TEST/agent/retailer-7")])
            .refused("not_spiffe")
            .differs(IDS),
        case("a peer of an unknown trust domain", vec![uri("spiffe://other.test/agent/retailer-7")])
            .refused("unknown_trust_domain")
            .differs(IDS),
        case("a peer with a wildcard host", vec![uri(RETAILER), dns("*.agents.test")])
            .refused("wildcard")
            .differs(WILD),
    ]
}
