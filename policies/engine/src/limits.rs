//! Bounds on what is loaded and remembered.

/// Bounds on the policy directory and on remembered verdicts.
///
/// Everything here is the operator's own material, so the bounds guard against mistakes (a wrong directory, a
/// generated file gone wild), not against an attacker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyLimits {
    /// Bytes of one `*.cedar` file. 1 MiB holds some 5,000 policies; a larger file is not written by hand.
    pub max_file_bytes: usize,
    /// Number of `*.cedar` files. 1,000 files are a directory for each of many teams.
    pub max_files: usize,
    /// Policies in all files together. Each is parsed, validated and indexed: 10,000 over 1,000 contexts load within
    /// five seconds.
    pub max_policies: usize,
    /// Bytes of `entities.json`. 16 MiB holds some 80,000 agents.
    pub max_entities_bytes: usize,
    /// Agents in `entities.json`.
    pub max_agents: usize,
    /// Groups of one agent, and credentials of one agent. Each is looked at when a policy asks for it.
    pub max_memberships: usize,
    /// Verdicts remembered at the same time, rounded up to a power of two. One takes about 100 bytes: the default
    /// is below 2 MB and holds 64 agents times 256 kinds of message.
    pub remembered_verdicts: usize,
    /// Costs in `limits.json`, budgets in it, and items in each list of a budget. Each budget is looked at for every message of
    /// its agents.
    pub max_budgets: usize,
    /// Looks at a policy that a matrix may take: agents that policies tell apart, times performatives of concepts, times policies. One takes
    /// about half a microsecond, so a matrix ends within a minute or is refused at once.
    pub max_matrix_looks: usize,
    /// How often loading tries again without a context, when policies do not validate with all of them. A try types the
    /// contexts and validates the invalid policies: some 20 ms for 100 contexts.
    pub max_left_out_tries: usize,
    /// Looks at one line of contexts beside one policy about every type, over all of one load. One takes some 0.2 ms, and a line takes one for
    /// each such policy that is mistyped, so that ten such policies are fitted beside ten thousand lines within half a minute; past it
    /// such a policy is a fault.
    pub max_line_looks: usize,
    /// How deep a policy may nest, as its text tells: operators of a chain, and eight for each bracket. What walks a policy calls itself for
    /// each, and threads have stacks of 2 MiB; a longer list of values is written as a set.
    pub max_nesting: usize,
}

impl Default for PolicyLimits {
    fn default() -> Self {
        Self {
            max_file_bytes: 1 << 20,
            max_files: 1_000,
            max_policies: 10_000,
            max_entities_bytes: 16 << 20,
            max_agents: 100_000,
            max_memberships: 256,
            remembered_verdicts: 1 << 14,
            max_budgets: 1_024,
            max_matrix_looks: 100_000_000,
            max_left_out_tries: 512,
            max_line_looks: 100_000,
            max_nesting: 500,
        }
    }
}
