use super::*;

#[test]
fn a_budget_ends_where_its_steps_end_and_gives_the_thread_back() {
    let budget = WorkBudget::of_message();
    assert_eq!(budget.run(MemberSteps::default(), || charge(WorkBudget::MESSAGE - 1)), Ok(true));
    assert_eq!(budget.run(MemberSteps::default(), || charge(1)), Err(BudgetExhausted));
    assert_eq!(budget.run(MemberSteps::default(), || true), Err(BudgetExhausted));
    assert_eq!(WorkBudget::of_message().run(MemberSteps::default(), || charge(1)), Ok(true));
    assert!(charge(WorkBudget::MESSAGE), "outside of a run nothing is bounded");
}

#[test]
fn a_run_inside_another_charges_its_own_budget() {
    let (outer, inner) = (WorkBudget::of_message(), WorkBudget::of_message());
    let ran = outer.run(MemberSteps::default(), || inner.run(MemberSteps::default(), || charge(5)));
    assert_eq!(ran, Ok(Ok(true)));
    assert_eq!((outer.spent(), inner.spent()), (0, 5));
}
