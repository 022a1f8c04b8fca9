use super::*;

#[test]
fn pieces_are_joined_in_every_way_that_readers_do() {
    let pieces = Pieces::of(["dröp", "", "table", "\n"]);
    assert_eq!(pieces.joined(""), "dröptable\n");
    assert_eq!(pieces.joined(" "), "dröp table \n");
    assert_eq!(pieces.joined("\n"), "dröp\ntable\n\n");
    assert_eq!(pieces.len(), 5 + 5 + 1 + 2);
    assert_eq!((Pieces::default().joined(" "), Pieces::of([""]).len()), (String::new(), 0));
    assert!(Pieces::of(["one"]).is_one() && !pieces.is_one());
}

#[test]
fn the_same_words_in_other_pieces_are_the_same_words() {
    assert!(Pieces::of(["ab", "c"]).says(&Pieces::of(["a", "bc"])));
    assert!(!Pieces::of(["ab", "c"]).says(&Pieces::of(["ab"])));
}
