use super::*;
use proptest::prelude::*;

fn about(name: &str) -> Arc<About> {
    let urn = ContextUrn::parse(&format!("urn:contexts:{name}"), &Prefix::default()).unwrap();
    Arc::new(About { urn, digest: Digest::of(name.as_bytes()) })
}

fn scope(agent: &str) -> Scope<'_> {
    Scope::new(agent, None)
}

fn agent(name: &str) -> Arc<str> {
    Arc::from(format!("spiffe://semgate.test/agent/{name}"))
}

fn task(owners: &Owners, owner: &str, id: &str) -> Result<(), NotOwned> {
    owners.claim(&scope("r"), &agent(owner), &[(Kind::Task, id)], &about("payment:v1.1"), None)
}

fn has(owners: &Owners, owner: &str, id: &str) -> Result<Arc<About>, NotOwned> {
    owners.of(&scope("r"), &agent(owner), Kind::Task, id)
}

#[test]
fn the_first_one_who_is_told_of_a_task_owns_it_and_nobody_else_finds_it() {
    let owners = Owners::new(8, 64);
    task(&owners, "a", "t").unwrap();
    assert_eq!(has(&owners, "a", "t").unwrap(), about("payment:v1.1"));
    assert_eq!(has(&owners, "b", "t").unwrap_err(), NotOwned);
    assert_eq!(has(&owners, "b", "unknown").unwrap_err(), NotOwned, "the same answer");
    assert_eq!(task(&owners, "b", "t").unwrap_err(), NotOwned);
    task(&owners, "a", "t").unwrap();
    assert_eq!(owners.len(), 1);
}

#[test]
fn ids_of_two_agents_two_tenants_or_two_kinds_never_meet() {
    let owners = Owners::new(8, 64);
    let (a, b, about) = (agent("a"), agent("b"), about("payment:v1.1"));
    owners.claim(&scope("r"), &a, &[(Kind::Task, "1")], &about, None).unwrap();
    owners.claim(&scope("s"), &b, &[(Kind::Task, "1")], &about, None).unwrap();
    owners.claim(&scope("r"), &b, &[(Kind::Conversation, "1")], &about, None).unwrap();
    owners.of(&scope("r"), &b, Kind::Task, "1").unwrap_err();
    owners.of(&scope("s"), &b, Kind::Task, "1").unwrap();
    let acme = Scope::new("r", Some("acme"));
    owners.of(&acme, &a, Kind::Task, "1").unwrap_err();
    owners.claim(&acme, &b, &[(Kind::Task, "1")], &about, None).unwrap();
    assert_eq!((acme.agent(), acme.tenant()), ("r", Some("acme")));
    let tenants = owners.export().into_iter().map(|owned| owned.tenant);
    assert_eq!(tenants.collect::<Vec<_>>(), [None, None, None, Some("acme".to_owned())]);
}

#[test]
fn several_things_are_claimed_together_or_not_at_all() {
    let owners = Owners::new(8, 64);
    task(&owners, "a", "t").unwrap();
    let both = [(Kind::Conversation, "c"), (Kind::Task, "t")];
    owners.claim(&scope("r"), &agent("b"), &both, &about("payment:v1.1"), None).unwrap_err();
    assert_eq!(owners.owner(&scope("r"), Kind::Conversation, "c"), None);
    owners.free(&scope("r"), &agent("b"), &both).unwrap_err();
    owners.free(&scope("r"), &agent("a"), &both).unwrap();
}

#[test]
fn an_agent_that_is_full_forgets_what_it_used_least_lately() {
    let owners = Owners::new(3, 64);
    for id in ["1", "2", "3"] {
        task(&owners, "a", id).unwrap();
    }
    has(&owners, "a", "1").unwrap();
    task(&owners, "a", "4").unwrap();
    has(&owners, "a", "2").unwrap_err();
    for id in ["1", "3", "4"] {
        has(&owners, "a", id).unwrap();
    }
    assert_eq!(owners.len(), 3);
}

