//! Every keyword that the profile knows, with the kind of its value.

/// The kind of a keyword's value.
pub(super) enum Holds {
    Schema,
    Schemas,
    NamedSchemas,
    Reference,
    Dialect,
    Types,
    Values,
    Count,
    Number,
    PositiveNumber,
    Truth,
    Text,
    Anything,
    Pattern,
    Format,
    Names,
    NamedNames,
    FreeText,
    CodeList,
    Embedding,
    Performatives,
    Never(&'static str),
}

const NO_RESOURCE: &str = "a context is one resource, named by its URN; use `#/$defs/NAME`";
const NOT_ASSERTED: &str = "it would not be checked";

/// The formats that are asserted; all are decided in time linear in the text.
pub const FORMATS: [&str; 16] = [
    "date",
    "date-time",
    "time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uri-template",
    "uuid",
    "json-pointer",
    "relative-json-pointer",
];

/// The keywords that a schema may hold, for suggestions.
pub const KEYWORDS: [&str; 48] = [
    "items",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "allOf",
    "anyOf",
    "oneOf",
    "prefixItems",
    "properties",
    "patternProperties",
    "dependentSchemas",
    "$ref",
    "$schema",
    "type",
    "enum",
    "maxLength",
    "minLength",
    "maxItems",
    "minItems",
    "maxContains",
    "minContains",
    "maxProperties",
    "minProperties",
    "maximum",
    "minimum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "multipleOf",
    "uniqueItems",
    "title",
    "description",
    "$comment",
    "const",
    "default",
    "examples",
    "pattern",
    "format",
    "required",
    "dependentRequired",
    "x-free-text",
    "x-code-list",
    "x-embedding",
    "x-performatives",
];

/// The kind of a keyword's value; `None` for an unknown keyword.
pub(super) fn keyword(name: &str) -> Option<Holds> {
    Some(match name {
        "items"
        | "contains"
        | "additionalProperties"
        | "unevaluatedProperties"
        | "propertyNames"
        | "not"
        | "if"
        | "then"
        | "else" => Holds::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Holds::Schemas,
        "properties" | "patternProperties" | "dependentSchemas" => Holds::NamedSchemas,
        "$ref" => Holds::Reference,
        "$schema" => Holds::Dialect,
        "type" => Holds::Types,
        "enum" => Holds::Values,
        "maxLength" | "minLength" | "maxItems" | "minItems" | "maxContains" | "minContains"
        | "maxProperties" | "minProperties" => Holds::Count,
        "maximum" | "minimum" | "exclusiveMaximum" | "exclusiveMinimum" => Holds::Number,
        "multipleOf" => Holds::PositiveNumber,
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => Holds::Truth,
        "title" | "description" | "$comment" => Holds::Text,
        "const" | "default" | "examples" => Holds::Anything,
        "pattern" => Holds::Pattern,
        "format" => Holds::Format,
        "required" => Holds::Names,
        "dependentRequired" => Holds::NamedNames,
        "x-free-text" => Holds::FreeText,
        "x-code-list" => Holds::CodeList,
        "x-embedding" => Holds::Embedding,
        "x-performatives" => Holds::Performatives,
        "x-digest" => Holds::Never("it is allowed only next to a `$ref` to another context"),
        "$id" | "$anchor" | "$dynamicAnchor" | "$dynamicRef" | "$recursiveRef" | "$recursiveAnchor"
        | "$vocabulary" => Holds::Never(NO_RESOURCE),
        "$defs" | "definitions" => Holds::Never("write definitions at the top of the document, in `$defs`"),
        "unevaluatedItems" => Holds::Never("write `items`, which describes all elements of an array"),
        "contentEncoding" | "contentMediaType" | "contentSchema" => Holds::Never(NOT_ASSERTED),
        _ => return None,
    })
}

/// Returns true for a keyword that constrains no content: words for readers, and what the envelope reads.
pub(super) fn is_annotation(name: &str) -> bool {
    matches!(name, "default" | "examples" | "deprecated" | "readOnly" | "writeOnly" | "x-performatives")
        || matches!(keyword(name), Some(Holds::Text | Holds::Dialect))
}

/// Returns true for a keyword whose subschema tests, so that its demands need not hold of content.
pub(super) fn is_test(keyword: &str) -> bool {
    matches!(keyword, "not" | "if" | "contains" | "propertyNames")
}

/// The demand on the value of a keyword.
pub(super) fn demand(holds: &Holds) -> &'static str {
    match holds {
        Holds::Dialect => "`https://json-schema.org/draft/2020-12/schema`",
        Holds::Count => "an integer, not negative",
        Holds::Number => "a number",
        Holds::PositiveNumber => "a number above zero",
        Holds::Truth => "`true` or `false`",
        Holds::Format => {
            "a format that is asserted: `date`, `date-time`, `time`, `duration`, `email`, `hostname`, \
                          `ipv4`, `ipv6`, `uri`, `uuid` and similar ones"
        }
        Holds::NamedNames => "an object of lists of names",
        _ => "a string",
    }
}

/// The demand on a pattern of a document that is not published yet, with a rewrite that any document can use.
pub(super) const WITH_LENGTH: &str = "used together with `maxLength`, which bounds the time of a match: write `\"maxLength\": 262144` where no other length is meant, since \
     no message holds a longer string";

/// The demand on words for readers.
pub(super) const SEEN: &str =
    "text without control and bidirectional characters: write a space in place of a line break or a tab";

/// The same demand on the words of the document as a whole.
pub(crate) const MUST_BE_SEEN: &str = "must be text without control and bidirectional characters: write a space in place of a line break or a tab";

/// The demand on numbers that are no bounds.
pub(super) const NOT_LARGE: &str =
    "of numbers up to 2^53 - 1: no message holds a larger one, so leave it out; a bound may be larger";
