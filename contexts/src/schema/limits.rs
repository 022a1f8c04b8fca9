//! Bounds of schemas.

/// Bounds of the schemas of a document, each with its reason.
#[derive(Debug, Clone)]
pub struct SchemaLimits {
    /// Subschema evaluations that one value of a message can cause, worst case, computed when the document is
    /// compiled. With 20,000 values a message (the reader's limit) and about 30 ns each, 500 is 0.3 s.
    pub max_work_per_node: u64,
    /// Schema nodes that the validator builds for one document, branches counted as often as they are built; each
    /// takes about 1 kB.
    pub max_compiled_nodes: u64,
    /// Names that are declared in the places of an instance, with the schemas that look there, as often as schemas lead to them, in all
    /// shapes of one document: what the rule `case` knows by heart. Ten for each compiled schema, about 80 bytes each.
    pub max_case_names: usize,
    /// Levels of instance for which the work is computed: no message is nested deeper.
    pub max_instance_depth: usize,
    /// Applicators and references inside one another that look at the same value: each is a few stack frames,
    /// times the levels of the instance.
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
    /// Patterns that the validators of one document compile, those of definitions once for each term that leads to them: at
    /// `max_pattern_bytes` each, 128 MiB at the very worst.
    pub max_compiled_patterns: u64,
    /// Bytes of one compiled pattern: about a thousand states, which bounds the time for each character.
    pub max_pattern_bytes: usize,
    /// Largest `maxItems` beside `uniqueItems`, which may compare every pair.
    pub max_unique_items: u64,
    /// Largest `maxLength` of free text, in characters: enough for some pages, too little for a book.
    pub max_free_text: u64,
}

impl Default for SchemaLimits {
    fn default() -> Self {
        SchemaLimits {
            max_work_per_node: 500,
            max_compiled_nodes: 20_000,
            max_case_names: 200_000,
            max_instance_depth: 32,
            max_in_place_depth: 16,
            max_defs: 256,
            max_enum: 256,
            max_members: 256,
            max_pattern_properties: 8,
            max_pattern_length: 256,
            max_patterns: 128,
            max_compiled_patterns: 2_048,
            max_pattern_bytes: 64 * 1024,
            max_unique_items: 256,
            max_free_text: 10_000,
        }
    }
}
