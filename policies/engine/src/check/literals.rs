//! The literal rule: a literal that a condition compares with a member of the message must conform to the JSON Schema of that member in
//! some version from the floor on.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use cedar_policy::pst::{BinaryOp, Expr, Literal, UnaryOp};
use semgate_contexts::json::{self, Json};
use semgate_contexts::{Context, DocumentLimits, FieldType, Prefix, Shape, Version};
use serde_json::{Map, Value, json};

use super::{Texts, candidates};
use crate::catalogue::{Catalogue, TypeInfo};
use crate::kinds::MODEL;
use crate::open_objects::SchemaNode;
use crate::parse::Written;
use crate::partial::{each, resource_path};
use crate::suggest::did_you_mean;
use crate::{Floors, PolicyFault, pace};

/// Keywords that bound one value.
const KEYWORDS: [&str; 12] = [
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "enum",
    "const",
    "x-free-text",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
];

/// Values that a hint lists.
const MAX_LISTED: usize = 16;

/// A literal beside a member.
struct Compared {
    path: Vec<String>,
    /// The literal as JSON.
    literal: String,
    /// The JSON Schema type of the literal.
    of_type: &'static str,
    /// The literal as the policy writes it.
    shown: String,
}

/// The rule of one version for one member.
enum Rule {
    /// All texts that the member can be.
    Listed(Arc<BTreeSet<String>>),
    /// The schemas that the member must fit, with a document to try values by. It is absent for schemas that do not stand alone.
    Schemas { schemas: Vec<Value>, of_type: &'static str, document: OnceLock<Option<Box<Context>>> },
}

/// The rules of all versions, each with whether its version is at or above the floor.
type Rules = Arc<[(bool, Rule)]>;

/// The literal rule over one catalogue; the rules of a member are read once.
pub(crate) struct Literals<'c> {
    catalogue: &'c Catalogue,
    floors: &'c Floors,
    versions: HashMap<&'c str, Vec<(&'c Context, &'c Shape)>>,
    documents: HashMap<&'c str, Value>,
    rules: HashMap<(String, Vec<String>), Rules>,
}

impl<'c> Literals<'c> {
    /// Prepares the rule over the contexts that a catalogue types.
    pub fn new(catalogue: &'c Catalogue, contexts: &'c [Arc<Context>], floors: &'c Floors) -> Self {
        let mut versions: HashMap<&str, Vec<(&Context, &Shape)>> = HashMap::new();
        for context in contexts {
            for shape in context.shapes() {
                let typed = catalogue.shape(context.digest(), shape.name());
                if let Some(info) = typed.and_then(|typed| catalogue.types.get(typed.of_type)) {
                    versions.entry(info.name.as_str()).or_default().push((context, shape));
                }
            }
        }
        Self { catalogue, floors, versions, documents: HashMap::new(), rules: HashMap::new() }
    }

    /// The literals of all policies that no version takes, and those that only versions below a floor take.
    pub fn faults(&mut self, texts: Texts<'_>) -> (Vec<PolicyFault>, Vec<PolicyFault>) {
        let (mut unfit, mut below) = (Vec::new(), Vec::new());
        for written in texts.written {
            pace::rest();
            let compared = compared(written);
            if compared.is_empty() {
                continue;
            }
            let types = candidates(written, self.catalogue);
            for one in &compared {
                let rules: Vec<Rules> = types.iter().map(|info| self.rules(info, &one.path)).collect();
                // strict validation has seen that versions of another type are not what the literal is compared with
                let of_type = |(_, rule): &&(bool, Rule)| rule.of_type() == one.of_type;
                let rules = || rules.iter().flat_map(|of_one| of_one.iter()).filter(of_type);
                let takes = |(current, rule): &(bool, Rule)| (*current, rule.takes(one));
                let verdicts: Vec<(bool, bool)> = rules().map(takes).collect();
                if verdicts.is_empty() || verdicts.contains(&(true, true)) {
                    continue;
                }
                let at = texts.location_of(written, &[&one.shown]);
                let member = one.path.join(".");
                if verdicts.iter().any(|(_, takes)| *takes) {
                    let why = format!("`resource.{member}` is `{}` only below the floor", one.shown);
                    below.push(texts.invalid(written, at, why, None));
                } else {
                    let why = format!("`resource.{member}` is `{}` in no version", one.shown);
                    let hint = rules().next().map(|(_, rule)| rule.hint(one));
                    unfit.push(texts.invalid(written, at, why, hint));
                }
            }
        }
        (unfit, below)
    }

