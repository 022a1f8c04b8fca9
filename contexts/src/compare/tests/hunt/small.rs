//! Schemas of one kind of value with every combination of their keywords, and all values of a small world. Trying everything
//! finds cases that random documents of large schemas hardly ever meet.

use serde_json::{Value, json};

use super::random::Random;

/// Combinations within combinations, at most: two show how each keyword meets each other one.
const DEPTH: usize = 2;

/// Two documents whose concept `c` has one member, and every content that is tried with them.
pub(crate) fn documents(random: &mut Random) -> (Value, Value, Vec<Value>) {
    let (kind, atom, world): (_, fn(&mut Random) -> Value, _) = match random.below(6) {
        0 => ("number", number, numbers()),
        1 => ("string", string, strings()),
        _ => ("array", array, arrays()),
    };
    let mut one = |minor: u8| {
        let depth = random.below(DEPTH + 1);
        // a document must state the items of an array; this adds no demand
        let member = json!({ "type": kind, "items": true, "allOf": [combined(random, atom, depth)] });
        json!({
            "context": format!("urn:contexts:test:v1.{minor}"),
            "concepts": { "c": { "type": "object", "properties": { "m": member }, "required": ["m"] } },
        })
    };
    let (old, new) = (one(0), one(1));
    (old, new, world.into_iter().map(|value| json!({ "m": value })).collect())
}

fn combined(random: &mut Random, atom: fn(&mut Random) -> Value, depth: usize) -> Value {
    if depth == 0 {
        return atom(random);
    }
    let mut inner = || combined(random, atom, depth - 1);
    let (first, second, third) = (inner(), inner(), inner());
    match random.below(12) {
        0..=5 => first,
        6 => json!({ "anyOf": [first, second] }),
        7 | 8 => json!({ "allOf": [first, second] }),
        9 => json!({ "not": first }),
        10 => json!({ "oneOf": [first, second] }),
        _ => json!({ "if": first, "then": second, "else": third }),
    }
}

fn number(random: &mut Random) -> Value {
    let bound = random.of(&[json!(0), json!(1), json!(-1), json!(0.5), json!(2), json!(1.5)]);
    match random.below(8) {
        0 => json!({ "minimum": bound }),
        1 => json!({ "maximum": bound }),
        2 => json!({ "exclusiveMinimum": bound }),
        3 => json!({ "exclusiveMaximum": bound }),
        4 | 5 => {
            json!({ "multipleOf": random.of(&[json!(1), json!(2), json!(3), json!(0.5), json!(0.25), json!(1.5)]) })
        }
        6 if random.chance(20) => json!({ "maximum": 18_446_744_073_709_551_615_u64 }),
        6 => json!({ "enum": [bound, 0.25, 3] }),
        _ => json!({ "type": random.of(&["integer", "number"]) }),
    }
}

fn string(random: &mut Random) -> Value {
    match random.below(5) {
        0 => json!({ "minLength": 1 + random.below(3) }),
        1 => json!({ "maxLength": 1 + random.below(3) }),
        2 => json!({ "enum": [random.of(&["", "a", "ab"]), random.of(&["b", "ba", "aa"])] }),
        _ => {
            let patterns =
                ["^a", "b$", "^[ab]+$", "^(ab)*$", "^.$", "^a.b$", "^[^a]*$", "a", "^(a|ba)?$", "[0-9]"];
            json!({ "pattern": random.of(&patterns) })
        }
    }
}

fn array(random: &mut Random) -> Value {
    match random.below(14) {
        12 => json!({ "const": random.of(&[json!([]), json!(["a"]), json!([0, "a"])]) }),
        13 => {
            json!({ "enum": [["a", "b"], random.of(&[json!([0]), json!(["a"]), json!([])]), ["a", 0, true]] })
        }
        0 | 1 => json!({ "minItems": random.below(4) }),
        2 | 3 => json!({ "maxItems": random.below(4) }),
        4 => json!({ "uniqueItems": true, "maxItems": 2 + random.below(2) }),
        5 => {
            let all = json!({ "items": item(random) });
            if random.chance(40) { json!({ "not": all }) } else { all }
        }
        6..=8 => {
            let places: Vec<Value> = (0..1 + random.below(3)).map(|_| item(random)).collect();
            match random.below(5) {
                0 => json!({ "prefixItems": places }),
                1 => json!({ "prefixItems": places, "items": false }),
                _ => json!({ "prefixItems": places, "items": item(random) }),
            }
        }
        9 if random.chance(50) => {
            let least = random.below(3);
            json!({ "contains": item(random), "minContains": least, "maxContains": least + random.below(3) })
        }
        9 => json!({ "contains": item(random), "maxContains": 1 + random.below(2) }),
        10 => json!({ "contains": item(random), "minContains": random.below(3) }),
        _ => json!({ "contains": item(random) }),
    }
}

fn item(random: &mut Random) -> Value {
    let one = one_item(random);
    if random.chance(15) { json!({ "not": one }) } else { one }
}

fn one_item(random: &mut Random) -> Value {
    random.of(&[
        json!({ "type": "integer" }),
        json!({ "type": "number" }),
        json!({ "type": "string" }),
        json!({ "type": ["string", "integer"] }),
        json!({ "enum": [0, "a"] }),
        json!({ "enum": ["a", "b"] }),
        json!({ "const": "a" }),
        json!({ "const": 0 }),
        json!(true),
    ])
}

fn numbers() -> Vec<Value> {
    (-12..=28).map(|quarters: i32| json!(f64::from(quarters) / 4.0)).collect()
}

fn strings() -> Vec<Value> {
    let texts = words(&["a", "b"], 4).into_iter().map(|word| word.concat());
    texts
        .chain(["\n", "1", "a\nb", "\r", "a\rb", "a\u{2028}b", "a1", "\u{e9}"].map(str::to_owned))
        .map(Value::from)
        .collect()
}

fn arrays() -> Vec<Value> {
    let few = words(&[json!(0), json!(0.5), json!("a"), json!("b"), json!(true)], 3);
    let long = words(&[json!(0), json!("a")], 5);
    few.into_iter().chain(long).map(Value::from).collect()
}

/// All words of at most this many letters.
fn words<T: Clone>(letters: &[T], most: usize) -> Vec<Vec<T>> {
    let mut all = vec![Vec::new()];
    let mut last = all.clone();
    for _ in 0..most {
        let longer = |word: &Vec<T>| {
            let word = word.clone();
            letters.iter().map(move |letter| word.iter().chain([letter]).cloned().collect())
        };
        last = last.iter().flat_map(|word| longer(word).collect::<Vec<Vec<T>>>()).collect();
        all.extend(last.iter().cloned());
    }
    all
}
