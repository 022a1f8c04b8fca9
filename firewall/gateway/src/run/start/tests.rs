use super::*;

#[test]
fn an_empty_section_of_limits_is_what_the_inspector_has_by_itself() {
    let (ours, its) = (inspect_limits(&Limits::default()), InspectLimits::default());
    assert_eq!(format!("{ours:?}"), format!("{its:?}"));
}

#[test]
fn what_agents_hold_is_bounded_as_configured() {
    let limits = Limits { subscriptions: 2, tool_list_seconds: 3, nodes: 4, ..Limits::default() };
    let its = inspect_limits(&limits);
    assert_eq!((its.subscriptions_of_one, its.tool_list_ms, its.json.max_nodes), (2, Some(3_000), 4));
}
