//! The bounds that a context sets to the members of a concept, as Cedar expressions.

use semgate_contexts::{FieldType, Shape};
use serde_json::Value;

use super::literals::Checks;
use super::{Fact, Lasting};
use crate::expression::quoted;

/// The most references that are followed from one schema to the next.
const MAX_HOPS: usize = 16;
/// Words that Cedar keeps for itself.
const RESERVED: [&str; 9] = ["true", "false", "if", "then", "else", "in", "is", "like", "has"];

/// The schemas that one value must fit, all of them.
#[derive(Debug, Clone)]
pub struct Schemas<'v> {
    document: &'v Value,
    all: Vec<&'v Value>,
}

impl<'v> Schemas<'v> {
    fn of(document: &'v Value, schemas: impl IntoIterator<Item = &'v Value>) -> Self {
        let mut all = Vec::new();
        schemas.into_iter().for_each(|schema| gather(document, schema, MAX_HOPS, &mut all));
        Self { document, all }
    }

    fn member(&self, name: &str) -> Self {
        Self::of(self.document, self.all.iter().filter_map(|schema| schema.get("properties")?.get(name)))
    }

    fn items(&self) -> Self {
        Self::of(self.document, self.all.iter().filter_map(|schema| schema.get("items")))
    }

    /// The values of a keyword.
    pub fn keyword(&self, name: &str) -> impl Iterator<Item = &'v Value> {
        self.all.iter().filter_map(move |schema| schema.get(name)).collect::<Vec<_>>().into_iter()
    }

    fn requires(&self, name: &str) -> bool {
        self.keyword("required").any(|names| {
            names.as_array().is_some_and(|names| names.iter().any(|one| one.as_str() == Some(name)))
        })
    }

    /// The lists of allowed values, of `enum` and of `const`.
    fn values(&self) -> impl Iterator<Item = Vec<&'v Value>> {
        let lists =
            self.keyword("enum").filter_map(Value::as_array).map(|list| list.iter().collect::<Vec<_>>());
        lists.chain(self.keyword("const").map(|one| vec![one]))
    }
}

fn gather<'v>(document: &'v Value, schema: &'v Value, hops: usize, all: &mut Vec<&'v Value>) {
    let Some(hops) = hops.checked_sub(1) else { return };
    all.push(schema);
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix('#'));
    let target = target.and_then(|pointer| document.pointer(pointer));
    let parts = schema.get("allOf").and_then(Value::as_array).into_iter().flatten();
    target.into_iter().chain(parts).for_each(|one| gather(document, one, hops, all));
}

/// The facts about the members of a shape, and the checks of literals that Cedar cannot express.
pub fn of(document: &Value, shape: &Shape, type_name: &str, schema: &Value) -> (Vec<Fact>, Checks) {
    let mut collected = Collected { facts: Vec::new(), checks: Checks::default() };
    if let Some(visible) = attributes_of(schema, type_name) {
        let here = Schemas::of(document, [shape.schema()]);
        collected.record(&Member::top(), &here, shape.fields(), visible);
    }
    (collected.facts, collected.checks)
}

/// The attributes of an entity type in a Cedar schema.
fn attributes_of<'v>(schema: &'v Value, name: &str) -> Option<&'v Value> {
    let (space, own) = name.rsplit_once("::")?;
    schema.get(space)?.get("entityTypes")?.get(own)?.get("shape")?.get("attributes")
}

/// A member, and the conditions under which it is there.
#[derive(Debug, Clone)]
pub struct Member {
    /// Cedar text that reads it.
    text: String,
    /// Its name as a key of [`crate::expression::Mentions`].
    pub key: String,
    /// Tests with `has` that come before, outermost first.
    guards: Vec<String>,
}

impl Member {
    fn top() -> Self {
        Self { text: "resource".to_owned(), key: "resource".to_owned(), guards: Vec::new() }
    }

    fn below(&self, name: &str) -> Self {
        let mut letters = name.chars();
        let plain = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !RESERVED.contains(&name);
        let text =
            if plain { format!("{}.{name}", self.text) } else { format!("{}[{}]", self.text, quoted(name)) };
        Self { text, key: format!("{}.{name}", self.key), guards: self.guards.clone() }
    }

