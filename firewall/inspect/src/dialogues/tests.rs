use super::*;
use semgate_contexts::{ContextUrn, Digest, Prefix};

fn memory(each: usize, all: usize) -> Dialogues {
    Dialogues::new(&InspectLimits {
        dialogues_of_one: each,
        dialogues_of_all: all,
        ..InspectLimits::default()
    })
}

fn opening() -> Opening {
    let urn = ContextUrn::parse("urn:contexts:travel:v1.0", &Prefix::default()).unwrap();
    let about = Arc::new(About { urn, digest: Digest::of(b"") });
    Opening { mode: PayloadMode::Text, claim: Some(SessionClaim { about, lock: None }), life_ms: 1_000 }
}

fn named(id: &str) -> SessionRef<'_> {
    SessionRef { session: Some(id), task: None }
}

#[test]
fn memory_of_all_sessions_is_bounded_and_what_is_over_makes_room() {
    let (memory, scope) = (memory(8, 2), Scope::new("agent", None));
    let [a, b, c] = ["a", "b", "c"].map(Arc::<str>::from);
    memory.open(&scope, &a, "1", opening(), 0).unwrap();
    memory.open(&scope, &b, "2", opening(), 500).unwrap();
    assert_eq!(memory.open(&scope, &c, "3", opening(), 999), Err(NotOpened::Full));
    memory.open(&scope, &c, "3", opening(), 1_000).unwrap();
    assert!(memory.live(&scope, "a", named("1"), 1_000).dialogue.is_none());
    assert!(memory.live(&scope, "b", named("2"), 1_000).dialogue.is_some());
}

#[test]
fn an_id_belongs_to_one_owner_until_its_session_is_over() {
    let (memory, scope) = (memory(8, 8), Scope::new("agent", None));
    let [a, b] = ["a", "b"].map(Arc::<str>::from);
    memory.open(&scope, &a, "1", opening(), 0).unwrap();
    assert_eq!(memory.open(&scope, &b, "1", opening(), 0), Err(NotOpened::Taken));
    assert_eq!(memory.open(&scope, &a, "1", opening(), 0), Err(NotOpened::Taken));
    memory.open(&Scope::new("agent", Some("tenant")), &b, "1", opening(), 0).unwrap();
    memory.open(&scope, &b, "1", opening(), 1_000).unwrap();
}

#[test]
fn tasks_are_bounded_lead_to_their_session_and_go_with_it() {
    let limits = InspectLimits { dialogue_tasks: 2, ..InspectLimits::default() };
    let (memory, scope, a) = (Dialogues::new(&limits), Scope::new("agent", None), Arc::<str>::from("a"));
    memory.open(&scope, &a, "1", opening(), 0).unwrap();
    let dialogue = memory.live(&scope, "a", named("1"), 0).dialogue.unwrap();
    for id in ["t1", "t2", "t3"] {
        let terms = TaskTerms { echo: Echo::default(), bounds: Bounds::default() };
        memory.begin("a", id, &dialogue, terms).unwrap();
    }
    let again = TaskTerms { echo: Echo::default(), bounds: Bounds::default() };
    assert_eq!(memory.begin("a", "t3", &dialogue, again), Err(AlreadyBegun));
    let of =
        |owner: &str, id: &str| memory.live(&scope, owner, SessionRef { session: None, task: Some(id) }, 0);
    assert!(of("a", "t1").task.is_none() && of("b", "t3").task.is_none());
    assert_eq!(of("a", "t3").dialogue.unwrap().id, "1");
    memory.close("a", &dialogue);
    assert!(of("a", "t3").task.is_none());
    assert_eq!(format!("{memory:?}"), "0 open sessions");
}
