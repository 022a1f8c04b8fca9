//! What is told to pass does pass: of many sets and messages what is told is done, in each way and with each value that it leaves, and asked.

use std::collections::BTreeSet;

use semgate_contexts::Performative;

use super::super::{Explainer, ToPass};
use crate::tests::{Ask, House, shipped_contexts};
use crate::{PolicyLimits, PolicySource, Verdict};

/// A message, by what conditions here ask of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Said {
    /// Whether the sender is in `a`, in `b`, and holds `c`.
    sender: [bool; 3],
    /// Whether the receiver is in `a`.
    receiver: bool,
    action: Performative,
    reply: bool,
    amount: i64,
    currency: &'static str,
}

const CURRENCIES: [&str; 4] = ["EUR", "USD", "GBP", "CHF"];
const AMOUNTS: [i64; 7] = [1, 10, 11, 12, 100, 101, 300];
const ACTIONS: [Performative; 3] = [Performative::Request, Performative::Inform, Performative::Agree];

/// What is not known to make a difference to any policy here.
const ATOMS: [&str; 14] = [
    r#"resource.amount.greaterThan(decimal("10.0"))"#,
    r#"resource.amount.greaterThan(decimal("100.0"))"#,
    r#"resource.amount.lessThanOrEqual(decimal("100.0"))"#,
    r#"resource.amount.lessThan(decimal("12.0"))"#,
    r#"resource.currency == "USD""#,
    r#"resource.currency != "EUR""#,
    r#"context.direction == "reply""#,
    r#"context.direction == "request""#,
    r#"principal.credentials.contains("c")"#,
    r#"context.receiver in Group::"a""#,
    r#"principal in Group::"b""#,
    r#"principal in [Group::"a", Group::"b"]"#,
    LIKE,
    LISTED,
];

const LIKE: &str = r#"resource.currency like "U*""#;
const LISTED: &str = r#"["USD", "GBP"].contains(resource.currency)"#;

/// Numbers without chance, so that a failure comes again.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    fn condition(&mut self, depth: usize) -> String {
        match self.below(if depth == 0 { 1 } else { 6 }) {
            5 => format!(
                "(if {} then {} else {})",
                self.condition(depth - 1),
                self.condition(depth - 1),
                self.condition(depth - 1)
            ),
            0..=1 => (*self.one(&ATOMS)).to_owned(),
            2 => format!("!({})", self.condition(depth - 1)),
            3 => format!("({} && {})", self.condition(depth - 1), self.condition(depth - 1)),
            _ => format!("({} || {})", self.condition(depth - 1), self.condition(depth - 1)),
        }
    }

    fn policy(&mut self, id: &str, effect: &str) -> String {
        let principal =
            *self.one(&["principal", "principal", "principal in Group::\"a\"", "principal in Group::\"b\""]);
        let action = *self.one(&["action", "action == Action::\"REQUEST\"", "action == Action::\"INFORM\""]);
        let clauses: String = (0..self.below(3))
            .map(|_| {
                let word = *self.one(&["when", "when", "unless"]);
                format!(" {word} {{ {} }}", self.condition(2))
            })
            .collect();
        let approve = if effect == "permit" && self.below(5) < 2 { "@approve(\"sign\") " } else { "" };
        format!(
            "@id(\"{id}\") {approve}{effect} ({principal}, {action}, resource is payment::transfer){clauses};\n"
        )
    }

    fn set(&mut self) -> String {
        let permits = 1 + self.below(3);
        let forbids = self.below(3);
        let mut all: String = (0..permits).map(|at| self.policy(&format!("p{at}"), "permit")).collect();
        all.extend((0..forbids).map(|at| self.policy(&format!("f{at}"), "forbid")));
        all
    }

    fn said(&mut self) -> Said {
        Said {
            sender: [self.below(2) == 0, self.below(2) == 0, self.below(2) == 0],
            receiver: self.below(2) == 0,
            action: *self.one(&ACTIONS),
            reply: self.below(2) == 0,
            amount: *self.one(&AMOUNTS),
            currency: CURRENCIES[self.below(CURRENCIES.len())],
        }
    }
}

fn agent([a, b, c]: [bool; 3]) -> String {
    format!("spiffe://semgate.test/agent/{}{}{}", u8::from(a), u8::from(b), u8::from(c))
}

