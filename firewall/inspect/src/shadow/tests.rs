use super::*;
use semgate_contexts::{Context, DocumentLimits, Prefix, library};
use semgate_policies::{PolicyLimits, PolicySource};

#[test]
fn it_is_asked_about_one_message_in_so_many_from_the_first_on() {
    let read = |(_, bytes): &(&str, &[u8])| {
        Arc::new(Context::check(bytes, &Prefix::default(), &DocumentLimits::default()).unwrap())
    };
    let contexts: Vec<_> = library::all().iter().map(read).collect();
    let policies = Policies::load(&PolicySource::shipped(), &contexts, &PolicyLimits::default());
    let policies = Arc::new(policies.unwrap());
    for (one_in, asked) in [(0, 10), (1, 10), (3, 4), (100, 1)] {
        let shadow = Shadow::new(Arc::clone(&policies), one_in, Arc::default());
        assert_eq!((0..10).filter(|_| shadow.turn().is_some()).count(), asked, "one in {one_in}");
        assert_eq!(shadow.counts.asked(), asked as u64);
    }
}

#[test]
fn each_difference_has_its_own_count() {
    let counts = ShadowCounts::default();
    for direction in [Direction::Request, Direction::Reply] {
        for would in Would::ALL {
            counts.count(direction, would);
        }
    }
    assert_eq!(counts.differed().map(|(_, _, count)| count).collect::<Vec<_>>(), [1; 12]);
}
