use super::*;
use crate::testing::MemoryAuthority;
use proptest::prelude::*;
use semgate_certs::KeyId;

fn publish(short: &str, digest: &[u8]) -> Statement {
    Statement::Publish {
        urn: MemoryAuthority::urn(short),
        digest: Digest::of(digest),
        signer: Thumbprint::of(b"signer"),
    }
}

fn change(act: Act, short: &str, index: u64) -> Statement {
    Statement::Change { act, urn: MemoryAuthority::urn(short), index, reason: String::new() }
}

fn floor(line: &str, min: &str) -> Statement {
    Statement::Floor {
        line: Line::parse(line).unwrap(),
        min: Version::parse(min).unwrap(),
        reason: String::new(),
    }
}

/// A log with payment v1.0 at 0 and v1.1 at 1.
fn replay() -> Replay {
    let mut replay = Replay::new();
    replay.apply_statement(10, &publish("payment:v1.0", b"a")).unwrap();
    replay.apply_statement(20, &publish("payment:v1.1", b"b")).unwrap();
    replay
}

fn refused(replay: &Replay, at: u64, statement: &Statement) -> ReplayFault {
    let mut copy = replay.clone();
    let fault = copy.apply_statement(at, statement).unwrap_err();
    assert_eq!(&copy, replay, "a refused statement changes nothing");
    fault
}

#[test]
fn impossible_sequences_are_refused_each_for_its_reason() {
    let mut replay = replay();
    replay.apply_statement(20, &floor("payment", "v1.1")).unwrap();
    use ReplayFault::*;
    for (statement, fault) in [
        (publish("payment:v1.0", b"x"), SecondDigest),
        (publish("payment:v1.0", b"a"), PublishedTwice { index: 0 }),
        (publish("Payment:v2.0", b"x"), LineDiffersInCase),
        (change(Act::Revoke, "payment:v2.0", 0), NotPublished),
        (change(Act::Revoke, "payment:v1.0", 1), WrongIndex { index: 0 }),
        (change(Act::Revoke, "payment:v1.0", 2), WrongIndex { index: 0 }),
        (change(Act::Resume, "payment:v1.0", 0), NotSuspended),
        (floor("payment", "v1.1"), FloorNotRaised),
        (floor("payment", "v1.0"), FloorNotRaised),
        (floor("payment", "v1.2"), FloorAboveVersions),
        (floor("travel", "v1.0"), FloorAboveVersions),
        (floor("Payment", "v1.0"), FloorAboveVersions),
    ] {
        assert_eq!(refused(&replay, 20, &statement), fault, "{statement:?}");
    }
    assert_eq!(refused(&replay, 19, &publish("payment:v2.0", b"c")), LoggedBack);
}

/// Whoever a policy forbids the tree `acme` published `ACME.trade`, and stood below the DNS name of `acme`.
#[test]
fn attack_a_tree_of_lines_in_other_letters_beside_it() {
    let mut replay = replay();
    for line in ["acme.pay.in:v1.0", "acmecorp:v1.0", "Zulu:v1.0"] {
        replay.apply_statement(20, &publish(line, line.as_bytes())).unwrap();
    }
    for other in [
        "ACME:v1.0",
        "ACME.trade:v1.0",
        "acme.Pay:v1.0",
        "acme.Pay.out:v1.0",
        "acme.pay.IN.x:v1.0",
        "zulu.a:v1.0",
    ] {
        assert_eq!(refused(&replay, 20, &publish(other, b"x")), ReplayFault::LineDiffersInCase, "{other}");
    }
    for own in [
        "acme:v1.0",
        "acme.trade:v1.0",
        "acme.pay:v1.0",
        "AcmeCor:v1.0",
        "Acme-x:v1.0",
        "acme.pay.in.x:v1.0",
        "Zulu.a:v1.0",
    ] {
        replay.apply_statement(20, &publish(own, own.as_bytes())).unwrap();
    }
}

#[test]
fn invalid_never_returns() {
    let mut replay = replay();
    replay.apply_statement(30, &change(Act::Revoke, "payment:v1.0", 0)).unwrap();
    for act in Act::ALL {
        let fault = refused(&replay, 30, &change(act, "payment:v1.0", 0));
        assert_eq!(fault, ReplayFault::Revoked, "{act:?}");
    }
    assert_eq!(replay.statuses().get(0), Some(Status::Invalid));
    assert_eq!(replay.statuses().get(2), Some(Status::Valid), "a revoke statement covers nothing itself");
}

