use super::*;

#[test]
fn f0_12_an_agent_holds_so_many_subscriptions_and_gives_each_back() {
    let open = Subscriptions::new(2, 3, 1_000);
    let (one, other): (Arc<str>, Arc<str>) = (Arc::from("one"), Arc::from("other"));
    let first = open.slot(&one).unwrap();
    let second = open.slot(&one).unwrap();
    assert_eq!(open.slot(&one).unwrap_err().code(), Code::RateLimited, "its own bound");
    let third = open.slot(&other).unwrap();
    assert_eq!(open.slot(&other).unwrap_err().code(), Code::RateLimited, "the bound of all");
    drop(first);
    assert_eq!(open.len(), 2);
    let again = open.slot(&one).unwrap();
    drop((second, third, again));
    assert!(open.is_empty() && open.counts.lock().unwrap().of.is_empty());
}
