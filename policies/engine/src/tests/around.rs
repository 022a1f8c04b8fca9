//! What is so around generated questions, and the same as Cedar by the book has it.

use cedar_policy::RestrictedExpression;
use proptest::prelude::*;

use crate::{Circumstances, Credentials, Question, Scores, Session, TextScores, TextWants};

/// The attributes of an agent, with what it shows in this question.
pub(super) fn plain_agent(
    id: &str,
    given: &[String],
    question: &Question<'_>,
) -> Vec<(String, RestrictedExpression)> {
    let around = &question.circumstances;
    let shown = match id {
        _ if id == question.sender => around.sender_holds,
        _ if id == question.receiver => around.receiver_holds,
        _ => &Credentials::NONE,
    };
    let shown = shown.iter().filter(|(_, until)| around.now < *until).map(|(name, _)| name.to_owned());
    let credentials = given.iter().cloned().chain(shown).map(RestrictedExpression::new_string);
    let domain = id.split('/').nth(2).unwrap().to_owned();
    vec![
        ("credentials".to_owned(), RestrictedExpression::new_set(credentials)),
        ("trust_domain".to_owned(), RestrictedExpression::new_string(domain)),
    ]
}

pub(super) fn plain_circumstances(question: &Question<'_>) -> Vec<(String, RestrictedExpression)> {
    let (around, long) = (&question.circumstances, |n: u64| RestrictedExpression::new_long(n as i64));
    let moment = |n: u64| -> RestrictedExpression {
        format!("datetime(\"1970-01-01\").offset(duration(\"{n}s\"))").parse().unwrap()
    };
    let text = around.scores.text.made().filter_map(|(name, score)| Some((name.to_owned(), long(score?))));
    let scores = [
        ("text_length".to_owned(), long(question.shape.free_text_length(question.value))),
        ("message_bytes".to_owned(), long(around.scores.message_bytes)),
        ("concepts".to_owned(), long(around.scores.concepts)),
        ("ambiguous".to_owned(), long(around.scores.ambiguous)),
    ]
    .into_iter()
    .chain(text);
    let session = around.session.filter(|session| session.expires_at > around.now);
    let line = question.context.urn().line().as_str().to_owned();
    let mut pairs = vec![
        ("line".to_owned(), RestrictedExpression::new_string(line)),
        ("binding_version".to_owned(), RestrictedExpression::new_string(around.protocol_version.to_owned())),
        ("locked".to_owned(), RestrictedExpression::new_bool(session.is_some())),
        ("now".to_owned(), moment(around.now)),
        ("scores".to_owned(), RestrictedExpression::new_record(scores).unwrap()),
    ];
    if let Some(session) = session {
        let record = RestrictedExpression::new_record([("expires".to_owned(), moment(session.expires_at))]);
        pairs.push(("session".to_owned(), record.unwrap()));
    }
    pairs
}

/// What is so in one question.
#[derive(Debug, Clone)]
pub(super) struct Around {
    holds: [Credentials; 2],
    version: &'static str,
    session: Option<u64>,
    now: u64,
    scores: Scores,
}

impl Around {
    pub(super) fn borrowed(&self) -> Circumstances<'_> {
        let [sender_holds, receiver_holds] = &self.holds;
        Circumstances {
            sender_holds,
            receiver_holds,
            protocol_version: self.version,
            session: self.session.map(|expires_at| Session { expires_at }),
            now: self.now,
            scores: self.scores,
        }
    }
}

/// Times lie around the ends of sessions and credentials, so that what was remembered before one is asked for behind it.
pub(super) fn around() -> impl Strategy<Value = Around> {
    let shown = || {
        let all: Vec<Credentials> = [
            vec![],
            vec![("cert:policy:1.1", 1_800_000_100)],
            vec![("cert:policy:1.1", 1_800_000_100), ("token:hr:b", 1_800_000_050)],
            vec![("token:hr:b", 1_800_000_050)],
            vec![("token:hr:b", 1_800_000_200)],
        ]
        .into_iter()
        .map(|names| Credentials::new(names.into_iter().map(|(name, until)| (name.to_owned(), until))))
        .collect();
        prop::sample::select(all)
    };
    let versions = prop::sample::select(vec!["", "0.3", "1.0", "2026-07-28", "unheard-of"]);
    let sessions = prop::option::of(prop::sample::select(vec![1_800_000_050_u64, 1_800_001_000]));
    let times = prop::sample::select(vec![
        1_800_000_000_u64,
        1_800_000_050,
        1_800_000_100,
        1_800_000_200,
        1_800_030_000,
    ]);
    let ranks = prop::sample::select(vec![0_u64, 74, 75, 100]);
    let texts = (0..2_u64, 0..3_u64, ranks, prop::option::of(989..991_u64));
    let texts = texts.prop_map(|(hidden, markers, injection, unusual)| TextScores {
        made: TextWants::ALL,
        hidden,
        markers,
        injection,
        unusual,
    });
    let scores = (prop::sample::select(vec![0_u64, 999, 1000]), 1..3_u64, 0..2_u64, texts).prop_map(
        |(message_bytes, concepts, ambiguous, text)| Scores {
            message_bytes,
            concepts,
            ambiguous,
            text,
            ..Scores::default()
        },
    );
    (shown(), shown(), versions, sessions, times, scores).prop_map(
        |(own, other, version, session, now, scores)| Around {
            holds: [own, other],
            version,
            session,
            now,
            scores,
        },
    )
}