    fn has(&self, name: &str) -> String {
        format!("{} has {}", self.text, quoted(name))
    }

    /// A fact that counts where the member is there. `condition` holds `{}` in its place.
    pub fn fact(&self, condition: &str) -> Fact {
        let condition = condition.replace("{}", &self.text);
        let text = self
            .guards
            .iter()
            .rev()
            .fold(condition, |inner, guard| format!("(if {guard} then ({inner}) else true)"));
        Fact::about(Lasting::Contexts, text, keys(&self.key))
    }
}

/// A key with those above it.
fn keys(key: &str) -> Vec<String> {
    let names: Vec<&str> = key.split('.').collect();
    (2..=names.len()).filter_map(|count| names.get(..count).map(|names| names.join("."))).collect()
}

struct Collected {
    facts: Vec<Fact>,
    checks: Checks,
}

impl Collected {
    fn say(&mut self, member: &Member, condition: &str) {
        self.facts.push(member.fact(condition));
    }

    fn record(&mut self, here: &Member, schemas: &Schemas<'_>, fields: &FieldType, visible: &Value) {
        let (FieldType::Record(fields), Some(visible)) = (fields.present(), visible.as_object()) else {
            return;
        };
        for (name, attribute) in visible {
            let mut member = here.below(name);
            let optional = attribute.get("required").and_then(Value::as_bool) == Some(false);
            let Some(field) = fields.get(name) else {
                // a member of other versions: this one is closed, else the two would not be one type
                if optional {
                    let text = format!("!({})", here.has(name));
                    self.facts.push(Fact { text: guarded(here, text), ..member.fact("true") });
                }
                continue;
            };
            let own = schemas.member(name);
            if optional {
                if field.required && schemas.requires(name) && !matches!(field.kind, FieldType::Nullable(_)) {
                    self.facts.push(Fact { text: guarded(here, here.has(name)), ..member.fact("true") });
                }
                member.guards.push(here.has(name));
            }
            self.member(&member, &own, &field.kind, attribute);
        }
    }

    fn member(&mut self, member: &Member, schemas: &Schemas<'_>, field: &FieldType, attribute: &Value) {
        let field = field.present();
        match (attribute.get("type").and_then(Value::as_str), attribute.get("name").and_then(Value::as_str)) {
            (Some("String"), _) => self.text(member, schemas, field),
            (Some("Long"), _) => self.long(member, schemas),
            (Some("Boolean"), _) => {
                for list in schemas.values() {
                    if let [Value::Bool(one)] = list.as_slice() {
                        self.say(member, if *one { "{}" } else { "!{}" });
                    }
                }
            }
            (Some("Extension"), Some("decimal")) => self.decimal(member, schemas),
            (Some("Extension"), Some("datetime")) if schemas.keyword("format").any(|one| one == "date") => {
                self.say(member, "{}.toDate() == {}");
            }
            (Some("Extension"), Some("duration")) => self.say(member, "{} >= duration(\"0ms\")"),
            (Some("Extension"), Some("ipaddr")) => {
                for format in schemas.keyword("format").filter_map(Value::as_str) {
                    match format {
                        "ipv4" => self.say(member, "{}.isIpv4()"),
                        "ipv6" => self.say(member, "{}.isIpv6()"),
                        _ => {}
                    }
                }
                self.checks.address(member);
            }
            (Some("Set"), _) => self.set(member, schemas, field, attribute),
            (Some("Record"), _) => {
                let inner = attribute.get("attributes").unwrap_or(&Value::Null);
                self.record(member, schemas, field, inner);
            }
            _ => {}
        }
    }

    fn text(&mut self, member: &Member, schemas: &Schemas<'_>, field: &FieldType) {
        if let FieldType::Text { values: Some(values), .. } = field {
            let list: Vec<String> = values.iter().map(|value| quoted(value)).collect();
            self.say(member, &format!("[{}].contains({{}})", list.join(", ")));
            return;
        }
        if schemas.keyword("minLength").filter_map(Value::as_u64).any(|least| least > 0) {
            self.say(member, "{} != \"\"");
        }
        self.checks.text(member, schemas);
    }

