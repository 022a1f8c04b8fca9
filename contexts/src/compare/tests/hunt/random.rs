//! Random schemas, near misses of them, and documents that fit them more often than not.

use serde_json::{Map, Value, json};

/// A small generator of its own, so that a seed means the same for ever (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Below `bound`; 0 where that is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let drawn = (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize;
        drawn.checked_rem(bound).unwrap_or_default()
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of a list.
    pub(crate) fn of<T: Clone + Default>(&mut self, list: &[T]) -> T {
        let at = self.below(list.len());
        list.get(at).cloned().unwrap_or_default()
    }

    /// One of a list of words.
    fn word<'w>(&mut self, list: &'w str) -> &'w str {
        self.of(&list.split(' ').collect::<Vec<_>>())
    }

    /// A number out of a list of words.
    fn numeral(&mut self, list: &str) -> Value {
        serde_json::from_str(self.word(list)).unwrap_or_default()
    }
}

const NAMES: &str = "a b c A x-1";
const PATTERNS: &str = "^a.b$ :: ^[0-9:]+Z$ ^[a-c]+$ ^[a-z]{1,3}$ a ^$ ^x- ^(aa|bb)$ ^[A-Z]{2}$ [0-9]$";
const FORMATS: &str = "date uuid ipv4 uri uri-reference ipv6 time";
const TEXTS: [&str; 21] = [
    "",
    "a",
    "b",
    "aa",
    "bb",
    "abc",
    "abcd",
    "AB",
    "x-1",
    "a1",
    "2024-02-29",
    "2024-02-30",
    "192.0.2.1",
    "urn:a",
    "a\nb",
    "\u{202e}",
    "::1",
    "2001:db8::192.0.2.1",
    "12:30:00Z",
    "23:59:60Z",
    "a\rb",
];
const NUMBERS: &str =
    "0 1 2 3 -1 0.5 1.5 0.25 10 0.0001 0.00005 9007199254740991 -9007199254740991 1e-7 2.0 100";

/// Numbers for bounds.
const BOUNDS: &str = "0 1 2 3 -1 0.5 1.5 0.25 10 0.0001 0.00005";

/// Two documents with one concept `c`, the second often a small change of the first.
pub(crate) fn documents(random: &mut Random) -> (Value, Value) {
    let defs = json!({ "d": schema(random, 1), "e": schema(random, 1), "r": recursive(random) });
    let old = object(random, 3);
    let new = if random.chance(80) { changed(&old, random) } else { object(random, 3) };
    let other = if random.chance(30) {
        json!({ "d": schema(random, 1), "e": defs.get("e"), "r": recursive(random) })
    } else {
        defs.clone()
    };
    let of = |schema: &Value, defs: &Value, codes: Value, minor: u8| json!({ "context": format!("urn:contexts:test:v1.{minor}"), "concepts": { "c": schema }, "$defs": defs, "codes": { "l": codes } });
    let codes = if random.chance(20) { json!(["a", "AB"]) } else { json!(["a", "b", "AB"]) };
    (of(&old, &defs, json!(["a", "b", "AB"]), 0), of(&new, &other, codes, 1))
}

fn recursive(random: &mut Random) -> Value {
    json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/r" }, "b": string(random) } })
}

fn schema(random: &mut Random, depth: usize) -> Value {
    if random.chance(10) {
        return loose(random, depth);
    }
    let kinds = if depth == 0 { 6 } else { 14 };
    match random.below(kinds) {
        0 | 1 => string(random),
        2 | 3 => number(random),
        4 => random.of(&[
            json!({ "type": "boolean" }),
            json!({ "type": "null" }),
            json!({ "enum": ["a", 1, true] }),
            json!({ "const": "a" }),
            json!({ "enum": [0.5, 1, 2] }),
        ]),
        5 => json!({ "$ref": random.of(&["#/$defs/d", "#/$defs/e", "#/$defs/r"]) }),
        6 => array(random, depth - 1),
        7..=9 => object(random, depth - 1),
        10 | 11 => {
            json!({ random.of(&["anyOf", "oneOf"]): [schema(random, depth - 1), schema(random, depth - 1)] })
        }
        12 => json!({ "allOf": [schema(random, depth - 1), schema(random, depth - 1)] }),
        _ => {
            let mut inner = string(random);
            if let Some(map) = inner.as_object_mut() {
                map.insert("not".to_owned(), json!({ "pattern": random.word(PATTERNS) }));
            }
            inner
        }
    }
}

