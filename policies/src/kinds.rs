//! What Cedar can see of an instance, and how versions of one term are merged.

use semgate_contexts::{FieldType, Format};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::numbers::{DECIMAL_PLACES, Numbers};
use crate::openness::Place;
use crate::strings::Strings;

/// A type that policies see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `String`, of these only
    String(Strings),
    /// `Bool`, of this value only where it is known
    Bool(Option<bool>),
    /// `Long`, of these only
    Long(Numbers),
    /// `decimal`, of these ten-thousandths only
    Decimal(Numbers),
    /// `datetime`; `true` if each is a day, and so its midnight in UTC
    Datetime(bool),
    /// `duration`
    Duration,
    /// `ipaddr`, and whether each is one of IPv4, or each of IPv6, where the `format` says so
    IpAddress(Option<bool>),
    /// `Set<…>`, and how many items the array has that it is made of
    Set(Box<Kind>, Numbers),
    /// A record.
    Record(Attributes),
}

/// The members of a record or entity.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Attributes {
    /// By name.
    pub members: BTreeMap<String, Attribute>,
    /// Other members than these may stand in an instance, of any type; policies do not see them.
    pub open: bool,
}

/// One member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attribute {
    /// `None` for what policies do not see.
    pub kind: Option<Kind>,
    /// Every instance of every version has it.
    pub required: bool,
    /// It may be null, which policies see as absent.
    pub nullable: bool,
}

/// Two versions say different things about one member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// The member, with dots between levels.
    pub path: String,
    /// What the versions before say.
    pub before: String,
    /// What this version says.
    pub here: String,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is {} in other versions and {} here", self.path, self.before, self.here)
    }
}

impl Kind {
    /// The type of a field, whose schema stands at `place`; `None` if policies cannot see it.
    fn of(field: &FieldType, place: Option<Place<'_>>) -> Option<Self> {
        match field {
            FieldType::Text { format: Some(Format::Date), .. } => Some(Self::Datetime(true)),
            FieldType::Text { format: Some(Format::DateTime), .. } => Some(Self::Datetime(false)),
            FieldType::Text { format: Some(Format::Duration), .. } => Some(Self::Duration),
            FieldType::Text { format: Some(Format::IpAddress), .. } => {
                Some(Self::IpAddress(place.and_then(one_family)))
            }
            FieldType::Text { format: None, values, .. } => {
                Some(Self::String(Strings::of(values.clone(), place)))
            }
            FieldType::Boolean => Some(Self::Bool(place.and_then(one_truth))),
            FieldType::Integer => Some(Self::Long(Numbers::of(place, 0))),
            FieldType::Decimal => Some(Self::Decimal(Numbers::of(place, DECIMAL_PLACES))),
            FieldType::Array(items) => {
                let of = Self::of(items, place.and_then(Place::items))?;
                Some(Self::Set(Box::new(of), Numbers::of_items(place)))
            }
            FieldType::Record(_) => Some(Self::Record(Attributes::of(field, place))),
            FieldType::Nullable(inner) => Self::of(inner, place),
            FieldType::OtherNumber | FieldType::Opaque => None,
        }
    }

    /// Whether a value that fits the schema may be none that policies can see, or not exactly.
    fn may_misfit(&self) -> bool {
        match self {
            Self::String(_) | Self::Bool(_) => false,
            Self::Long(_) | Self::Decimal(_) | Self::Datetime(_) | Self::Duration | Self::IpAddress(_) => {
                true
            }
            Self::Set(items, _) => items.may_misfit(),
            Self::Record(members) => members.may_misfit(),
        }
    }