    fn rules(&mut self, info: &TypeInfo, path: &[String]) -> Rules {
        let key = (info.name.clone(), path.to_vec());
        if let Some(known) = self.rules.get(&key) {
            return Arc::clone(known);
        }
        let mut all = Vec::new();
        for (context, shape) in self.versions.get(info.name.as_str()).into_iter().flatten() {
            let urn = context.urn();
            let document = self.documents.entry(urn.as_str()).or_insert_with(|| context.bundled());
            let floor = self.floors.get(urn.line()).copied().unwrap_or(Version::new(0, 0));
            let rule = rule(shape.fields(), SchemaNode::new(document, shape.schema()), path);
            all.extend(rule.map(|rule| (urn.version() >= floor, rule)));
        }
        let all: Rules = all.into();
        self.rules.insert(key, Arc::clone(&all));
        all
    }
}

/// The rule of a member; `None` where the version has no such member.
fn rule(mut fields: &FieldType, node: SchemaNode<'_>, path: &[String]) -> Option<Rule> {
    let mut node = Some(node);
    for name in path {
        let members = match plain(fields) {
            FieldType::Record(members) => members,
            FieldType::Vector(vector) if name == MODEL => {
                let models = vector.spaces().iter().map(|space| space.model.to_string());
                return Some(Rule::Listed(Arc::new(models.collect())));
            }
            _ => return None,
        };
        fields = &members.get(name)?.kind;
        node = node.and_then(|node| node.member(name));
    }
    fields = plain(fields);
    while let FieldType::Array(items) = fields {
        fields = plain(items);
        node = node.and_then(SchemaNode::items);
    }
    match fields {
        FieldType::Text { values: Some(values), .. } => Some(Rule::Listed(Arc::clone(values))),
        other => {
            let of_type = json_type(other)?;
            let schemas = node.into_iter().flat_map(SchemaNode::all_of).map(bounds);
            let schemas = schemas.filter(|schema| schema.as_object().is_some_and(|map| !map.is_empty()));
            Some(Rule::Schemas { schemas: schemas.collect(), of_type, document: OnceLock::new() })
        }
    }
}

/// The JSON Schema type of values that policies compare with literals.
fn json_type(fields: &FieldType) -> Option<&'static str> {
    match fields {
        FieldType::Text { .. } => Some("string"),
        FieldType::Boolean => Some("boolean"),
        FieldType::Integer => Some("integer"),
        FieldType::Decimal => Some("number"),
        _ => None,
    }
}

fn plain(fields: &FieldType) -> &FieldType {
    match fields {
        FieldType::Nullable(inner) => plain(inner),
        other => other,
    }
}

/// The keywords of a schema that bound one value.
fn bounds(schema: &Value) -> Value {
    let own = KEYWORDS.iter().filter_map(|name| Some(((*name).to_owned(), schema.get(*name)?.clone())));
    let mut own: Map<String, Value> = own.collect();
    if let Some(Value::Array(values)) = own.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    Value::Object(own)
}

