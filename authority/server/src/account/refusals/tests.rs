use super::*;

#[test]
fn an_account_records_the_first_of_each_minute_and_the_next_says_how_many_were_not() {
    let refusals = Refusals::new(2);
    let ada = || RecordedFor::Publisher("ada".to_owned());
    let at = |now| refusals.record(ada(), now);
    assert_eq!([at(0), at(1), at(2), at(59)], [Some(0), Some(0), None, None]);
    assert_eq!([at(60), at(61), at(62)], [Some(2), Some(0), None]);
    assert_eq!(refusals.record(RecordedFor::Strangers, 60), Some(0), "another account has its own");
    // a clock that was set back also begins a window
    assert_eq!(at(30), Some(1));
    assert_eq!(Refusals::new(0).record(ada(), 0), None);
}