/// The policies with an agent for each kind of sender.
fn source(policies: &str) -> PolicySource {
    let kinds = (0..8_u8).map(|kind| [kind & 1 > 0, kind & 2 > 0, kind & 4 > 0]);
    let agents: Vec<String> = kinds
        .map(|kind| {
            let named = |names: &[(&str, bool)]| {
                let held = names.iter().filter(|(_, has)| *has).map(|(name, _)| format!("\"{name}\""));
                held.collect::<Vec<_>>().join(",")
            };
            let groups = named(&[("a", kind[0]), ("b", kind[1])]);
            let held = named(&[("c", kind[2])]);
            format!(r#"{{"id":"{}","groups":[{groups}],"credentials":[{held}]}}"#, agent(kind))
        })
        .collect();
    PolicySource {
        files: vec![("p.cedar".to_owned(), policies.to_owned())],
        entities: format!(r#"{{"agents":[{}]}}"#, agents.join(",")).into_bytes(),
        ..PolicySource::default()
    }
}

impl Said {
    fn ask<R>(&self, then: impl FnOnce(Ask<'_>) -> R) -> R {
        let value = format!(
            r#"{{"sender_id":"a","receiver_id":"b","amount":{},"currency":"{}"}}"#,
            self.amount, self.currency
        );
        then(Ask {
            sender: &agent(self.sender),
            receiver: &agent([self.receiver, false, false]),
            action: self.action,
            value: &value,
            direction: if self.reply { "reply" } else { "request" },
            ..Ask::default()
        })
    }

    /// Every message that differs from this one in nothing but what these ask for, and is as all of them ask.
    fn as_told(&self, atoms: &[String]) -> Vec<Self> {
        let mut all = BTreeSet::from([self.clone()]);
        // what would have to stay is left alone, unless something else of the same is asked for
        for atom in atoms.iter().filter(|atom| !atom.contains("would have to stay")) {
            all = all.iter().flat_map(|said| said.varied(atom)).collect();
        }
        all.into_iter().filter(|said| atoms.iter().all(|atom| said.is(atom))).collect()
    }

    fn varied(&self, atom: &str) -> Vec<Self> {
        let [a, b, c] = self.sender;
        let of = |sender| Self { sender, ..self.clone() };
        if atom.contains("principal in [") {
            return [[true, b, c], [false, b, c], [a, !b, c], [!a, !b, c]].map(of).to_vec();
        }
        if atom.contains("resource.amount") {
            AMOUNTS.iter().map(|amount| Self { amount: *amount, ..self.clone() }).collect()
        } else if atom.contains("resource.currency") {
            CURRENCIES.iter().map(|currency| Self { currency, ..self.clone() }).collect()
        } else if atom.contains("context.direction") {
            [true, false].map(|reply| Self { reply, ..self.clone() }).to_vec()
        } else if atom.contains("performative") {
            ACTIONS.map(|action| Self { action, ..self.clone() }).to_vec()
        } else if atom.contains("receiver") {
            [true, false].map(|receiver| Self { receiver, ..self.clone() }).to_vec()
        } else if atom.contains("group `a`") {
            vec![of([true, b, c]), of([false, b, c])]
        } else if atom.contains("group `b`") {
            vec![of([a, true, c]), of([a, false, c])]
        } else {
            assert!(atom.contains("credential `c`"), "{atom}");
            vec![of([a, b, true]), of([a, b, false])]
        }
    }

    /// Whether it is as words say that it would have to be.
    fn is(&self, atom: &str) -> bool {
        let word = |at: usize| atom.split('`').nth(at).unwrap();
        let would = !atom.contains("must not");
        for (text, is) in [
            (LIKE, self.currency.starts_with('U')),
            (LISTED, ["USD", "GBP"].contains(&self.currency)),
            (r#"principal in [Group::"a", Group::"b"]"#, self.sender[0] || self.sender[1]),
        ] {
            if atom.starts_with(&format!("`{text}` would have to ")) {
                return is == atom.ends_with(" true");
            }
        }
        if atom.contains("in the group") {
            let is = match (atom.starts_with("the receiver"), word(1)) {
                (true, "a") => self.receiver,
                (false, "a") => self.sender[0],
                (false, "b") => self.sender[1],
                other => panic!("{other:?}"),
            };
            return is == would;
        }
        if atom.contains("credential") {
            return self.sender[2] == would;
        }
        if atom.contains("performative") {
            return (word(1) == self.action.as_str()) == would;
        }
        let be = atom.split_once("would have to be ").or_else(|| atom.split_once("would have to stay "));
        let than = be.unwrap_or_else(|| panic!("{atom}")).1;
        match word(1) {
            "resource.amount" => {
                let bound = |words: &str| than.strip_prefix(words).map(|n| n.parse::<f64>().unwrap());
                #[allow(clippy::cast_precision_loss, reason = "small numbers")]
                let amount = self.amount as f64;
                None.or_else(|| bound("more than ").map(|n| amount > n))
                    .or_else(|| bound("at most ").map(|n| amount <= n))
                    .or_else(|| bound("less than ").map(|n| amount < n))
                    .or_else(|| bound("at least ").map(|n| amount >= n))
                    .unwrap()
            }
            "resource.currency" => (word(3) == self.currency) != than.starts_with("other than"),
            "context.direction" => ((word(3) == "reply") == self.reply) != than.starts_with("other than"),
            other => panic!("{other}: {atom}"),
        }
    }
}

/// The ways in which words can be followed, each with all that it asks for.
fn ways(words: &str) -> Vec<Vec<String>> {
    let words = match words.split_once("appl") {
        Some((before, after)) if before.starts_with("so that ") => after.split_once(": ").unwrap().1,
        _ => words,
    };
    let all = |parts: Vec<&str>| {
        parts.into_iter().fold(vec![Vec::new()], |so_far: Vec<Vec<String>>, part| {
            let own = ways(part);
            so_far.iter().flat_map(|one| own.iter().map(|own| [one.clone(), own.clone()].concat())).collect()
        })
    };
    for (between, together) in [("; and ", true), ("; or ", false), (" or ", false), (" and ", true)] {
        let parts = split(words, between);
        if parts.len() > 1 {
            return if together { all(parts) } else { parts.into_iter().flat_map(ways).collect() };
        }
    }
    match words.strip_prefix('(').and_then(|words| words.strip_suffix(')')) {
        Some(within) => ways(within),
        None => vec![vec![words.to_owned()]],
    }
}

/// What stands between words that are in no brackets.
fn split<'a>(words: &'a str, between: &str) -> Vec<&'a str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0, 0);
    for (at, c) in words.char_indices() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth == 0 && at >= from && words[at..].starts_with(between) {
            parts.push(&words[from..at]);
            from = at + between.len();
        }
    }
    parts.push(&words[from..]);
    parts
}

/// Each way to follow all of it; none of one that another policy would have to be written for.
fn followed(told: &ToPass) -> Vec<Vec<String>> {
    let alternatives: Vec<Option<&String>> =
        if told.one_of.is_empty() { vec![None] } else { told.one_of.iter().map(Some).collect() };
    let another = ["would have to be written", "have to be another", "without `@approve`"];
    let mut all = Vec::new();
    for way in alternatives {
        let needed: Vec<&String> = told.all.iter().chain(way).collect();
        if !needed.iter().any(|words| another.iter().any(|one| words.contains(one))) {
            let words: Vec<&str> = needed.iter().map(|words| words.as_str()).collect();
            all.extend(words.into_iter().fold(vec![Vec::new()], |so_far: Vec<Vec<String>>, words| {
                let own = ways(words);
                so_far
                    .iter()
                    .flat_map(|one| own.iter().map(|own| [one.clone(), own.clone()].concat()))
                    .collect()
            }));
        }
    }
    all
}

fn passes(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Permitted { .. }) && !super::super::asks(verdict)
}

