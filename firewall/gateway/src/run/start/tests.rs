use super::*;

#[test]
fn an_empty_section_of_limits_is_what_the_inspector_has_by_itself() {
    let (ours, its) = (inspect_limits(&Limits::default()), InspectLimits::default());
    assert_eq!(format!("{ours:?}"), format!("{its:?}"));
}

#[test]
fn what_is_remembered_of_agents_is_bounded_as_configured() {
    let limits = Limits {
        metered_agents: 101,
        owned: 102,
        owned_of_all: 103,
        named_ids: 110,
        push_targets: 104,
        subscriptions_of_all: 106,
        unanswered: 107,
        learnt_sessions: 108,
        learnt_concepts: 109,
        ..Limits::default()
    };
    let its = inspect_limits(&limits);
    let remembered = [its.metered_agents, its.owned_by_one, its.owned_by_all, its.deliveries_by_one];
    assert_eq!(remembered, [101, 102, 103, 104]);
    assert_eq!(its.named_ids, 110);
    let open = [its.subscriptions_of_all, its.unanswered, its.learnt_sessions, its.learnt_concepts];
    assert_eq!(open, [106, 107, 108, 109]);
}
