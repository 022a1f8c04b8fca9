use super::*;
use crate::follower::Follower;
use crate::replay::ReplayFault;
use crate::root::{Anchors, RootAct, RootFault, RootStatement};
use crate::statement::{Act, SignedStatement, Statement, StatementFault};
use crate::testing::{MemoryAuthority, START};
use crate::verify_log::verify_log;
use crate::view::{Standing, View};
use crate::{Entry, FollowFault, Lines};
use proptest::prelude::*;
use ring::rand::SystemRandom;
use semgate_certs::{ChainFault, KeyPair, LeafProfile};
use semgate_contexts::Prefix;

const UNTIL: u64 = START + 30 * 86_400;

fn document(short: &str) -> Vec<u8> {
    MemoryAuthority::document(short, "thing")
}

/// Our private authority with `house`, a public one with `payment` and `travel`, and a third with `goods`.
fn three() -> [MemoryAuthority; 3] {
    let ours = MemoryAuthority::named("ours.test", "ours.test/log", START);
    let theirs = MemoryAuthority::named("theirs.test", "theirs.test/log", START);
    let third = MemoryAuthority::named("third.test", "third.test/log", START);
    let mut all = [ours, theirs, third];
    for (at, lines) in [(0, &["house"][..]), (1, &["payment", "travel"]), (2, &["goods"])] {
        for line in lines {
            all[at].publish(&document(&format!("{line}:v1.0")));
            all[at].publish(&document(&format!("{line}:v2.0")));
        }
    }
    all
}

/// A gateway's side: the followers of two authorities, the second one recognised by the first.
struct Side {
    ours: Follower,
    theirs: Follower,
    recogniser: Recogniser,
}

impl Side {
    fn new(ours: &MemoryAuthority, theirs: &MemoryAuthority, lines: &[&str]) -> Side {
        let mut config = theirs.config();
        config.lines = Lines::parse(lines).unwrap();
        config.recognised = true;
        let theirs = Follower::without_memory(config);
        let mut config = ours.config();
        config.lines = Lines::parse(&["house", "house.*"]).unwrap();
        Side { ours: Follower::without_memory(config), theirs, recogniser: Recogniser::default() }
    }

    fn follow(&mut self, ours: &mut MemoryAuthority, theirs: &mut MemoryAuthority) {
        ours.follow(&mut self.ours).unwrap();
        theirs.follow(&mut self.theirs).unwrap();
    }

    fn view(&mut self) -> View {
        self.recogniser.judge(&self.theirs.view(), &self.ours.view())
    }

    fn standing(&mut self, short: &str, now: u64) -> Standing {
        self.view().standing(&MemoryAuthority::urn(short), now)
    }
}

fn why(standing: Standing) -> NotRecognised {
    match standing {
        Standing::Unrecognised(why) => why,
        other => panic!("{other}"),
    }
}

fn refused_lines(side: &mut Side, now: u64) -> Vec<(String, NotRecognised, u64)> {
    let view = side.view();
    let told = view.unrecognised_lines(now).into_iter();
    told.map(|(line, told)| (line.as_str().to_owned(), told.why, told.contexts)).collect()
}

#[test]
fn a_line_counts_while_its_authority_is_recognised_for_it_and_no_other_line_does() {
    let [mut ours, mut theirs, _] = three();
    let mut side = Side::new(&ours, &theirs, &["payment", "travel"]);
    side.follow(&mut ours, &mut theirs);
    assert_eq!(why(side.standing("payment:v1.0", START)), NotRecognised::Absent);
    ours.recognise(ours.recognition(&theirs, &[("payment", None)], UNTIL));
    side.follow(&mut ours, &mut theirs);
    assert_eq!(side.standing("payment:v1.0", START), Standing::Valid);
    assert_eq!(why(side.standing("travel:v1.0", START)), NotRecognised::OutsideScope);
    assert_eq!(refused_lines(&mut side, START), [("travel".to_owned(), NotRecognised::OutsideScope, 2)]);
    assert_eq!(side.view().unrecognised_contexts(START), 2);
    assert_eq!(refused_lines(&mut side, UNTIL), [], "all has ended, which is told of the authority");
    // what the other revokes is revoked, and what it suspends is suspended
    theirs.change(Act::Suspend, "payment:v1.0");
    theirs.change(Act::Revoke, "payment:v2.0");
    side.follow(&mut ours, &mut theirs);
    assert_eq!(side.standing("payment:v1.0", START), Standing::Suspended);
    assert_eq!(side.standing("payment:v2.0", START), Standing::Revoked);
    // and ours stays what it was
    assert_eq!(side.ours.view().standing(&MemoryAuthority::urn("house:v1.0"), START), Standing::Valid);
    assert!(verify_log(&mut ours.clone(), &ours.config(), START).is_ok());
}