impl Rule {
    fn of_type(&self) -> &'static str {
        match self {
            Self::Listed(_) => "string",
            Self::Schemas { of_type, .. } => of_type,
        }
    }

    fn takes(&self, compared: &Compared) -> bool {
        match self {
            Self::Listed(values) => {
                serde_json::from_str(&compared.literal).is_ok_and(|text: String| values.contains(&text))
            }
            Self::Schemas { schemas, of_type, document } => {
                let bytes = format!("{{\"value\":{}}}", compared.literal);
                let Ok(Json::Object(object)) = json::read(bytes.as_bytes(), &json::Limits::default()) else {
                    return true;
                };
                let document = document.get_or_init(|| document_of(schemas, of_type)).as_ref();
                let shape = document.and_then(|context| context.shapes().next());
                shape.is_none_or(|shape| shape.conform(&object, None).is_ok())
            }
        }
    }

    fn hint(&self, compared: &Compared) -> String {
        match self {
            Self::Listed(values) => {
                let text: String = serde_json::from_str(&compared.literal).unwrap_or_default();
                let near = did_you_mean(&text, values.iter().map(String::as_str));
                let listed = || {
                    let shown = values.iter().take(MAX_LISTED).map(|value| format!("`{value}`"));
                    format!("it is one of {}", shown.collect::<Vec<_>>().join(", "))
                };
                near.unwrap_or_else(listed)
            }
            Self::Schemas { schemas, .. } => {
                let shown = schemas.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
                format!("its schema says `{shown}`")
            }
        }
    }
}

/// A context with one value under these schemas, so that literals are judged as values of messages are.
fn document_of(schemas: &[Value], of_type: &str) -> Option<Box<Context>> {
    let mut value = match schemas {
        [Value::Object(one)] => one.clone(),
        [] => return None,
        all => Map::from_iter([("allOf".to_owned(), Value::Array(all.to_vec()))]),
    };
    value.insert("type".to_owned(), json!(of_type));
    let concept = json!({"type": "object", "properties": {"value": value}, "additionalProperties": false});
    let document =
        json!({"context": "urn:contexts:literal:v1.0", "concepts": {"literal": concept}}).to_string();
    Context::check(document.as_bytes(), &Prefix::default(), &DocumentLimits::default().published())
        .ok()
        .map(Box::new)
}

/// Every literal that the conditions of a policy compare with a member of the message, for equality or membership.
fn compared(written: &Written) -> Vec<Compared> {
    let mut all = Vec::new();
    each(&written.clauses, &mut |expr| {
        let Expr::BinaryOp { op, left, right } = &**expr else { return };
        let compares = matches!(
            op,
            BinaryOp::Eq
                | BinaryOp::NotEq
                | BinaryOp::Contains
                | BinaryOp::ContainsAny
                | BinaryOp::ContainsAll
        );
        if compares {
            add_literals(left, right, &mut all);
            add_literals(right, left, &mut all);
        }
    });
    all
}

fn add_literals(member: &Expr, literal: &Expr, all: &mut Vec<Compared>) {
    let Some(path) = resource_path(member).filter(|path| !path.is_empty()) else { return };
    let one = |expr: &Expr| {
        let (literal, of_type, shown) = match expr {
            Expr::Literal(Literal::String(text)) => {
                (Value::from(text.to_string()).to_string(), "string", format!("\"{text}\""))
            }
            Expr::Literal(Literal::Long(number)) => (number.to_string(), "integer", number.to_string()),
            Expr::Literal(Literal::Bool(truth)) => (truth.to_string(), "boolean", truth.to_string()),
            Expr::UnaryOp { op: UnaryOp::Decimal, expr } => match &**expr {
                Expr::Literal(Literal::String(text)) => (text.to_string(), "number", format!("\"{text}\"")),
                _ => return None,
            },
            _ => return None,
        };
        let path = path.iter().map(|name| (*name).to_owned()).collect();
        Some(Compared { path, literal, of_type, shown })
    };
    match literal {
        Expr::Set(items) => all.extend(items.iter().filter_map(|item| one(item))),
        other => all.extend(one(other)),
    }
}