    fn merge(&self, other: &Self, path: &str) -> Result<Self, Conflict> {
        match (self, other) {
            (Self::Record(a), Self::Record(b)) => Ok(Self::Record(a.merge_at(b, path)?)),
            (Self::Set(a, m), Self::Set(b, n)) => Ok(Self::Set(Box::new(a.merge(b, path)?), m.or(n))),
            (Self::Long(a), Self::Long(b)) => Ok(Self::Long(a.or(b))),
            (Self::Decimal(a), Self::Decimal(b)) => Ok(Self::Decimal(a.or(b))),
            (Self::Bool(a), Self::Bool(b)) => Ok(Self::Bool(if a == b { *a } else { None })),
            (Self::String(a), Self::String(b)) => Ok(Self::String(a.or(b))),
            (Self::Datetime(a), Self::Datetime(b)) => Ok(Self::Datetime(*a && *b)),
            (Self::IpAddress(a), Self::IpAddress(b)) => Ok(Self::IpAddress(if a == b { *a } else { None })),
            (a, b) if a == b => Ok(a.clone()),
            (a, b) => Err(Conflict { path: path.to_owned(), before: a.to_string(), here: b.to_string() }),
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::String(_) => json!({"type": "String"}),
            Self::Bool(_) => json!({"type": "Boolean"}),
            Self::Long(_) => json!({"type": "Long"}),
            Self::Decimal(_) => json!({"type": "Extension", "name": "decimal"}),
            Self::Datetime(_) => json!({"type": "Extension", "name": "datetime"}),
            Self::Duration => json!({"type": "Extension", "name": "duration"}),
            Self::IpAddress(_) => json!({"type": "Extension", "name": "ipaddr"}),
            Self::Set(items, _) => json!({"type": "Set", "element": items.to_json()}),
            Self::Record(members) => members.to_json(),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::String(_) => "a string",
            Self::Bool(_) => "a boolean",
            Self::Long(_) => "an integer",
            Self::Decimal(_) => "a decimal",
            Self::Datetime(_) => "a datetime",
            Self::Duration => "a duration",
            Self::IpAddress(_) => "an IP address",
            Self::Set(..) => "a set",
            Self::Record(_) => "a record",
        })
    }
}

impl Attributes {
    /// The members of a shape, whose schema stands at `place`; none if nothing can be said about them. Without a place
    /// the object counts as open, and so it does where it has members but nothing can be said about them.
    pub fn of(fields: &FieldType, place: Option<Place<'_>>) -> Self {
        let told = matches!(fields, FieldType::Record(_));
        let open = place.is_none_or(|place| place.open() || (!told && place.brings_members()));
        let mut members = BTreeMap::new();
        if let FieldType::Record(fields) = fields {
            for (name, field) in fields {
                let nullable = matches!(field.kind, FieldType::Nullable(_));
                let attribute = Attribute {
                    kind: Kind::of(&field.kind, place.and_then(|place| place.member(name))),
                    required: field.required && !nullable,
                    nullable,
                };
                members.insert(name.clone(), attribute);
            }
        }
        Self { members, open }
    }

    /// Whether some member, at any depth, is of a type that not every value of the schema can be shown in.
    pub fn may_misfit(&self) -> bool {
        self.members.values().any(|member| member.kind.as_ref().is_some_and(Kind::may_misfit))
    }

    /// Both versions in one type: a member is required only if both require it. What one version shows and the other
    /// hides, or might carry unseen in an open object, is a conflict: a policy that asks for it would not see all of it.
    pub fn merge(&self, other: &Self) -> Result<Self, Conflict> {
        self.merge_at(other, "")
    }

    fn merge_at(&self, other: &Self, above: &str) -> Result<Self, Conflict> {
        let mut members = BTreeMap::new();
        for name in self.members.keys().chain(other.members.keys()) {
            if !members.contains_key(name) {
                let path = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
                members.insert(name.clone(), self.merge_member(other, name, &path)?);
            }
        }
        Ok(Self { members, open: self.open || other.open })
    }