#[test]
fn resume_goes_back_to_what_it_was() {
    let mut replay = replay();
    let status = |replay: &Replay| replay.statuses().get(0).unwrap();
    let mut apply = |act, expected| {
        replay.apply_statement(30, &change(act, "payment:v1.0", 0)).unwrap();
        assert_eq!(status(&replay), expected, "{act:?}");
    };
    apply(Act::Suspend, Status::Suspended);
    apply(Act::Resume, Status::Valid);
    apply(Act::Suspend, Status::Suspended);
    apply(Act::Retire, Status::Suspended);
    apply(Act::Resume, Status::Deprecated);
    apply(Act::Suspend, Status::Suspended);
    apply(Act::Resume, Status::Deprecated);
    assert_eq!(refused(&replay, 30, &change(Act::Retire, "payment:v1.0", 0)), ReplayFault::RetiredAlready);
    assert_eq!(refused(&replay, 30, &change(Act::Resume, "payment:v1.0", 0)), ReplayFault::NotSuspended);
    replay.apply_statement(30, &change(Act::Suspend, "payment:v1.0", 0)).unwrap();
    let again = change(Act::Suspend, "payment:v1.0", 0);
    assert_eq!(refused(&replay, 30, &again), ReplayFault::SuspendedAlready);
    assert_eq!(refused(&replay, 30, &change(Act::Retire, "payment:v1.0", 0)), ReplayFault::RetiredAlready);
}

#[test]
fn documents_of_a_prefix_do_not_depend_on_what_comes_after() {
    let mut replay = replay();
    for neighbour in ["pay:v9.9", "payment.x:v0.0", "payments:v1.0", "Payment-2:v3.0"] {
        replay.apply_statement(30, &publish(neighbour, b"a")).unwrap();
    }
    let before = (replay.floors_document("a").to_bytes().unwrap(), replay.listing().to_bytes().unwrap());
    let snapshot = replay.clone();
    replay.apply_statement(40, &floor("payment", "v1.1")).unwrap();
    assert_ne!(replay.floors_document("a").to_bytes().unwrap(), before.0);
    assert_eq!(snapshot.floors_document("a").to_bytes().unwrap(), before.0);
    assert_eq!(snapshot.listing().to_bytes().unwrap(), before.1);
    assert_eq!(replay.last_logged_at(), 40);
    let line = Line::parse("payment").unwrap();
    let versions: Vec<_> = replay.versions(&line).map(|v| v.to_string()).collect();
    assert_eq!(versions, ["v1.0", "v1.1"]);
}

fn statements() -> impl Strategy<Value = Vec<(u64, Statement)>> {
    let names = ["a:v1.0", "a:v1.1", "b:v1.0", "B:v1.0", "a:v2.0"];
    let one = (0u64..3, 0usize..5, 0usize..6, 0u64..6).prop_map(move |(step, name, kind, n)| {
        let statement = match kind {
            0 | 1 => publish(names[name], &[n as u8 / 4]),
            2 => change(Act::Revoke, names[name], n),
            3 => change(Act::Suspend, names[name], n),
            4 => change(Act::ALL[n as usize % 4], names[name], n),
            _ => floor(["a", "b"][name % 2], ["v1.0", "v1.1", "v2.0", "v3.0", "v0.1", "v1.2"][n as usize]),
        };
        (step, statement)
    });
    prop::collection::vec(one, 0..60)
}

proptest! {
    #[test]
    fn whatever_is_tried_the_promises_of_the_log_hold(tries in statements()) {
        let mut replay = Replay::new();
        let mut now = 0;
        for (step, statement) in tries {
            now += step;
            let before = replay.clone();
            if replay.apply_statement(now, &statement).is_err() {
                prop_assert_eq!(&replay, &before);
                continue;
            }
            prop_assert_eq!(replay.size(), before.size() + 1);
            prop_assert_eq!(before.statuses().first_unrevoked(replay.statuses()), None);
            for (line, min) in before.floors() {
                prop_assert!(replay.floors()[line] >= *min);
            }
            for (line, min) in replay.floors() {
                prop_assert!(replay.versions(line).any(|v| v >= *min));
            }
            for (urn, published) in before.contexts() {
                prop_assert_eq!(replay.published(urn), Some(published));
            }
        }
    }
}

fn root(number: u64, act: RootAct) -> Statement {
    let authority = "semgate.test".to_owned();
    Statement::Root(Box::new(RootStatement { authority, number, act, reason: String::new() }))
}

fn compromised(number: u64, key: &[u8], from: u64) -> Statement {
    root(number, RootAct::Compromised { key: Thumbprint::of(key), spki: None, from })
}