#[test]
fn a_withdrawal_ends_it_at_once_and_a_new_statement_of_the_root_begins_it_again() {
    let [mut ours, mut theirs, _] = three();
    let mut side = Side::new(&ours, &theirs, &["payment"]);
    ours.recognise(ours.recognition(&theirs, &[("payment", None)], UNTIL));
    side.follow(&mut ours, &mut theirs);
    assert_eq!(side.standing("payment:v1.0", START), Standing::Valid);
    ours.now += 10;
    theirs.change(Act::Revoke, "payment:v2.0");
    ours.withdraw("theirs.test");
    side.follow(&mut ours, &mut theirs);
    assert_eq!(why(side.standing("payment:v1.0", ours.now)), NotRecognised::Withdrawn);
    // all are counted, and not only those of a line that is left out while others count
    let view = side.view();
    assert_eq!(view.unrecognised_contexts(ours.now), view.contexts().count() as u64);
    // what was revoked stays revoked, and withdrawn stays withdrawn when the feed is stale
    assert_eq!(side.standing("payment:v2.0", ours.now), Standing::Revoked);
    assert_eq!(why(side.standing("payment:v1.0", ours.now + 86_400)), NotRecognised::Withdrawn);
    assert!(verify_log(&mut ours.clone(), &ours.config(), ours.now).is_ok());
    ours.recognise(ours.recognition(&theirs, &[("payment", None)], UNTIL));
    side.follow(&mut ours, &mut theirs);
    assert_eq!(side.standing("payment:v1.0", ours.now), Standing::Valid);
}

#[test]
fn a_withdrawal_in_a_head_that_is_refused_for_its_floors_counts_all_the_same() {
    let [mut ours, mut theirs, _] = three();
    let mut side = Side::new(&ours, &theirs, &["payment"]);
    ours.recognise(ours.recognition(&theirs, &[("payment", None)], UNTIL));
    side.follow(&mut ours, &mut theirs);
    ours.now += 10;
    ours.withdraw("theirs.test");
    ours.serve_instead("/v1/floors", b"not the floors".to_vec());
    ours.head.floors = [7; 32];
    ours.sign_head();
    assert_eq!(ours.follow(&mut side.ours), Err(FollowFault::FloorsSwapped));
    assert_eq!(why(side.standing("payment:v1.0", ours.now)), NotRecognised::Withdrawn);
}

#[test]
fn both_feeds_must_be_fresh_to_the_second() {
    let [mut ours, mut theirs, _] = three();
    let mut side = Side::new(&ours, &theirs, &["payment"]);
    ours.recognise(ours.recognition(&theirs, &[("payment", None)], UNTIL));
    side.follow(&mut ours, &mut theirs);
    // ours goes on, theirs is silent
    ours.now += 300;
    ours.renew();
    ours.follow(&mut side.ours).unwrap();
    assert_eq!(side.standing("payment:v1.0", START + 599), Standing::Valid);
    assert_eq!(side.standing("payment:v1.0", START + 600), Standing::Stale);
    assert_eq!(side.view().counts_until(), START + 600);
    // theirs goes on, ours is silent
    theirs.now = ours.now + 100;
    theirs.renew();
    theirs.follow(&mut side.theirs).unwrap();
    assert_eq!(side.standing("payment:v1.0", START + 899), Standing::Valid);
    assert_eq!(side.standing("payment:v1.0", START + 900), Standing::Stale);
    // a view of theirs alone would have gone on
    let alone = side.theirs.view();
    assert_eq!(alone.standing(&MemoryAuthority::urn("payment:v1.0"), START + 900), Standing::Valid);
}

