//! Compiled policies and facts for each kind of request, and queries with a memory.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use cedar_policy::{ActionConstraint, Policy, RequestEnv, ResourceConstraint, Schema};
use cedar_policy_symcc::err::Error;
use cedar_policy_symcc::solver::WriterSolver;
use cedar_policy_symcc::term::Term;
use cedar_policy_symcc::{
    CedarSymCompiler, CompiledPolicy, CompiledSchema, SymEnv, always_matches_asserts, never_matches_asserts,
};

use crate::facts::Fact;
use crate::solver::{Answer, Solver};

/// A kind of request, by position: principal type, action, resource type.
pub type Kind = usize;

/// One kind of request with its symbols.
struct Compiled {
    request: RequestEnv,
    symbols: Option<Arc<SymEnv>>,
}

/// All kinds of request that a schema allows.
pub struct Ground<'s> {
    schema: Schema,
    compiled: CompiledSchema,
    kinds: Vec<Compiled>,
    facts: HashMap<(Kind, String), Option<Arc<[Term]>>>,
    known: BTreeMap<Vec<Term>, Answer>,
    solver: &'s mut Solver,
}

impl<'s> Ground<'s> {
    /// Compiles a schema.
    ///
    /// # Errors
    /// The compiler refuses the schema.
    pub fn of(schema: Schema, solver: &'s mut Solver) -> Result<Self, String> {
        let compiled = CompiledSchema::new(&schema).map_err(|why| why.to_string())?;
        let kinds = schema.request_envs().map(|request| Compiled { request, symbols: None }).collect();
        Ok(Self { schema, compiled, kinds, facts: HashMap::new(), known: BTreeMap::new(), solver })
    }

    /// The solver, for what it counts.
    pub fn solver(&self) -> &Solver {
        self.solver
    }

    /// The kinds of request that the scope of a policy lets in.
    pub fn in_scope(&self, policy: &Policy) -> Vec<Kind> {
        let (action, resource) = (policy.action_constraint(), policy.resource_constraint());
        let fits = |request: &RequestEnv| {
            let action = match &action {
                ActionConstraint::Any => true,
                ActionConstraint::Eq(one) => one == request.action(),
                ActionConstraint::In(list) => list.contains(request.action()),
            };
            let resource = match &resource {
                ResourceConstraint::Is(name) | ResourceConstraint::IsIn(name, _) => {
                    name == request.resource()
                }
                _ => true,
            };
            action && resource
        };
        (0..self.kinds.len())
            .filter(|kind| self.kinds.get(*kind).is_some_and(|one| fits(&one.request)))
            .collect()
    }

    /// The resource type and the name of the action of a kind.
    pub fn names(&self, kind: Kind) -> (String, String) {
        self.kinds.get(kind).map_or_else(Default::default, |one| {
            (one.request.resource().to_string(), one.request.action().id().unescaped().to_owned())
        })
    }

    /// A policy compiled for one kind of request; nothing where the compiler refuses it.
    pub fn compile(&mut self, policy: &Policy, kind: Kind) -> Option<CompiledPolicy> {
        let one = self.kinds.get_mut(kind)?;
        if one.symbols.is_none() {
            one.symbols = self.compiled.sym_env(&one.request).ok().map(Arc::new);
        }
        let symbols = one.symbols.as_deref()?.clone();
        CompiledPolicy::compile_with_custom_symenv(policy, &one.request, &self.schema, symbols).ok()
    }

    /// The terms of facts. A fact that does not compile is left out, so that less is known and nothing more is found.
    pub fn facts(&mut self, facts: &[Fact], kind: Kind) -> Vec<Term> {
        let mut all = Vec::new();
        for fact in facts {
            let key = (kind, fact.text.clone());
            if !self.facts.contains_key(&key) {
                let text = format!("permit (principal, action, resource) when {{ {} }};", fact.text);
                let policy = Policy::parse(None, text).ok();
                debug_assert!(policy.is_some(), "a fact that does not parse: {}", fact.text);
                let terms =
                    policy.and_then(|policy| self.compile(&policy, kind)).map(|one| applies(&one).into());
                self.facts.insert(key.clone(), terms);
            }
            if let Some(Some(terms)) = self.facts.get(&key) {
                all.extend(terms.iter().cloned());
            }
        }
        all
    }

    /// Asks if some request of a kind satisfies all terms.
    pub fn ask(&mut self, mut terms: Vec<Term>, kind: Kind) -> Answer {
        terms.sort();
        terms.dedup();
        if let Some(known) = self.known.get(&terms) {
            return *known;
        }
        let answer = self.decide(terms.clone(), kind);
        if answer != Answer::Undecided {
            self.known.insert(terms, answer);
        }
        answer
    }

    fn decide(&mut self, terms: Vec<Term>, kind: Kind) -> Answer {
        let Some(symbols) = self.kinds.get(kind).and_then(|one| one.symbols.clone()) else {
            return Answer::Undecided;
        };
        let Ok(mut compiler) = CedarSymCompiler::new(WriterSolver { w: Vec::new() }) else {
            return Answer::Undecided;
        };
        match at_once(compiler.check_unsat_raw(Arc::new(terms), &symbols)) {
            Some(Ok(true)) => Answer::Never,
            Some(Ok(false)) => Answer::Possible,
            // the script is written, and the writer decides nothing
            Some(Err(Error::SolverUnknown)) => match std::str::from_utf8(&compiler.solver().w) {
                Ok(script) => self.solver.ask(script),
                Err(_) => Answer::Undecided,
            },
            Some(Err(_)) | None => Answer::Undecided,
        }
    }
}

/// The terms that say that a policy applies.
pub fn applies(policy: &CompiledPolicy) -> Vec<Term> {
    never_matches_asserts(policy).asserts().to_vec()
}

/// The terms that say that a policy does not apply, or fails.
pub fn applies_not(policy: &CompiledPolicy) -> Vec<Term> {
    always_matches_asserts(policy).asserts().to_vec()
}

/// The value of a future that waits for nothing, as one that writes to memory does.
fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
