use super::*;
use crate::tests::offer;

#[test]
fn f0_37_an_offer_that_shrinks_is_noticed_once() {
    let last = LastOffers::default();
    let offers = |shorts: &[&str]| -> Vec<Offer> { shorts.iter().map(|short| offer(short)).collect() };
    let all = offers(&["payment:v1.1", "payment:v2.0", "travel:v2.1"]);
    assert_eq!(last.note("a", &all), []);
    assert_eq!(last.note("a", &all), []);
    assert_eq!(last.note("b", &offers(&["payment:v1.1"])), [], "another peer");
    let (payment, travel) = (Line::parse("payment").unwrap(), Line::parse("travel").unwrap());
    let (v2, v1) = (Version::new(2, 0), Some(Version::new(1, 1)));
    assert_eq!(
        last.note("a", &offers(&["payment:v1.1"])),
        [
            ShrunkOffer { line: payment, before: v2, now: v1 },
            ShrunkOffer { line: travel, before: Version::new(2, 1), now: None }
        ]
    );
    assert_eq!(last.note("a", &offers(&["payment:v1.1"])), []);
    assert_eq!(last.note("a", &all), [], "growing is no fault");
}