#[test]
fn before_ours_was_heard_nobody_can_know_and_everything_is_stale() {
    let [ours, mut theirs, _] = three();
    let mut side = Side::new(&ours, &theirs, &["payment"]);
    theirs.follow(&mut side.theirs).unwrap();
    assert_eq!(side.standing("payment:v1.0", START), Standing::Stale);
}

#[test]
fn it_ends_at_its_second_although_both_feeds_are_fresh() {
    let [mut ours, mut theirs, _] = three();
    let mut side = Side::new(&ours, &theirs, &["payment"]);
    ours.recognise(ours.recognition(&theirs, &[("payment", None)], START + 100));
    side.follow(&mut ours, &mut theirs);
    assert_eq!(side.standing("payment:v1.0", START + 99), Standing::Valid);
    assert_eq!(why(side.standing("payment:v1.0", START + 100)), NotRecognised::Ended);
    assert_eq!(side.view().counts_until(), START + 100);
}

#[test]
fn its_floor_and_its_maximum_age_count_where_they_are_stricter() {
    let [mut ours, mut theirs, _] = three();
    let mut side = Side::new(&ours, &theirs, &["payment"]);
    let mut recognition = ours.recognition(&theirs, &[("payment", Some("v2.0"))], UNTIL);
    recognition.max_status_age = 60;
    ours.recognise(recognition);
    side.follow(&mut ours, &mut theirs);
    let line = Line::parse("payment").unwrap();
    assert_eq!(side.theirs.view().floor(&line), None);
    assert_eq!(side.view().floor(&line), Some(Version::new(2, 0)));
    assert_eq!(side.standing("payment:v2.0", START + 59), Standing::Valid);
    assert_eq!(side.standing("payment:v2.0", START + 60), Standing::Stale);
    // a higher floor of the other's own is not lowered
    theirs.publish(&document("payment:v3.0"));
    theirs.floor("payment", "v3.0");
    side.follow(&mut ours, &mut theirs);
    assert_eq!(side.view().floor(&line), Some(Version::new(3, 0)));
}

#[test]
fn recognition_is_never_passed_on() {
    let [mut ours, mut theirs, mut third] = three();
    theirs.recognise(theirs.recognition(&third, &[("goods", None)], UNTIL));
    ours.recognise(ours.recognition(&theirs, &[("payment", None), ("goods", None)], UNTIL));
    let mut side = Side::new(&ours, &theirs, &["payment"]);
    side.follow(&mut ours, &mut theirs);
    let mut far = Side::new(&theirs, &third, &["goods"]);
    third.follow(&mut far.theirs).unwrap();
    // by what theirs says, as ours recognises it
    let judged = far.recogniser.judge(&far.theirs.view(), &side.view());
    let goods = MemoryAuthority::urn("goods:v1.0");
    assert_eq!(why(judged.standing(&goods, START)), NotRecognised::Indirect);
    // and by what ours says of the third, which is nothing
    let judged = Recogniser::default().judge(&far.theirs.view(), &side.ours.view());
    assert_eq!(why(judged.standing(&goods, START)), NotRecognised::Absent);
    // whoever is configured with theirs by itself may follow its word
    theirs.follow(&mut far.ours).unwrap();
    assert_eq!(far.standing("goods:v1.0", START), Standing::Valid);
}