#[test]
fn a_compromised_key_loses_what_it_gave_from_an_index_on_and_nothing_that_it_took() {
    let (good, bad) = (Some(Thumbprint::of(b"good")), Some(Thumbprint::of(b"bad")));
    let mut replay = Replay::new();
    for (name, by) in [("a:v1.0", bad), ("a:v1.1", bad), ("b:v1.0", good), ("c:v1.0", good), ("d:v1.0", good)]
    {
        replay.apply_by(10, &publish(name, name.as_bytes()), by).unwrap();
    }
    // by the key whose compromise is known later: a floor, a revocation, two suspensions lifted, of which one is suspended anew
    replay.apply_by(20, &floor("a", "v1.1"), bad).unwrap();
    replay.apply_by(20, &change(Act::Revoke, "b:v1.0", 2), bad).unwrap();
    for (name, index) in [("c:v1.0", 3), ("d:v1.0", 4)] {
        replay.apply_by(20, &change(Act::Suspend, name, index), good).unwrap();
        replay.apply_by(20, &change(Act::Resume, name, index), bad).unwrap();
    }
    replay.apply_by(20, &change(Act::Suspend, "d:v1.0", 4), good).unwrap();
    replay.apply_by(20, &change(Act::Resume, "d:v1.0", 4), good).unwrap();
    replay.apply_statement(30, &compromised(1, b"bad", 1)).unwrap();
    let statuses: Vec<_> = (0..5).map(|index| replay.statuses().get(index).unwrap()).collect();
    let [a, b, c, d, e] = [Status::Valid, Status::Invalid, Status::Invalid, Status::Suspended, Status::Valid];
    assert_eq!(statuses, [a, b, c, d, e]);
    assert_eq!(replay.floors().len(), 1);
    let by_bad = replay.check_by(40, &change(Act::Resume, "c:v1.0", 3), bad);
    assert_eq!(by_bad, Err(ReplayFault::SignerCompromised));
    assert_eq!(replay.check_by(40, &change(Act::Resume, "c:v1.0", 3), good), Ok(()));
    let signed_by_bad = Statement::Publish {
        urn: MemoryAuthority::urn("a:v1.2"),
        digest: Digest::of(b"x"),
        signer: bad.unwrap(),
    };
    assert_eq!(replay.check_by(40, &signed_by_bad, good), Err(ReplayFault::SignerCompromised));
    // earlier still: the rest of it goes too, and nothing comes back
    replay.apply_statement(50, &compromised(2, b"bad", 0)).unwrap();
    assert_eq!(replay.statuses().get(0), Some(Status::Invalid));
    let size = replay.size();
    for (number, from, fault) in [
        (3, 0, ReplayFault::CompromisedFrom),
        (3, 5, ReplayFault::CompromisedFrom),
        (2, 0, ReplayFault::RootNumber),
        (4, 0, ReplayFault::RootNumber),
    ] {
        assert_eq!(replay.check(60, &compromised(number, b"bad", from)), Err(fault));
    }
    assert_eq!(replay.check(60, &compromised(3, b"other", size + 1)), Err(ReplayFault::CompromisedFrom));
    assert_eq!(replay.check(60, &compromised(3, b"other", size)), Ok(()));
}

#[test]
fn the_root_lowers_a_floor_that_there_is() {
    let mut replay = Replay::new();
    replay.apply_statement(10, &publish("a:v1.0", b"a")).unwrap();
    replay.apply_statement(10, &publish("a:v2.0", b"b")).unwrap();
    let lower = |min: &str| {
        let (line, min) = (Line::parse("a").unwrap(), Version::parse(min).unwrap());
        root(1, RootAct::LowerFloor { line, min })
    };
    assert_eq!(replay.check(20, &lower("v1.0")), Err(ReplayFault::FloorNotLowered));
    replay.apply_statement(20, &floor("a", "v2.0")).unwrap();
    assert_eq!(replay.check(20, &lower("v2.0")), Err(ReplayFault::FloorNotLowered));
    replay.apply_statement(20, &lower("v1.0")).unwrap();
    assert_eq!(replay.floors()[&Line::parse("a").unwrap()], Version::parse("v1.0").unwrap());
    assert_eq!(replay.check(30, &floor("a", "v1.1")), Ok(()), "and it rises again");
}

#[test]
fn once_a_key_is_named_nothing_is_folded_of_a_signer_whose_key_is_not_known() {
    let mut replay = Replay::new();
    replay.apply_by(10, &publish("a:v1.0", b"a"), Some(Thumbprint::of(b"signer"))).unwrap();
    let act = RootAct::Compromised { key: Thumbprint::of(b"bad"), spki: Some(KeyId::of(b"bad")), from: 0 };
    let refused = replay.apply_statement(20, &root(1, act.clone()));
    assert_eq!(refused, Err(ReplayFault::SignerUnknown), "a signer of before might be the one");
    let mut replay = Replay::new();
    replay.apply_statement(20, &root(1, act)).unwrap();
    let refused = replay.apply_by(30, &publish("a:v1.0", b"a"), Some(Thumbprint::of(b"signer")));
    assert_eq!(refused, Err(ReplayFault::SignerUnknown));
}