#[test]
fn attack_one_agent_cannot_push_out_what_another_owns() {
    let owners = Owners::new(100, 10);
    for id in ["1", "2", "3"] {
        task(&owners, "victim", id).unwrap();
    }
    for n in 0..1_000 {
        task(&owners, "flood", &format!("f{n}")).unwrap();
    }
    for id in ["1", "2", "3"] {
        has(&owners, "victim", id).unwrap();
    }
    assert_eq!(owners.len(), 10);
    // a newcomer gets its place from the one who holds most
    task(&owners, "newcomer", "n").unwrap();
    has(&owners, "newcomer", "n").unwrap();
    has(&owners, "victim", "1").unwrap();
    assert_eq!(owners.len(), 10);
}

/// How many things of an owner each of the agents keeps.
fn kept(owners: &Owners, owner: &str, agents: &[&str]) -> Vec<usize> {
    let all = owners.export();
    let own = agent(owner);
    let of = |at: &&str| all.iter().filter(|one| one.agent == **at && *one.owner == *own).count();
    agents.iter().map(of).collect()
}

#[test]
fn attack_one_agent_names_things_until_another_ones_are_forgotten() {
    let owners = Owners::new(8, 64);
    let (owner, about) = (agent("a"), about("payment:v1.1"));
    let name = |at: &Scope<'_>, id: &str| {
        owners.claim(at, &owner, &[(Kind::Task, id)], &about, None).unwrap();
    };
    for id in ["1", "2", "3"] {
        name(&scope("honest"), id);
    }
    // tenants are of one agent
    for n in 0..100 {
        name(&Scope::new("flood", Some(["x", "y"][n % 2])), &format!("f{n}"));
    }
    assert_eq!(kept(&owners, "a", &["honest", "flood"]), [3, 5]);
    // who keeps less takes its room from the one who keeps most, whatever was used last
    for id in ["4", "5", "6"] {
        name(&scope("honest"), id);
    }
    assert_eq!(kept(&owners, "a", &["honest", "flood"]), [4, 4]);
    owners.of(&scope("honest"), &owner, Kind::Task, "1").unwrap_err();
    // the same over a restart
    let after = Owners::new(8, 64);
    assert_eq!(after.import(owners.export(), &Prefix::default()), Ok(8));
    after.claim(&scope("flood"), &owner, &[(Kind::Task, "g")], &about, None).unwrap();
    assert_eq!(kept(&after, "a", &["honest", "flood"]), [4, 4]);
}

proptest! {
    #[test]
    fn nothing_that_one_agent_names_is_kept_at_the_cost_of_another_that_keeps_no_more(
        steps in prop::collection::vec((0_usize..3, 0_usize..3, 0_usize..40, 0_u8..8), 1..100),
        each in 1_usize..12,
        all in 1_usize..24,
    ) {
        let (owners, about) = (Owners::new(each, all), about("payment:v1.1"));
        let (callers, agents) = (["a", "b", "c"], ["x", "y", "z"]);
        let kept = || callers.map(|caller| kept(&owners, caller, &agents));
        for (caller, by, id, act) in steps {
            let (at, owner) = (scope(agents[by]), agent(callers[caller]));
            // ids of two callers never meet
            let things = [(Kind::Task, format!("{caller}-{id}"))];
            let before = kept();
            match act {
                0 => owners.forget(&at, Kind::Task, &things[0].1),
                1 => drop(owners.of(&at, &owner, Kind::Task, &things[0].1)),
                _ => {
                    owners.claim(&at, &owner, &things, &about, None).unwrap();
                    for (before, after) in before.iter().zip(kept()) {
                        for other in (0..agents.len()).filter(|other| *other != by) {
                            if after[other] < before[other] {
                                prop_assert!(before[by] < before[other], "{before:?} to {after:?}");
                                prop_assert_eq!(Some(&before[other]), before.iter().max());
                            }
                        }
                    }
                }
            }
            let after = kept();
            prop_assert!(after.iter().all(|kept| kept.iter().sum::<usize>() <= each));
            prop_assert!(owners.len() <= all);
            prop_assert_eq!(after.iter().flatten().sum::<usize>(), owners.len());
        }
    }
}