#[test]
fn a_public_authority_signs_no_private_line_with_whatever_certificates() {
    let [mut ours, mut theirs, _] = three();
    // the public one publishes our private line, by valid certificates of its own
    theirs.publish(&document("house:v1.0"));
    theirs.publish(&document("house.cellar:v1.0"));
    let mut side = Side::new(&ours, &theirs, &["payment", "house", "house.*"]);
    ours.recognise(ours.recognition(&theirs, &[("payment", None)], UNTIL));
    side.follow(&mut ours, &mut theirs);
    assert_eq!(why(side.standing("house:v1.0", START)), NotRecognised::OwnLine);
    assert_eq!(why(side.standing("house.cellar:v1.0", START)), NotRecognised::OwnLine);
    // our own of the same name is another one, with another digest's fate: neither speaks for the other
    theirs.change(Act::Revoke, "house:v1.0");
    side.follow(&mut ours, &mut theirs);
    assert_eq!(side.ours.view().standing(&MemoryAuthority::urn("house:v1.0"), START), Standing::Valid);
    // no recognition gives it away
    for line in ["house", "house.cellar", "HOUSE"] {
        let given = RootAct::Recognise(ours.recognition(&theirs, &[(line, None)], UNTIL));
        let statement = ours.signed_by_root(given, &[]);
        assert_eq!(ours.replay.check(START, statement.unverified()), Err(ReplayFault::LineTaken), "{line}");
    }
}

#[test]
fn a_signer_with_a_name_outside_of_the_scope_counts_for_nothing() {
    let [mut ours, mut theirs, _] = three();
    let wide = theirs.keys.signer(&["payment", "travel"]);
    let context = theirs.pretend(&document("payment:v3.0"));
    theirs.publish_by(&context, &wide, &wide);
    // the document by a good signer, the statement by the wide one
    let context = theirs.pretend(&document("payment:v4.0"));
    let good = theirs.signer(&Line::parse("payment").unwrap());
    theirs.publish_by(&context, &good, &wide);
    let mut side = Side::new(&ours, &theirs, &["payment"]);
    ours.recognise(ours.recognition(&theirs, &[("payment", None)], UNTIL));
    side.follow(&mut ours, &mut theirs);
    let outside = NotRecognised::Signer(ChainFault::NotPermittedByNameConstraints);
    assert_eq!(why(side.standing("payment:v3.0", START)), outside);
    assert_eq!(why(side.standing("payment:v4.0", START)), outside);
    assert_eq!(side.standing("payment:v1.0", START), Standing::Valid);
}

#[test]
fn a_context_below_an_issuing_certificate_that_nobody_crossed_does_not_count() {
    let [mut ours, mut theirs, third] = three();
    let mut recognition = ours.recognition(&third, &[("payment", None)], UNTIL);
    recognition.recognised = theirs.name.clone();
    recognition.origin = theirs.head.origin.clone();
    let mut side = Side::new(&ours, &theirs, &["payment"]);
    ours.recognise(recognition);
    side.follow(&mut ours, &mut theirs);
    let fault = why(side.standing("payment:v1.0", START));
    assert!(
        matches!(fault, NotRecognised::Signer(ChainFault::UnknownIssuer | ChainFault::BadSignature)),
        "{fault}"
    );
}

#[test]
fn a_recognition_of_another_log_of_that_name_is_none() {
    let [mut ours, mut theirs, _] = three();
    let mut recognition = ours.recognition(&theirs, &[("payment", None)], UNTIL);
    recognition.origin = "theirs.test/other".to_owned();
    let mut side = Side::new(&ours, &theirs, &["payment"]);
    ours.recognise(recognition);
    side.follow(&mut ours, &mut theirs);
    assert_eq!(why(side.standing("payment:v1.0", START)), NotRecognised::OtherLog);
}

