//! Tests of `sessions`.

use super::*;

const NOW: u64 = 1_800_000_000;

fn person(id: &str) -> Arc<PersonConfig> {
    let (human, name, roles) = (None, "Bob".to_owned(), [crate::roles::Role::Viewer].into());
    Arc::new(PersonConfig { id: id.to_owned(), human, name, roles })
}

fn begun(sessions: &mut Sessions) -> String {
    sessions.begin(person("spiffe://semgate.test/human/bob"), Factor::Link, NOW).unwrap()
}

#[test]
fn a_link_counts_once_and_for_five_minutes() {
    let mut sessions = Sessions::new().unwrap();
    let secret = sessions.link(person("a"), NOW).unwrap();
    assert!(sessions.is_link(&secret, NOW) && sessions.is_link(&secret, NOW + LINK));
    assert!(!sessions.is_link(&secret, NOW + LINK + 1));
    assert_eq!(sessions.take_link(&secret, NOW).unwrap().id, "a");
    assert!(sessions.take_link(&secret, NOW).is_none(), "used");
    let late = sessions.link(person("a"), NOW).unwrap();
    assert!(sessions.take_link(&late, NOW + LINK + 1).is_none(), "late");
    assert!(sessions.take_link("", NOW).is_none());
}

#[test]
fn secrets_have_256_bits_and_no_two_are_equal() {
    let mut sessions = Sessions::new().unwrap();
    let all: std::collections::BTreeSet<String> = (0..64).map(|_| begun(&mut sessions)).collect();
    assert_eq!(all.len(), 64);
    assert!(all.iter().all(|one| URL_SAFE_NO_PAD.decode(one).unwrap().len() == 32));
}

#[test]
fn a_session_ends_when_idle_and_after_a_working_day() {
    let mut sessions = Sessions::new().unwrap();
    let cookie = begun(&mut sessions);
    assert!(sessions.of(&cookie, NOW + IDLE, false).is_some());
    assert!(
        sessions.of(&cookie, NOW + IDLE + 1, true).is_none(),
        "a look without an act does not prolong it"
    );
    let cookie = begun(&mut sessions);
    for minute in 0..LONGEST / 60 {
        assert!(sessions.of(&cookie, NOW + minute * 60, true).is_some(), "minute {minute}");
    }
    assert!(sessions.of(&cookie, NOW + LONGEST + 1, true).is_none());
}

#[test]
fn a_token_belongs_to_one_session() {
    let mut sessions = Sessions::new().unwrap();
    let (one, other) = (begun(&mut sessions), begun(&mut sessions));
    let token = sessions.of(&one, NOW, true).unwrap().csrf;
    assert!(sessions.is_token(&one, &token));
    assert!(!sessions.is_token(&other, &token));
    assert!(!sessions.is_token(&one, "") && !sessions.is_token(&one, &one));
}

#[test]
fn the_oldest_session_of_a_person_ends_when_there_are_too_many() {
    let mut sessions = Sessions::new().unwrap();
    let bob = person("bob");
    let mut begin = |at| sessions.begin(Arc::clone(&bob), Factor::Link, NOW + at).unwrap();
    let cookies: Vec<String> = (0..=u64::try_from(OF_A_PERSON).unwrap()).map(&mut begin).collect();
    let now = NOW + 20;
    assert!(sessions.of(&cookies[0], now, true).is_none());
    assert!(cookies[1..].iter().all(|cookie| sessions.of(cookie, now, true).is_some()));
}
