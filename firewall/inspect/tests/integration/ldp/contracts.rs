//! Contracts hold, whatever they say about failures.

use super::*;

fn contract(policy: Value) -> Value {
    json!({"contract_id": "c-1", "objective": "Book", "success_criteria": [], "created_at": "2026-06-01T00:01:00Z",
           "policy": policy})
}

impl World {
    fn task(&self, task: &str, contract: &Value) -> Result<Permit, Refusal> {
        self.ask(CALLER, &with(&self.submit(CALLER, "s1", task), "/body/contract", contract.clone()), NOW)
    }

    fn outcome(&self, task: &str, contract: &Value, more: Value, now: Now) -> Result<(), Code> {
        let (_, sent) = self.task(task, contract).map_err(|refusal| refusal.code())?.spend();
        let mut result = self.result(CALLER, "s1", task);
        result["body"]["provenance"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        result["timestamp"] = format!("2026-06-01T00:{:02}:00Z", (now.unix - NOW.unix) / 60 + 1).into();
        self.reply(&sent, &result, now).map(drop).map_err(|refusal| refusal.cause().unwrap_or(refusal.code()))
    }
}

fn opened(change: impl FnOnce(&mut Route)) -> World {
    let world = World::new(change);
    world.open(CALLER, "s1", flights());
    world
}

#[test]
fn ldp_attack_contract_depth_and_deadline() {
    let world = opened(|route| route.options.dialogue.delegation_depth = Some(2));
    let deadline = |at: &str| with(&contract(json!({})), "/deadline", at.into());
    let (code, why) = refused(world.task("t1", &deadline("2026-06-01T00:00:59Z")));
    assert_eq!((code, why.contains("deadline of the contract has passed")), (Code::PolicyDenied, true));
    let (soon, later) = (deadline("2026-06-01T00:02:00Z"), seconds_later(120));
    assert_eq!(world.outcome("t2", &soon, json!({}), seconds_later(60)), Ok(()));
    assert_eq!(world.outcome("t3", &soon, json!({}), later), Err(Code::PolicyDenied));
    // the default of both libraries is to let a violation pass
    let open = json!({"failure_policy": "fail_open", "max_delegation_depth": 1});
    let hop = json!({"delegate_id": "d", "model_version": "v", "step": "task"});
    let chain = |n: usize| json!({"lineage": vec![hop.clone(); n]});
    assert_eq!(world.outcome("t4", &contract(open.clone()), chain(1), NOW), Ok(()));
    assert_eq!(world.outcome("t5", &contract(open), chain(2), NOW), Err(Code::PolicyDenied));
    // the route's own bound needs no contract
    assert_eq!(world.outcome("t7", &contract(json!({})), chain(3), NOW), Err(Code::PolicyDenied));
    let deep = contract(json!({"max_delegation_depth": 3}));
    let (code, why) = refused(world.task("t6", &deep));
    assert_eq!((code, why.contains("more delegations than the route")), (Code::PolicyDenied, true));
}

#[test]
fn ldp_budget_runs_out() {
    let world = opened(|_| {});
    let hundred = contract(json!({"budget": {"max_tokens": 100, "max_cost_usd": 0.05}}));
    let used = |tokens: u64| json!({"tokens_used": tokens, "cost_usd": 0.00001});
    assert_eq!(world.outcome("t1", &hundred, used(60), NOW), Ok(()));
    // the session keeps the count over its rounds
    assert_eq!(world.outcome("t2", &hundred, used(60), NOW), Err(Code::PolicyDenied));
    let (code, why) = refused(world.task("t3", &hundred));
    assert_eq!((code, why.contains("budget of the session is spent")), (Code::PolicyDenied, true));
    // nobody holds a budget that nobody reports against
    let larger = contract(json!({"budget": {"max_tokens": 1000}}));
    assert_eq!(world.outcome("t4", &larger, json!({}), NOW), Err(Code::PolicyDenied));
    assert_eq!(world.outcome("t5", &larger, used(60), NOW), Ok(()));
    let dear = contract(json!({"budget": {"max_cost_usd": 0.01}}));
    assert_eq!(world.outcome("t6", &dear, json!({"cost_usd": 0.02}), NOW), Err(Code::PolicyDenied));
}

#[test]
fn a_route_bounds_the_tokens_of_a_session_without_any_contract() {
    let world = opened(|route| route.options.dialogue.session_tokens = Some(10));
    let report = |task: &str, tokens: u64| {
        let sent = world.ask(CALLER, &world.submit(CALLER, "s1", task), NOW)?.spend().1;
        let result = with(&world.result(CALLER, "s1", task), "/body/provenance/tokens_used", tokens.into());
        // a result that comes twice counts once
        let _ = world.reply(&sent, &with(&result, "/message_id", format!("again-{task}").into()), NOW);
        world.reply(&sent, &result, NOW).map(drop)
    };
    report("t1", 10).unwrap();
    assert_eq!(refused(report("t2", 1)).0, Code::PolicyDenied);
    // a small report first does not hide a large one
    let world = opened(|route| route.options.dialogue.session_tokens = Some(10));
    let sent = world.ask(CALLER, &world.submit(CALLER, "s1", "t1"), NOW).unwrap().spend().1;
    let result =
        |tokens: u64| with(&world.result(CALLER, "s1", "t1"), "/body/provenance/tokens_used", tokens.into());
    let small = with(&result(1), "/message_id", "small".into());
    let _ = world.reply(&sent, &small, NOW).unwrap();
    assert_eq!(refused(world.reply(&sent, &result(1_000), NOW)).0, Code::PolicyDenied);
}