#[test]
fn cross_certified_signers_publish_nothing_in_the_log_of_the_one_that_recognises() {
    let [mut ours, theirs, _] = three();
    let recognition = ours.recognition(&theirs, &[("payment", None)], UNTIL);
    let cross = recognition.cross[0].clone();
    ours.recognise(recognition);
    // a chain of theirs that ends at our root, handed in at our log by whoever may
    let random = SystemRandom::new();
    let key = KeyPair::generate(&random).unwrap();
    let line = vec![Line::parse("payment").unwrap()];
    let leaf =
        theirs.keys.contexts.leaf(&LeafProfile::context(line, START - 60), key.public(), &random).unwrap();
    let chain = vec![leaf.certificates()[0].clone(), cross];
    let chain = semgate_certs::Chain::from_der(chain, &ChainLimits::default()).unwrap();
    let by = crate::SigningIdentity::new(key, chain);
    let context = ours.pretend(&document("payment:v1.0"));
    let statement =
        Statement::Publish { urn: context.urn().clone(), digest: *context.digest(), signer: by.thumbprint() };
    assert_eq!(ours.replay.check(START, &statement), Err(ReplayFault::LineRecognised));
    let chain = |roots| semgate_certs::verify_chain(&by.chain, roots, semgate_certs::Usage::Context, START);
    assert!(chain(&ours.keys.roots).is_ok(), "it does end at our root");
    assert_eq!(chain(anchors(&ours).roots()).err(), Some(ChainFault::IssuerNotListed));
}

fn anchors(ours: &MemoryAuthority) -> Anchors {
    let config = ours.config();
    let anchors = Anchors::new(&config.authority, &config.origin, &config.roots, 1, &config.log);
    anchors.with_entries(ours.trust.root(), u64::MAX, &config.prefix).unwrap()
}

fn judged(ours: &MemoryAuthority, act: RootAct) -> Result<(), RootFault> {
    let mut anchors = anchors(ours);
    let entry = Entry::new(START, ours.signed_by_root(act, &[])).unwrap();
    anchors.accept(u64::MAX, &entry)
}

#[test]
fn a_recognition_that_is_not_good_is_refused_by_reason() {
    let [mut ours, theirs, third] = three();
    let good = ours.recognition(&theirs, &[("payment", None)], UNTIL);
    let refused = |ours: &MemoryAuthority, recognition: Recognition| {
        judged(ours, RootAct::Recognise(recognition)).map_err(|fault| match fault {
            RootFault::Recognition(fault) => fault.as_str(),
            other => panic!("{other}"),
        })
    };
    assert_eq!(refused(&ours, good.clone()), Err("no_list"));
    ours.root(RootAct::Keys(ours.key_list()), &[]);
    assert_eq!(refused(&ours, good.clone()), Ok(()));
    let with = |change: &dyn Fn(&mut Recognition)| {
        let mut other = good.clone();
        change(&mut other);
        refused(&ours, other)
    };
    assert_eq!(with(&|r| r.recognised = "ours.test".to_owned()), Err("itself"));
    assert_eq!(with(&|r| r.until = START), Err("ended"));
    assert_eq!(with(&|r| r.until = UNTIL + 1), Err("cross_ends"));
    assert_eq!(with(&|r| r.lines[0].line = Line::parse("travel").unwrap()), Err("cross_lines"));
    assert_eq!(
        with(&|r| r.cross = third.recognition(&theirs, &[("payment", None)], UNTIL).cross),
        Err("cross_signature")
    );
    assert_eq!(with(&|r| r.cross = ours.keys.contexts.chain().certificates().to_vec()), Err("cross_usage"));
    // a trust list that lists the other's key would make all of ours theirs
    ours.recognise(good.clone());
    let mut list = ours.key_list();
    list.issuing.push(Thumbprint::of(&good.cross[0]));
    let list = crate::KeyList::new(list.threshold, list.roots, list.issuing, list.log);
    assert_eq!(judged(&ours, RootAct::Keys(list)), Err(RootFault::Recognition(RecognitionFault::Listed)));
}