    fn merge_member(&self, other: &Self, name: &str, path: &str) -> Result<Attribute, Conflict> {
        match (self.members.get(name), other.members.get(name)) {
            (Some(a), Some(b)) => Ok(Attribute {
                kind: merge_kinds(a.kind.as_ref(), b.kind.as_ref(), path)?,
                required: a.required && b.required,
                nullable: a.nullable || b.nullable,
            }),
            (Some(only), None) => only.beside_nothing(other.open, path, false),
            (None, Some(only)) => only.beside_nothing(self.open, path, true),
            (None, None) => Ok(Attribute::unseen()),
        }
    }

    /// Both versions in one type, where a member that has no one type in both is not visible in either, with all inside it: a policy that reads
    /// it is invalid beside both.
    pub fn merge_visible(&self, other: &Self) -> Self {
        let names: BTreeSet<&String> = self.members.keys().chain(other.members.keys()).collect();
        let merged = names.into_iter().map(|name| {
            let member = self.merge_member(other, name, name).unwrap_or_else(|_| Attribute::unseen());
            (name.clone(), member)
        });
        Self { members: merged.collect(), open: self.open || other.open }
    }

    /// What this version shows of an instance, without the members that the type of all versions does not show.
    pub fn seen_in(mut self, all: &Self) -> Self {
        for (name, member) in &mut self.members {
            if all.members.get(name).is_none_or(|known| known.kind.is_none()) {
                *member = Attribute::unseen();
            }
        }
        self
    }

    /// The Cedar schema of a record with these members, without those that policies do not see.
    pub fn to_json(&self) -> Value {
        let mut attributes = serde_json::Map::new();
        for (name, attribute) in &self.members {
            if let Some(kind) = &attribute.kind {
                let mut described = kind.to_json();
                if let Value::Object(members) = &mut described {
                    members.insert("required".to_owned(), Value::Bool(attribute.required));
                }
                attributes.insert(name.clone(), described);
            }
        }
        json!({"type": "Record", "attributes": attributes})
    }
}

impl Attribute {
    /// A member that policies do not see.
    const fn unseen() -> Self {
        Self { kind: None, required: false, nullable: false }
    }

    fn beside_nothing(&self, open: bool, path: &str, here: bool) -> Result<Self, Conflict> {
        if let (Some(kind), true) = (&self.kind, open) {
            let (known, unknown) = (kind.to_string(), "not visible (the object is open)".to_owned());
            let (before, here) = if here { (unknown, known) } else { (known, unknown) };
            return Err(Conflict { path: path.to_owned(), before, here });
        }
        Ok(Self { kind: self.kind.clone(), required: false, nullable: self.nullable })
    }
}

/// Whether an address is one of IPv4, where its `format` lets it be of one kind alone.
fn one_family(place: Place<'_>) -> Option<bool> {
    place.all_of().into_iter().find_map(|schema| match schema.get("format")?.as_str()? {
        "ipv4" => Some(true),
        "ipv6" => Some(false),
        _ => None,
    })
}

/// The one truth that `const` or `enum` lets it be.
fn one_truth(place: Place<'_>) -> Option<bool> {
    place.all_of().into_iter().find_map(|schema| match (schema.get("const"), schema.get("enum")) {
        (Some(Value::Bool(one)), _) => Some(*one),
        (None, Some(Value::Array(all))) => match all.as_slice() {
            [Value::Bool(one)] => Some(*one),
            _ => None,
        },
        _ => None,
    })
}

fn merge_kinds(a: Option<&Kind>, b: Option<&Kind>, path: &str) -> Result<Option<Kind>, Conflict> {
    match (a, b) {
        (None, None) => Ok(None),
        (Some(a), Some(b)) => a.merge(b, path).map(Some),
        (a, b) => {
            let say = |kind: Option<&Kind>| kind.map_or_else(|| "not visible".to_owned(), Kind::to_string);
            Err(Conflict { path: path.to_owned(), before: say(a), here: say(b) })
        }
    }
}

#[cfg(test)]
#[path = "kinds_tests.rs"]
mod tests;