    fn long(&mut self, member: &Member, schemas: &Schemas<'_>) {
        for list in schemas.values() {
            let whole: Vec<String> =
                list.iter().filter_map(|one| one.as_i64()).map(|one| one.to_string()).collect();
            if whole.len() == list.iter().filter(|one| !one.is_null()).count() && !whole.is_empty() {
                self.say(member, &format!("[{}].contains({{}})", whole.join(", ")));
            }
        }
        for (keyword, sign) in BOUNDS {
            for bound in schemas.keyword(keyword).filter_map(Value::as_i64) {
                self.say(member, &format!("{{}} {sign} {bound}"));
            }
        }
        self.checks.long(member, schemas);
    }

    fn decimal(&mut self, member: &Member, schemas: &Schemas<'_>) {
        for (keyword, sign) in BOUNDS {
            let method = match sign {
                ">=" => "greaterThanOrEqual",
                "<=" => "lessThanOrEqual",
                ">" => "greaterThan",
                _ => "lessThan",
            };
            for bound in schemas.keyword(keyword).filter_map(decimal) {
                self.say(member, &format!("{{}}.{method}(decimal(\"{bound}\"))"));
            }
        }
        self.checks.decimal(member, schemas);
    }

    fn set(&mut self, member: &Member, schemas: &Schemas<'_>, field: &FieldType, attribute: &Value) {
        if schemas.keyword("minItems").filter_map(Value::as_u64).any(|least| least > 0) {
            self.say(member, "!{}.isEmpty()");
        }
        if schemas.keyword("maxItems").filter_map(Value::as_u64).any(|most| most == 0) {
            self.say(member, "{}.isEmpty()");
        }
        let FieldType::Array(item) = field else { return };
        if let FieldType::Text { values: Some(values), .. } = item.present() {
            let list: Vec<String> = values.iter().map(|value| quoted(value)).collect();
            self.say(member, &format!("[{}].containsAll({{}})", list.join(", ")));
        }
        let element =
            attribute.get("element").and_then(|element| element.get("type")).and_then(Value::as_str);
        if element == Some("Long") {
            self.checks.items(member, &schemas.items());
        }
    }
}

/// Keywords that bound a number, and the sign of each.
pub const BOUNDS: [(&str, &str); 4] =
    [("minimum", ">="), ("maximum", "<="), ("exclusiveMinimum", ">"), ("exclusiveMaximum", "<")];

/// A condition where the record that it is about is there.
fn guarded(here: &Member, condition: String) -> String {
    here.guards.iter().rev().fold(condition, |inner, guard| format!("(if {guard} then ({inner}) else true)"))
}

/// A number as Cedar writes a decimal; nothing where it has more than four decimals or is out of range.
pub fn decimal(number: &Value) -> Option<String> {
    let text = number.as_number()?.to_string();
    let (whole, places) = text.split_once('.').unwrap_or((&text, "0"));
    let places = places.trim_end_matches('0');
    let plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if !plain(whole.strip_prefix('-').unwrap_or(whole))
        || !plain(places)
        || places.len() > 4
        || whole.len() > 15
    {
        return None;
    }
    Some(format!("{whole}.{}", if places.is_empty() { "0" } else { places }))
}

#[cfg(test)]
mod tests {
    use super::{Member, decimal};
    use serde_json::json;

    #[test]
    fn a_fact_counts_where_its_member_is_there() {
        let top = Member::top();
        let mut member = top.below("in").below("a b");
        member.guards.push(top.has("in"));
        let fact = member.fact("{} > 1");
        assert_eq!(fact.text, "(if resource has \"in\" then (resource[\"in\"][\"a b\"] > 1) else true)");
        assert_eq!(fact.about.into_iter().collect::<Vec<_>>(), ["resource.in", "resource.in.a b"]);
    }

    #[test]
    fn a_bound_is_written_as_a_decimal_of_cedar_or_not_at_all() {
        for (number, text) in [
            (json!(1), Some("1.0")),
            (json!(-2.5), Some("-2.5")),
            (json!(0.00001), None),
            (json!(1e300), None),
        ] {
            assert_eq!(decimal(&number).as_deref(), text, "{number}");
        }
    }
}