#[test]
fn authorities_are_counted_while_they_are_recognised_and_those_that_ended_give_their_place_away() {
    let [mut ours, theirs, _] = three();
    let until = START + 100;
    let named = |ours: &MemoryAuthority, n: usize, until: u64| {
        let line = format!("line{n}");
        let mut one = ours.recognition(&theirs, &[(&line, None)], until);
        one.recognised = format!("a{n}.test");
        one
    };
    let all: Vec<Recognition> = (0..MAX_RECOGNISED).map(|n| named(&ours, n, until)).collect();
    let (again, more) = (named(&ours, 0, UNTIL), named(&ours, MAX_RECOGNISED, UNTIL));
    ours.batch = true;
    for one in all {
        ours.recognise(one);
    }
    let next = |at: u64, one: &Recognition| {
        let mut anchors = anchors(&ours);
        let entry = Entry::new(at, ours.signed_by_root(RootAct::Recognise(one.clone()), &[])).unwrap();
        anchors.accept(u64::MAX, &entry).map(|()| anchors.recognised().count())
    };
    let full = Err(RootFault::Recognition(RecognitionFault::TooMany));
    assert_eq!(next(until - 1, &more), full);
    assert_eq!(next(until - 1, &again), Ok(MAX_RECOGNISED), "one that is there already");
    assert_eq!(next(until, &more), Ok(1));
    assert_eq!(next(until, &again), Ok(MAX_RECOGNISED), "nobody came");
}

#[test]
fn lines_of_two_recognised_authorities_never_meet_and_a_withdrawal_names_the_recognition_in_effect() {
    let [mut ours, theirs, third] = three();
    let index = ours.recognise(ours.recognition(&theirs, &[("payment", None)], UNTIL));
    let check = |ours: &MemoryAuthority, at: u64, line: &str| {
        let act = RootAct::Recognise(ours.recognition(&third, &[(line, None)], UNTIL));
        ours.replay.check(at, ours.signed_by_root(act, &[]).unverified())
    };
    assert_eq!(check(&ours, START, "payment.card"), Err(ReplayFault::LineTaken));
    assert_eq!(check(&ours, UNTIL - 1, "payment"), Err(ReplayFault::LineTaken));
    assert_eq!(check(&ours, START, "goods"), Ok(()));
    let lines = vec![Line::parse("payment").unwrap()];
    let withdraw = |index: u64, lines: &[Line], name: &str| {
        let (recognised, lines, reason) = (name.to_owned(), lines.to_vec(), String::new());
        ours.replay.check(START, &Statement::Withdraw { recognised, index, lines, reason })
    };
    assert_eq!(withdraw(index, &lines, "third.test"), Err(ReplayFault::NotRecognised));
    assert_eq!(withdraw(index + 1, &lines, "theirs.test"), Err(ReplayFault::WrongIndex { index }));
    assert_eq!(
        withdraw(index, &[Line::parse("goods").unwrap()], "theirs.test"),
        Err(ReplayFault::NotRecognised)
    );
    assert_eq!(withdraw(index, &lines, "theirs.test"), Ok(()));
    let mut after = ours.clone();
    after.withdraw("theirs.test");
    assert_eq!(check(&after, START, "payment"), Ok(()));
    // a line comes back to who takes it next, and so it does when the recognition ends
    let urn = MemoryAuthority::urn("payment:v1.0");
    let publish =
        Statement::Publish { urn, digest: semgate_contexts::Digest::of(b"x"), signer: Thumbprint::of(b"y") };
    assert_eq!(ours.replay.check(UNTIL - 1, &publish), Err(ReplayFault::LineRecognised));
    assert_eq!(ours.replay.check(UNTIL, &publish), Ok(()));
    assert_eq!(after.replay.check(START, &publish), Ok(()));
}

#[test]
fn a_withdrawal_takes_the_status_key_and_every_line() {
    let [mut ours, theirs, _] = three();
    let index = ours.recognise(ours.recognition(&theirs, &[("payment", None)], UNTIL));
    let lines = vec![Line::parse("payment").unwrap()];
    let statement =
        Statement::Withdraw { recognised: "theirs.test".to_owned(), index, lines, reason: "test".to_owned() };
    let read = Statement::read(&statement.to_bytes().unwrap(), &Prefix::default());
    assert_eq!(read, Ok(statement.clone()));
    let by = ours.signer(&Line::parse("payment").unwrap());
    ours.trust.insert(by.chain.clone());
    let signed = SignedStatement::sign(statement, &by, &ours.keys.random).unwrap();
    let fault = signed.verify(&ours.trust, &ours.keys.roots, START).unwrap_err();
    assert!(matches!(fault, StatementFault::Jws(crate::JwsFault::Chain(ChainFault::WrongUsage))), "{fault}");
}