/// A schema without a type, without the type of its items, or with listed arrays and objects.
fn loose(random: &mut Random, depth: usize) -> Value {
    let of = [
        json!({}),
        json!({ "minLength": 1 }),
        json!({ "minimum": 1 }),
        json!({ "maxItems": 1 }),
        json!({ "required": ["a"] }),
        json!({ "not": { "type": "string" } }),
        json!({ "type": "array" }),
        json!({ "type": "array", "prefixItems": [{ "type": "integer" }] }),
        json!({ "type": ["array", "string"], "maxItems": 2 }),
        json!({ "type": "array", "contains": { "required": ["a"] } }),
        json!({ "enum": [["a"], { "a": 1 }, "a"] }),
        json!({ "enum": [{ "a": 1 }, { "a": 1, "b": "a" }, []] }),
        json!({ "const": { "a": 1 } }),
        json!({ "const": ["a", 1] }),
        json!({ "const": [] }),
        json!({ "const": {} }),
        json!({ "type": "integer", "maximum": 9_223_372_036_854_775_807_i64 }),
        json!({ "type": "integer", "minimum": -9_223_372_036_854_775_808_i64 }),
        json!({ "type": "number", "exclusiveMinimum": 1e300 }),
    ];
    if depth == 0 || random.chance(60) {
        return random.of(&of);
    }
    let mut inner = match random.below(3) {
        0 => object(random, depth - 1),
        1 => json!({ "anyOf": [random.of(&of), schema(random, depth - 1)] }),
        _ => json!({ "if": random.of(&of), "then": random.of(&of) }),
    };
    if let Some(map) = inner.as_object_mut() {
        map.remove("type");
    }
    inner
}

fn string(random: &mut Random) -> Value {
    let mut map = Map::from_iter([("type".to_owned(), json!("string"))]);
    if random.chance(30) {
        map.insert("maxLength".to_owned(), json!(1 + random.below(5)));
    }
    if random.chance(15) {
        map.insert("minLength".to_owned(), json!(random.below(2)));
    }
    if random.chance(30) {
        map.insert("pattern".to_owned(), json!(random.word(PATTERNS)));
    }
    if random.chance(15) {
        map.insert("format".to_owned(), json!(random.word(FORMATS)));
    }
    if random.chance(10) {
        map.insert("x-code-list".to_owned(), json!("l"));
    }
    if random.chance(10) && map.contains_key("maxLength") {
        map.insert("x-free-text".to_owned(), json!(true));
    }
    Value::Object(map)
}

fn number(random: &mut Random) -> Value {
    let mut map = Map::from_iter([("type".to_owned(), json!(random.of(&["number", "integer"])))]);
    for keyword in ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"] {
        if random.chance(25) {
            map.insert(keyword.to_owned(), random.numeral(BOUNDS));
        }
    }
    if random.chance(35) {
        map.insert(
            "multipleOf".to_owned(),
            random.of(&[json!(1), json!(2), json!(3), json!(0.5), json!(0.25), json!(0.0001), json!(0.01)]),
        );
    }
    Value::Object(map)
}

fn array(random: &mut Random, depth: usize) -> Value {
    let mut map =
        Map::from_iter([("type".to_owned(), json!("array")), ("items".to_owned(), schema(random, depth))]);
    if random.chance(40) {
        map.insert("maxItems".to_owned(), json!(1 + random.below(3)));
        if random.chance(40) {
            map.insert("uniqueItems".to_owned(), json!(true));
        }
    }
    if random.chance(25) {
        map.insert("minItems".to_owned(), json!(random.below(2)));
    }
    if random.chance(20) {
        map.insert("prefixItems".to_owned(), json!([schema(random, depth)]));
    }
    if random.chance(20) {
        map.insert("contains".to_owned(), json!({ "type": random.of(&["string", "integer"]) }));
        if random.chance(30) {
            map.insert("maxContains".to_owned(), json!(1));
        }
    }
    Value::Object(map)
}

