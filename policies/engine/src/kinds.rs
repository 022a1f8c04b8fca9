//! The view that Cedar has of an instance, and the merging of versions of one term.

use semgate_contexts::{FieldType, Format, VectorType};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::open_objects::SchemaNode;

/// The member of a vector that names its model.
pub(crate) const MODEL: &str = "model";

/// The member of a vector that holds its similarity to each reference vector, −1000 to 1000.
pub(crate) const SIMILARITY: &str = "similarity";

/// A type that policies see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `String`
    String,
    /// `Bool`
    Bool,
    /// `Long`
    Long,
    /// `decimal`
    Decimal,
    /// `datetime`; a day is its midnight in UTC
    Datetime,
    /// `duration`
    Duration,
    /// `ipaddr`
    IpAddress,
    /// `Set<…>`
    Set(Box<Kind>),
    /// A record.
    Record(Attributes),
    /// A record about a vector: its model, and its similarity to each reference vector of that model.
    Vector(Box<VectorKind>),
}

/// The view of a vector of an embedding model. No number of the vector is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VectorKind {
    /// `model`, and `similarity` if the document has reference vectors.
    pub attributes: Attributes,
    /// The type in one version; of merged versions, that of the first.
    pub of: VectorType,
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
    /// The type in the versions before.
    pub before: String,
    /// The type in this version.
    pub here: String,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is {} in other versions and {} here", self.path, self.before, self.here)
    }
}

impl Kind {
    /// The type of a field, whose schema stands at `place`; `None` if policies cannot see it.
    fn of(field: &FieldType, node: Option<SchemaNode<'_>>) -> Option<Self> {
        match field {
            FieldType::Text { format: Some(Format::Date | Format::DateTime), .. } => Some(Self::Datetime),
            FieldType::Text { format: Some(Format::Duration), .. } => Some(Self::Duration),
            FieldType::Text { format: Some(Format::IpAddress), .. } => Some(Self::IpAddress),
            FieldType::Text { format: None, .. } => Some(Self::String),
            FieldType::Boolean => Some(Self::Bool),
            FieldType::Integer => Some(Self::Long),
            FieldType::Decimal => Some(Self::Decimal),
            FieldType::Array(items) => {
                Some(Self::Set(Box::new(Self::of(items, node.and_then(SchemaNode::items))?)))
            }
            FieldType::Record(_) => Some(Self::Record(Attributes::of(field, node))),
            FieldType::Nullable(inner) => Self::of(inner, node),
            FieldType::Vector(of) => Some(Self::Vector(Box::new(VectorKind::of(of)))),
            FieldType::OtherNumber | FieldType::Opaque => None,
        }
    }

    /// Returns true if a value that fits the schema may be none that policies can see, or not exactly.
    fn may_misfit(&self) -> bool {
        match self {
            Self::String | Self::Bool | Self::Vector(_) => false,
            Self::Long | Self::Decimal | Self::Datetime | Self::Duration | Self::IpAddress => true,
            Self::Set(items) => items.may_misfit(),
            Self::Record(members) => members.may_misfit(),
        }
    }

    fn merge(&self, other: &Self, path: &str) -> Result<Self, Conflict> {
        match (self, other) {
            (Self::Record(a), Self::Record(b)) => Ok(Self::Record(a.merge_at(b, path)?)),
            (Self::Vector(a), Self::Vector(b)) => {
                let attributes = a.attributes.merge_at(&b.attributes, path)?;
                Ok(Self::Vector(Box::new(VectorKind { attributes, of: a.of.clone() })))
            }
            (Self::Set(a), Self::Set(b)) => Ok(Self::Set(Box::new(a.merge(b, path)?))),
            (a, b) if a == b => Ok(a.clone()),
            (a, b) => Err(Conflict { path: path.to_owned(), before: a.to_string(), here: b.to_string() }),
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::String => json!({"type": "String"}),
            Self::Bool => json!({"type": "Boolean"}),
            Self::Long => json!({"type": "Long"}),
            Self::Decimal => json!({"type": "Extension", "name": "decimal"}),
            Self::Datetime => json!({"type": "Extension", "name": "datetime"}),
            Self::Duration => json!({"type": "Extension", "name": "duration"}),
            Self::IpAddress => json!({"type": "Extension", "name": "ipaddr"}),
            Self::Set(items) => json!({"type": "Set", "element": items.to_json()}),
            Self::Record(members) => members.to_json(),
            Self::Vector(vector) => vector.attributes.to_json(),
        }
    }

    /// The members of a record, a vector's too.
    pub(crate) const fn inner(&self) -> Option<&Attributes> {
        match self {
            Self::Record(members) => Some(members),
            Self::Vector(vector) => Some(&vector.attributes),
            _ => None,
        }
    }
}

impl VectorKind {
    fn of(of: &VectorType) -> Self {
        let member = |kind, required| Attribute { kind: Some(kind), required, nullable: false };
        let closed = |members| Attributes { members, open: false };
        let each = of.reference_names().map(|name| (name.to_owned(), member(Kind::Long, false)));
        let similarity: BTreeMap<String, Attribute> = each.collect();
        let mut members = BTreeMap::from([(MODEL.to_owned(), member(Kind::String, true))]);
        if !similarity.is_empty() {
            members.insert(SIMILARITY.to_owned(), member(Kind::Record(closed(similarity)), true));
        }
        Self { attributes: closed(members), of: of.clone() }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::String => "a string",
            Self::Bool => "a boolean",
            Self::Long => "an integer",
            Self::Decimal => "a decimal",
            Self::Datetime => "a datetime",
            Self::Duration => "a duration",
            Self::IpAddress => "an IP address",
            Self::Set(..) => "a set",
            Self::Record(_) => "a record",
            Self::Vector(_) => "a vector",
        })
    }
}

impl Attributes {
    /// The members of a shape, whose schema stands at `place`; none if nothing can be said about them. Without a place
    /// the object counts as open, and so it does where it has members but nothing can be said about them.
    pub fn of(fields: &FieldType, node: Option<SchemaNode<'_>>) -> Self {
        let report = matches!(fields, FieldType::Record(_));
        let open = node.is_none_or(|node| node.open() || (!report && node.brings_members()));
        let mut members = BTreeMap::new();
        if let FieldType::Record(fields) = fields {
            for (name, field) in fields {
                let nullable = matches!(field.kind, FieldType::Nullable(_));
                let attribute = Attribute {
                    kind: Kind::of(&field.kind, node.and_then(|node| node.member(name))),
                    required: field.required && !nullable,
                    nullable,
                };
                members.insert(name.clone(), attribute);
            }
        }
        Self { members, open }
    }

    /// Returns true if some member, at any depth, is of a type that not every value of the schema can be shown in.
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

    /// The members of an instance that this version shows, without those that the type of all versions does not show.
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
mod tests;
