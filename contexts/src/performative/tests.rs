use super::{Performative, PerformativeSet, UnknownPerformative};

#[test]
fn every_name_parses_to_itself_and_no_other_spelling_does() {
    for p in Performative::ALL {
        assert_eq!(p.as_str().parse(), Ok(p));
        assert_eq!(p.to_string(), p.as_str());
        assert_eq!(p.as_str().to_lowercase().parse::<Performative>(), Err(UnknownPerformative));
        assert_eq!(format!("{p} ").parse::<Performative>(), Err(UnknownPerformative));
    }
    for text in ["", "COUNTER-PROPOSE", "COUNTERPROPOSE", "REQUEST-CLARIFY", "Request"] {
        assert_eq!(text.parse::<Performative>(), Err(UnknownPerformative), "{text}");
    }
}

#[test]
fn a_set_has_its_members_in_order() {
    assert_eq!(PerformativeSet::ASKING.len(), 5);
    assert_eq!(PerformativeSet::ALL, Performative::ALL.into_iter().collect());
    assert!(Performative::Query.is_asking() && !Performative::Inform.is_asking());
    let two: PerformativeSet = [Performative::Query, Performative::Agree].into_iter().collect();
    assert_eq!(two.iter().collect::<Vec<_>>(), [Performative::Agree, Performative::Query]);
    assert_eq!(format!("{two:?}"), "{Agree, Query}");
}