#[test]
fn what_is_remembered_counts_after_a_start_and_a_withdrawal_is_not_forgotten() {
    let [mut ours, mut theirs, _] = three();
    ours.recognise(ours.recognition(&theirs, &[("payment", None)], UNTIL));
    let dir = tempfile::tempdir().unwrap();
    let mut config = theirs.config();
    config.lines = Lines::parse(&["payment"]).unwrap();
    config.recognised = true;
    let open = |ours: &MemoryAuthority| {
        let theirs = Follower::open(config.clone(), &dir.path().join("theirs"), START).unwrap();
        let ours = Follower::open(ours.config(), &dir.path().join("ours"), START).unwrap();
        Side { ours, theirs, recogniser: Recogniser::default() }
    };
    open(&ours).follow(&mut ours, &mut theirs);
    // everything of `ours` is its own in this configuration
    let own = |side: &mut Side| why(side.standing("payment:v1.0", START));
    assert_eq!(own(&mut open(&ours)), NotRecognised::OwnLine);
    ours.now += 10;
    ours.withdraw("theirs.test");
    open(&ours).follow(&mut ours, &mut theirs);
    assert_eq!(own(&mut open(&ours)), NotRecognised::Withdrawn);
}

fn act(recognition: Recognition) -> Vec<u8> {
    let statement = RootStatement {
        authority: "ours.test".to_owned(),
        number: 2,
        act: RootAct::Recognise(recognition),
        reason: "test".to_owned(),
    };
    Statement::Root(Box::new(statement)).to_bytes().unwrap()
}

fn read(bytes: &[u8]) -> Result<Statement, StatementFault> {
    Statement::read(bytes, &Prefix::default())
}

fn plain() -> Recognition {
    let lines = [("acme", None), ("payment", Some(Version::new(1, 2)))];
    let lines = lines.map(|(line, min)| ScopedLine { line: Line::parse(line).unwrap(), min });
    Recognition::new(
        "theirs.test",
        "theirs.test/log",
        lines.to_vec(),
        (60, UNTIL),
        vec![vec![1, 2, 3].into()],
    )
}