#[test]
fn what_is_told_to_pass_does_pass_with_and_without_approvals() {
    let payment: Vec<_> = shipped_contexts()
        .into_iter()
        .filter(|one| one.urn().as_str() == "urn:contexts:payment:v2.0")
        .collect();
    let mut numbers = Numbers(7);
    let (mut sets, mut done, mut asked) = (0, 0, 0);
    let mut untrue = Vec::new();
    while sets < 150 {
        let text = numbers.set();
        let source = source(&text);
        let Ok(house) = House::load(&source, payment.clone()) else { continue };
        let explainer = Explainer::load(&source, &payment, &PolicyLimits::default()).unwrap();
        sets += 1;
        for _ in 0..6 {
            let said = numbers.said();
            let told = said.ask(|ask| house.question(ask, |question| explainer.explain(question)));
            let verdict = told.verdict.clone().unwrap();
            assert_eq!(told.to_pass.is_empty(), passes(&verdict), "{text}{said:?}\n{:?}", told.to_pass);
            asked += usize::from(super::super::asks(&verdict));
            for way in followed(&told.to_pass) {
                let others = said.as_told(&way);
                assert!(
                    !others.is_empty(),
                    "nobody can do that:\n{text}{said:?}\n{:#?}\n{way:?}",
                    told.to_pass
                );
                for other in others {
                    done += 1;
                    let verdict = other.ask(|ask| house.ask(ask));
                    if !passes(&verdict) {
                        untrue.push(format!(
                            "{text}{said:?}\n{:#?}\n{way:?}\n{other:?}: {verdict:?}",
                            told.to_pass
                        ));
                    }
                }
            }
        }
    }
    assert!(untrue.is_empty(), "{} of {done} are untrue, the first:\n{}", untrue.len(), untrue[0]);
    assert!(done > 500 && asked > 50, "{done} {asked}");
}
