//! Bounds of schemas.

use super::WorkBudget;
use crate::json;

/// Bounds of the schemas of a document, each with its reason.
#[derive(Debug, Clone)]
pub struct SchemaLimits {
    /// Enforces the rules that only an author can still follow: words without unseen characters, and `maxLength` with every
    /// `pattern`. A published document is read without them, since a minor version cannot mend it.
    pub authored: bool,
    /// Subschema evaluations that one value of a message can cause, worst case, computed when the document is
    /// compiled. At about 30 ns each, 500 are 15 µs; a message of many such values ends at its
    /// [`WorkBudget`](super::WorkBudget).
    pub max_work_per_node: u64,
    /// Steps of patterns that one value of a message and the names of its members can cause, worst case. It is a quarter of a
    /// message's steps ([`WorkBudget::MESSAGE`](super::WorkBudget::MESSAGE)), so that no single value ends one.
    pub max_steps_per_node: u64,
    /// Bytes of the longest string of a message, by the strict reader: the bound of a pattern without `maxLength`.
    pub max_string_bytes: u64,
    /// Bytes of the longest member name of a message, by the strict reader: the bound of patterns of names.
    pub max_name_bytes: u64,
    /// Schema nodes that the validator builds for one document, branches counted as often as they are built; each
    /// takes about 1 kB.
    pub max_compiled_nodes: u64,
    /// Bytes of a compiled document, by the estimate of [`Context::compiled_bytes`](crate::Context). 24 MiB exceed the bytes
    /// of `max_compiled_nodes`; documents that people write take a hundredth of it.
    pub max_compiled_bytes: u64,
    /// Names declared in the places of an instance, with the schemas that look there, for the rule `case`. They are counted
    /// as often as schemas lead to them, in all shapes of one document. Ten for each compiled schema, about 200 bytes each.
    pub max_case_names: usize,
    /// Levels of instance for which the work is computed: no message is nested deeper.
    pub max_instance_depth: usize,
    /// Nesting of applicators and references that look at the same value. Each takes a few stack frames for every level of
    /// the instance.
    pub max_in_place_depth: usize,
    /// Entries of `$defs`.
    pub max_defs: usize,
    /// Entries of one `enum`: compared one by one; longer lists belong into `codes`, which are searched.
    pub max_enum: usize,
    /// Members that one schema may name in `properties`, `required` and the like: looked up one by one.
    pub max_members: usize,
    /// `patternProperties` of one schema: each is tried on each member.
    pub max_pattern_properties: usize,
    /// Characters of one pattern.
    pub max_pattern_length: usize,
    /// Patterns of one document, each compiled within `max_pattern_bytes`.
    pub max_patterns: usize,
    /// Bytes of the states of one pattern: about a thousand of them, which bounds the time for each character.
    pub max_pattern_bytes: usize,
    /// Bytes of the table of one pattern, in which it takes one step for each byte; a larger one is matched by its states.
    /// 256 KiB hold 150 characters of any script in a row (`^.{1,150}$`).
    pub max_table_bytes: usize,
    /// Largest `maxItems` beside `uniqueItems`, which may compare every pair.
    pub max_unique_items: u64,
    /// Largest `maxLength` of free text, in characters: enough for some pages, too little for a book.
    pub max_free_text: u64,
}

impl Default for SchemaLimits {
    fn default() -> Self {
        let reader = json::Limits::default();
        SchemaLimits {
            authored: true,
            max_work_per_node: 500,
            max_steps_per_node: WorkBudget::MESSAGE / 4,
            max_string_bytes: reader.max_string_bytes as u64,
            max_name_bytes: reader.max_key_bytes as u64,
            max_compiled_nodes: 20_000,
            max_compiled_bytes: 24 << 20,
            max_case_names: 200_000,
            max_instance_depth: 32,
            max_in_place_depth: 16,
            max_defs: 256,
            max_enum: 256,
            max_members: 256,
            max_pattern_properties: 8,
            max_pattern_length: 256,
            max_patterns: 128,
            max_pattern_bytes: 64 * 1024,
            max_table_bytes: 256 * 1024,
            max_unique_items: 256,
            max_free_text: 10_000,
        }
    }
}