fn object(random: &mut Random, depth: usize) -> Value {
    let mut map = Map::from_iter([("type".to_owned(), json!("object"))]);
    let mut members = Map::new();
    for _ in 0..random.below(4) {
        members.insert(random.word(NAMES).to_owned(), schema(random, depth.saturating_sub(1)));
    }
    let names: Vec<String> = members.keys().cloned().collect();
    let required: Vec<&String> = names.iter().filter(|_| random.chance(40)).collect();
    map.insert("required".to_owned(), json!(required));
    map.insert("properties".to_owned(), Value::Object(members));
    let rare = [
        ("additionalProperties", json!(true)),
        ("additionalProperties", json!({ "type": "string" })),
        ("additionalProperties", json!(false)),
        ("patternProperties", json!({ "^x-": { "type": "string" } })),
        ("patternProperties", json!({ "^[a-z]$": true })),
        ("minProperties", json!(1)),
        ("maxProperties", json!(2)),
        ("propertyNames", json!({ "maxLength": 1 })),
        ("dependentRequired", json!({ "a": ["b"] })),
        ("dependentSchemas", json!({ "a": { "properties": { "c": { "type": "integer" } } } })),
        ("if", json!({ "properties": { "a": { "const": "a" } } })),
        ("then", json!({ "properties": { "c": { "type": "string" } } })),
        (
            "anyOf",
            json!([{ "type": "object", "properties": { "b": { "type": "string" } } }, { "type": "object", "properties": { "c": { "type": "integer" } }, "required": ["c"] }]),
        ),
        (
            "oneOf",
            json!([{ "type": "object", "properties": { "b": { "const": "a" } }, "required": ["b"] }, { "type": "object", "properties": { "b": { "const": "b" }, "c": true }, "required": ["b"] }]),
        ),
        ("unevaluatedProperties", json!({ "type": "integer" })),
    ];
    for (keyword, value) in rare {
        if random.chance(5) {
            map.insert(keyword.to_owned(), value);
        }
    }
    if map.contains_key("then") && !map.contains_key("if") {
        map.insert("if".to_owned(), json!({ "required": ["a"] }));
    }
    Value::Object(map)
}

/// The schema with one thing changed somewhere.
fn changed(schema: &Value, random: &mut Random) -> Value {
    let mut copy = schema.clone();
    let mut places = Vec::new();
    pointers(&copy, "", &mut places);
    for _ in 0..1 + random.below(2) {
        let pointer = random.of(&places);
        let fresh = self::schema(random, 1);
        let Some(here) = copy.pointer_mut(&pointer) else { continue };
        let Some(map) = here.as_object_mut() else { continue };
        match random.below(6) {
            0 => {
                let keys: Vec<String> = map.keys().filter(|key| *key != "type").cloned().collect();
                if !keys.is_empty() {
                    map.remove(&random.of(&keys));
                }
            }
            1 => {
                if let Some(Value::Object(members)) = map.get_mut("properties") {
                    members.insert(random.word(NAMES).to_owned(), fresh);
                }
            }
            2 => {
                if let Some(Value::Object(members)) = map.get_mut("properties") {
                    let keys: Vec<String> = members.keys().cloned().collect();
                    if !keys.is_empty() {
                        members.remove(&random.of(&keys));
                    }
                }
            }
            3 => {
                for keyword in ["maxLength", "minLength", "maxItems", "minItems", "minimum", "maximum"] {
                    if let Some(number) = map.get(keyword).and_then(Value::as_i64) {
                        map.insert(
                            keyword.to_owned(),
                            json!(number.saturating_add(1 - 2 * random.below(2) as i64).max(0)),
                        );
                    }
                }
            }
            4 => {
                map.insert("title".to_owned(), json!("changed"));
            }
            _ if pointer.is_empty() => {}
            _ => *here = json!({ "anyOf": [here.clone(), fresh] }),
        }
    }
    copy
}

