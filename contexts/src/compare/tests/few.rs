//! Arrays of a few texts: all of them can be written down, so that each verdict is held against what is so.

use proptest::prelude::*;

use super::*;

const TEXTS: [&str; 4] = ["a", "b", "c", "d"];
/// The longest array.
const LONGEST: u64 = 4;

/// How often: `SEMGATE_FUZZ_CASES`, or few enough for every build.
fn cases() -> u32 {
    std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(256)
}

/// Some of the texts, a bit for each.
type Some4 = u8;

#[derive(Clone, Debug)]
struct Rules {
    items: Some4,
    first: Option<Some4>,
    least: u64,
    most: u64,
    unique: bool,
    /// What `contains` asks for: of which texts, how many at least and at most.
    counted: Vec<(Some4, u64, Option<u64>)>,
}

fn texts(some: Some4) -> Vec<&'static str> {
    let here = TEXTS.iter().enumerate().filter(|(at, _)| (some >> at) & 1 == 1);
    here.map(|(_, text)| *text).collect()
}

impl Rules {
    fn schema(&self) -> Value {
        let mut schema = json!({ "type": "array", "items": { "enum": texts(self.items) }, "minItems": self.least, "maxItems": self.most });
        if self.unique {
            schema["uniqueItems"] = json!(true);
        }
        if let Some(first) = self.first {
            schema["prefixItems"] = json!([{ "enum": texts(first) }]);
        }
        let counted = self.counted.iter().map(|(some, least, most)| {
            let mut rule = json!({ "contains": { "enum": texts(*some) }, "minContains": least });
            if let Some(most) = most {
                rule["maxContains"] = json!(most);
            }
            rule
        });
        let counted: Vec<Value> = counted.collect();
        if !counted.is_empty() {
            schema["allOf"] = json!(counted);
        }
        schema
    }

    /// Whether an array, by the number of each text, keeps them.
    fn hold(&self, array: &[u8]) -> bool {
        let is = |text: u8, some: Some4| (some >> text) & 1 == 1;
        let length = array.len() as u64;
        let mut items = array.iter().enumerate();
        let counted = self.counted.iter().all(|(some, least, most)| {
            let count = array.iter().filter(|text| is(**text, *some)).count() as u64;
            count >= *least && most.is_none_or(|most| count <= most)
        });
        counted
            && (self.least..=self.most).contains(&length)
            && items.all(|(at, text)| is(*text, self.first.filter(|_| at == 0).unwrap_or(self.items)))
            && (!self.unique || (1..array.len()).all(|at| !array[..at].contains(&array[at])))
    }
}

fn rules() -> impl Strategy<Value = Rules> {
    let counted = (1u8..16, 0u64..3, prop::option::of(0u64..3)).prop_map(|(some, least, more)| match more {
        Some(more) => (some, least, Some((least + more).max(1))),
        None => (some, least, None),
    });
    let counted = prop::collection::vec(counted, 0..4);
    (1u8..16, prop::option::weighted(0.2, 1u8..16), 0u64..4, 0u64..=LONGEST, any::<bool>(), counted).prop_map(
        |(items, first, least, more, unique, counted)| {
            let most = (least + more).clamp(1, LONGEST);
            Rules { items, first, least, most, unique, counted }
        },
    )
}

/// Every array of the texts up to the longest.
fn arrays() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = vec![Vec::new()];
    let mut longest = all.clone();
    for _ in 0..LONGEST {
        let longer = longest.iter().flat_map(|array| (0..4).map(|text| [array.as_slice(), &[text]].concat()));
        longest = longer.collect();
        all.extend(longest.iter().cloned());
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    /// Compatible where every array of the one is one of the other, Breaking where one is not, and either way mostly one of the two.
    #[test]
    fn fuzz_arrays_of_few_texts_are_judged_as_they_are(old in rules(), new in rules()) {
        let part = concept(&object(&old.schema()), &object(&new.schema()));
        let lost = arrays().into_iter().find(|array| old.hold(array) && !new.hold(array));
        match part.verdict {
            Verdict::Compatible => prop_assert_eq!(lost, None, "{}", part.reason),
            Verdict::Breaking => prop_assert!(lost.is_some(), "{:?}", part.witness),
            Verdict::Unknown => {}
        }
    }
}

#[test]
fn most_arrays_of_few_texts_are_decided() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut unknown = std::collections::BTreeMap::new();
    for _ in 0..400 {
        let mut any = || rules().new_tree(&mut runner).unwrap().current();
        let part = concept(&object(&any().schema()), &object(&any().schema()));
        if part.verdict == Verdict::Unknown {
            *unknown.entry(part.reason).or_insert(0) += 1;
        }
    }
    assert!(unknown.values().sum::<u64>() < 40, "{unknown:#?}");
}