#[test]
fn what_is_exported_can_be_imported_with_its_order() {
    let owners = Owners::new(3, 64);
    for id in ["1", "2", "3"] {
        task(&owners, "a", id).unwrap();
    }
    has(&owners, "a", "1").unwrap();
    let text = serde_json::to_string(&owners.export()).unwrap();
    assert!(text.contains(r#""kind":"task""#), "{text}");
    let after = Owners::new(3, 64);
    let records: Vec<Owned> = serde_json::from_str(&text).unwrap();
    assert_eq!(after.import(records.clone(), &Prefix::default()), Ok(3));
    assert_eq!(after.import(records, &Prefix::default()), Ok(0));
    task(&after, "a", "4").unwrap();
    has(&after, "a", "2").unwrap_err();
    has(&after, "a", "1").unwrap();
    has(&after, "b", "1").unwrap_err();
}

#[test]
fn a_record_that_is_no_record_is_refused() {
    let good = Owned::of(&scope("r"), Kind::Task, "t", "a", &about("payment:v1.1"));
    for (bad, fault) in [
        (Owned { context: "payment".to_owned(), ..good.clone() }, OwnedFault::Context),
        (Owned { digest: "x".to_owned(), ..good.clone() }, OwnedFault::Digest),
        (Owned { owner: String::new(), ..good.clone() }, OwnedFault::Name),
        (Owned { tenant: Some(String::new()), ..good.clone() }, OwnedFault::Name),
        (Owned { agent: "a\nb".to_owned(), ..good.clone() }, OwnedFault::Name),
        (Owned { id: "x".repeat(3_000), ..good }, OwnedFault::Name),
    ] {
        assert_eq!(Owners::new(1, 1).import([bad], &Prefix::default()), Err(fault));
    }
}

#[test]
fn a_journal_hears_of_everything_in_order() {
    #[derive(Default)]
    struct Heard(Arc<Mutex<Vec<String>>>);
    impl Journal for Heard {
        fn learnt(&self, owned: &Owned) {
            self.0.lock().unwrap().push(format!("+{}", owned.id));
        }
        fn forgotten(&self, owned: &Owned) {
            self.0.lock().unwrap().push(format!("-{}", owned.id));
        }
    }
    let heard = Arc::new(Mutex::new(Vec::new()));
    let owners = Owners::new(2, 64);
    assert!(owners.tell(Box::new(Heard(Arc::clone(&heard)))).is_ok());
    for id in ["1", "2", "2", "3"] {
        task(&owners, "a", id).unwrap();
    }
    owners.forget(&scope("r"), Kind::Task, "3");
    owners.forget(&scope("r"), Kind::Task, "3");
    assert_eq!(*heard.lock().unwrap(), ["+1", "+2", "-1", "+3", "-3"]);
    assert_eq!(owners.len(), 1);
}

#[test]
fn a_task_that_a_text_began_is_about_the_first_context_that_is_named_in_it() {
    let owners = Owners::new(8, 64);
    let (a2a, payment, travel) = (about("a2a:v1.0"), about("payment:v1.1"), about("travel:v2.1"));
    let say = |about: &Arc<About>| {
        owners.claim(&scope("r"), &agent("a"), &[(Kind::Task, "t")], about, Some(&a2a.urn)).unwrap();
    };
    say(&a2a);
    assert_eq!(has(&owners, "a", "t").unwrap(), a2a);
    say(&payment);
    say(&travel);
    say(&a2a);
    assert_eq!(has(&owners, "a", "t").unwrap(), payment, "and stays");
}