fn pointers(schema: &Value, at: &str, places: &mut Vec<String>) {
    let Some(map) = schema.as_object() else { return };
    places.push(at.to_owned());
    for keyword in ["properties", "items", "additionalProperties", "not"] {
        if let Some(inner) = map.get(keyword) {
            if keyword == "properties" {
                for (name, inner) in inner.as_object().into_iter().flatten() {
                    pointers(inner, &format!("{at}/properties/{name}"), places);
                }
            } else {
                pointers(inner, &format!("{at}/{keyword}"), places);
            }
        }
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        for (index, inner) in map.get(keyword).and_then(Value::as_array).into_iter().flatten().enumerate() {
            pointers(inner, &format!("{at}/{keyword}/{index}"), places);
        }
    }
}

fn scalar(random: &mut Random) -> Value {
    match random.below(8) {
        0..=3 => json!(random.of(&TEXTS)),
        4..=5 => random.numeral(NUMBERS),
        6 => json!(random.chance(50)),
        _ => random.of(&[
            Value::Null,
            json!([]),
            json!({}),
            json!(["a"]),
            json!(["a", 1]),
            json!([{ "a": 1 }, { "A": 1 }]),
            json!({ "a": 1 }),
            json!({ "A": 1 }),
            json!({ "a": 1, "b": "a" }),
            json!({ "a": "a", "A": 1 }),
        ]),
    }
}

/// A value that probably fits.
pub(crate) fn value_for(schema: &Value, defs: &Value, random: &mut Random, depth: usize) -> Value {
    if depth > 6 || (depth > 0 && random.chance(6)) {
        return scalar(random);
    }
    let Some(map) = schema.as_object() else { return scalar(random) };
    if let Some(name) = map.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix("#/$defs/"))
    {
        return value_for(defs.get(name).unwrap_or(&Value::Null), defs, random, depth + 1);
    }
    if let Some(Value::Array(list)) = map.get("enum") {
        return random.of(list);
    }
    if let Some(value) = map.get("const") {
        return value.clone();
    }
    let mut base = match map.get("type").and_then(Value::as_str) {
        Some("object") => object_for(map, defs, random, depth),
        Some("array") => {
            let most = map.get("maxItems").and_then(Value::as_u64).unwrap_or(3) as usize;
            let items = (0..random.below(most + 1)).map(|at| {
                let item = map.get("prefixItems").and_then(|list| list.get(at));
                let item = item.or_else(|| map.get("items")).unwrap_or(&Value::Null);
                value_for(item, defs, random, depth + 1)
            });
            items.collect()
        }
        Some("string") => text_for(map, random),
        Some("number" | "integer") => random.numeral(NUMBERS),
        Some("boolean") => json!(random.chance(50)),
        Some("null") => Value::Null,
        _ if map.contains_key("properties") && random.chance(70) => object_for(map, defs, random, depth),
        _ => scalar(random),
    };
    for keyword in ["anyOf", "oneOf", "allOf"] {
        if let Some(Value::Array(list)) = map.get(keyword) {
            let part = value_for(&random.of(list), defs, random, depth + 1);
            match (&mut base, part) {
                (Value::Object(base), Value::Object(part)) => base.extend(part),
                (base, part) => *base = part,
            }
        }
    }
    base
}

fn object_for(map: &Map<String, Value>, defs: &Value, random: &mut Random, depth: usize) -> Value {
    let mut object = Map::new();
    for (name, schema) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let required = map
            .get("required")
            .and_then(Value::as_array)
            .is_some_and(|list| list.iter().any(|one| one == name));
        if (required && random.chance(97)) || random.chance(50) {
            object.insert(name.clone(), value_for(schema, defs, random, depth + 1));
        }
    }
    let open =
        ["additionalProperties", "patternProperties", "unevaluatedProperties", "then", "dependentSchemas"];
    if open.iter().any(|keyword| map.contains_key(*keyword)) && random.chance(60) {
        for _ in 0..1 + random.below(2) {
            let name = random.of(&["a", "b", "c", "A", "B", "x-1", "x-2", "other"]);
            let value = scalar(random);
            object.entry(name).or_insert(value);
        }
    }
    Value::Object(object)
}

fn text_for(map: &Map<String, Value>, random: &mut Random) -> Value {
    if map.contains_key("x-code-list") {
        return json!(random.of(&["a", "b", "AB"]));
    }
    let most = map.get("maxLength").and_then(Value::as_u64).unwrap_or(100) as usize;
    let text = random.of(&TEXTS);
    json!(text.chars().take(most).collect::<String>())
}