#[test]
fn a_payload_has_one_form_and_every_other_is_refused() {
    let bytes = act(plain());
    assert_eq!(read(&bytes).unwrap().to_bytes().unwrap(), bytes);
    let text = String::from_utf8(bytes).unwrap();
    let faults: Vec<(&str, &str, FormatFault)> = vec![
        (
            r#"{"line":"acme"},{"line":"payment","min":"v1.2"}"#,
            r#"{"line":"payment","min":"v1.2"},{"line":"acme"}"#,
            FormatFault::NotCanonical,
        ),
        (r#"{"line":"acme"},"#, r#"{"line":"acme"},{"line":"acme"},"#, FormatFault::Member("lines")),
        (r#"{"line":"acme"},"#, r#"{"line":"ACME"},{"line":"acme"},"#, FormatFault::Member("lines")),
        (r#"{"line":"acme"},"#, r#"{"line":"acme","x":1},"#, FormatFault::UnknownMember),
        (r#"{"line":"acme"},"#, r#"{"line":"*"},"#, FormatFault::Member("line")),
        (r#""min":"v1.2""#, r#""min":"1.2""#, FormatFault::Member("min")),
        (r#""max_status_age":60"#, r#""max_status_age":0"#, FormatFault::Member("max_status_age")),
        (r#""max_status_age":60"#, r#""max_status_age":86401"#, FormatFault::Member("max_status_age")),
        (r#""cross":["AQID"]"#, r#""cross":[]"#, FormatFault::Member("cross")),
        (r#""cross":["AQID"]"#, r#""cross":["AQID","AQID"]"#, FormatFault::NotCanonical),
        (r#""cross":["AQID"]"#, r#""cross":["A"]"#, FormatFault::Member("cross")),
        (r#""recognised":"theirs.test""#, r#""recognised":"a b""#, FormatFault::Member("recognised")),
    ];
    for (was, is, fault) in faults {
        assert!(text.contains(was), "{was}");
        let other = text.replace(was, is);
        assert_eq!(read(other.as_bytes()), Err(StatementFault::Format(fault)), "{is}");
    }
}

fn cases() -> u32 {
    std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(256)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn fuzz_a_changed_payload_is_refused_or_reads_as_just_its_bytes(at in 0usize..400, byte: u8, cut in 0usize..400) {
        let mut bytes = act(plain());
        let at = at % bytes.len();
        bytes[at] = byte;
        if cut < 40 {
            bytes.truncate(bytes.len() - cut);
        }
        if let Ok(statement) = read(&bytes) {
            prop_assert_eq!(statement.to_bytes().unwrap(), bytes);
        }
    }

    #[test]
    fn fuzz_scopes_hold_what_their_names_hold(names in proptest::collection::vec("[a-c](\\.[a-c]){0,2}", 1..5), line in "[a-c](\\.[a-c]){0,3}") {
        let line = Line::parse(&line).unwrap();
        let lines = names.iter().map(|name| ScopedLine { line: Line::parse(name).unwrap(), min: None }).collect();
        let recognition = Recognition::new("x", "y", lines, (60, UNTIL), vec![]);
        let expected = names.iter().any(|name| line.as_str() == name || line.as_str().starts_with(&format!("{name}.")));
        prop_assert_eq!(recognition.holds(&line).is_some(), expected);
        let meets = recognition.lines.iter().any(|one| meet(one.line.as_str(), line.as_str()).is_some());
        prop_assert!(meets || !expected);
    }
}

#[test]
fn the_longest_recognition_fits_an_entry() {
    let names: Vec<String> = (0..MAX_RECOGNISED_LINES).map(|n| format!("line-of-an-industry-{n}")).collect();
    let lines: Vec<(&str, Option<&str>)> = names.iter().map(|name| (name.as_str(), Some("v1.0"))).collect();
    let ours = MemoryAuthority::named("ours.test", "ours.test/log", START);
    let mut cross = Vec::new();
    let mut recognition = None;
    for _ in 0..MAX_CROSS {
        let other = MemoryAuthority::named("theirs.test", "theirs.test/log", START);
        let one = ours.recognition(&other, &lines, UNTIL);
        cross.extend(one.cross.clone());
        recognition = Some(one);
    }
    let one = recognition.unwrap();
    let whole = Recognition::new("theirs.test", "theirs.test/log", one.lines, (600, UNTIL), cross);
    let signed = ours.signed_by_root(RootAct::Recognise(whole), &[]);
    let entry = Entry::new(START, signed).unwrap();
    assert!(Entry::read(entry.bytes(), &Prefix::default()).is_ok());
}

#[test]
fn whoever_a_distrusted_authority_recognises_does_not_count_either() {
    let [mut ours, mut theirs, _] = three();
    let mut side = Side::new(&ours, &theirs, &["payment"]);
    ours.recognise(ours.recognition(&theirs, &[("payment", None)], UNTIL));
    side.follow(&mut ours, &mut theirs);
    assert_eq!(side.standing("payment:v1.0", START), Standing::Valid);
    let (own, other) = (side.ours.view(), side.theirs.view());
    let urn = MemoryAuthority::urn("payment:v1.0");
    for (view, by) in [(other.clone(), own.distrusted().into()), (other.distrusted().into(), own)] {
        let judged = side.recogniser.judge(&view, &by);
        // also long after both feeds turned stale
        for now in [START, START + 86_400] {
            assert_eq!(why(judged.standing(&urn, now)), NotRecognised::Distrusted);
        }
    }
}
