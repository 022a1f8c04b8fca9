//! Bounds on what is loaded and remembered.

use std::collections::BTreeSet;

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
    /// Ways to pass that are told one by one of a message; what does not depend on anything else is told together and not counted. Sixteen times
    /// as many are looked for. More than sixteen nobody reads.
    pub max_ways: usize,
    /// Looks at a policy that looking for these ways may take. One takes some ten microseconds, so that it ends within seconds.
    pub max_way_looks: usize,
    /// How often loading tries again without a context, when policies do not validate with all of them. A try types the
    /// contexts and validates the invalid policies: some 20 ms for 100 contexts.
    pub max_left_out_tries: usize,
    /// Looks at one line of contexts beside one policy about every type, over all of one load. One takes some 0.2 ms, and a line takes one for
    /// each such policy that is mistyped, so that ten such policies are fitted beside ten thousand lines within half a minute; past it
    /// such a policy is a fault.
    pub max_line_looks: usize,
    /// Pairs of a permit and a forbid with conditions that are held against each other in one load, to find permits that forbids cover; of
    /// those past it nothing is said. One takes some ten microseconds.
    pub max_shadow_pairs: usize,
    /// Looks at one policy beside one route, one way, in one load, to find policies that no route carries; of those past it nothing is said. One
    /// takes some ten microseconds, so that many routes hold no set up for more than two seconds.
    pub max_route_looks: usize,
    /// How deep a policy may nest, as its text tells: operators of a chain, and eight for each bracket. What walks a policy calls itself for
    /// each, and threads have stacks of 2 MiB; a longer list of values is written as a set.
    pub max_nesting: usize,
    /// Steps of judging whether one policy could do anything: parts of its condition that are looked at. Some 0.2 µs each; a hundred
    /// comparisons in a row take about ten thousand. A policy that takes more is a fault. An eighth of them on top is for looking at conditions
    /// once more from behind, and a hundredth for looking case by case at what forbids leave of it; of what is past those nothing is said.
    pub max_policy_steps: u64,
    /// The same for all policies of one load, some forty seconds; what is past it is a fault.
    pub max_steps: u64,
    /// The issuers whose tokens count where the policies are asked (`[[credential_issuer]]`), by name: a policy that asks for a credential
    /// of another one is a fault. `None` where no configuration is known, so that nobody can tell.
    pub token_issuers: Option<BTreeSet<String>>,
    /// The trust domains of those whom a gateway can meet: whose roots it is given (`[[trust_domain]]`), and those of the agents that its
    /// routes name. A policy that asks for another one is a fault. `None` where no configuration is known.
    pub trust_domains: Option<BTreeSet<String>>,
    /// The most that the gateway's own bounds let scores be: a policy that asks for more is told, and loads. `None` where no configuration is
    /// known.
    pub scores: Option<ScoreBounds>,
    /// What the routes of a gateway carry: a policy that is about nothing of it is told as advice, and loads. `None` where no configuration is
    /// known.
    pub routes: Option<Vec<Route>>,
    /// The clock, in seconds since 1970: a policy whose time is over when it is loaded is told, and loads. `None` where nobody reads one.
    pub now: Option<u64>,
}

/// What a route of a gateway carries: messages to one agent, and its replies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The SPIFFE id of the agent behind.
    pub receiver: String,
    /// What is spoken, as `context.binding` has it.
    pub binding: &'static str,
    /// The versions of it that are taken, as `context.binding_version` has them; empty: all that there are.
    pub versions: BTreeSet<String>,
}

/// The most that scores can be, since a gateway refuses what is more before it asks policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScoreBounds {
    /// Bytes of a message, a reply or an event, whichever may be longest.
    pub message_bytes: u64,
    /// Concept instances in a message.
    pub concepts: u64,
    /// Characters of free text, with what is judged with a piece that is put behind it.
    pub text_length: u64,
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
            max_ways: 16,
            max_way_looks: 200_000,
            max_left_out_tries: 512,
            max_line_looks: 100_000,
            max_shadow_pairs: 100_000,
            max_route_looks: 200_000,
            max_nesting: 500,
            max_policy_steps: 2_000_000,
            max_steps: 200_000_000,
            token_issuers: None,
            trust_domains: None,
            scores: None,
            routes: None,
            now: None,
        }
    }
}
