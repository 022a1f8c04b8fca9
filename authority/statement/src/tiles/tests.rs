use super::*;
use std::collections::HashMap;

fn entries(from: u64, to: u64) -> Vec<Vec<u8>> {
    (from..to).map(|i| format!("entry {i}").into_bytes()).collect()
}

/// The root by the book: RFC 6962 §2.1, recursively over all leaves.
fn slow_root(leaves: &[TreeHash]) -> TreeHash {
    match leaves {
        [] => TreeHash::EMPTY,
        [one] => *one,
        more => {
            let split = (1..=more.len()).rev().find(|k| k.is_power_of_two() && *k < more.len()).unwrap();
            TreeHash::of_node(slow_root(&more[..split]), slow_root(&more[split..]))
        }
    }
}

fn grow(tree: &mut Tree, files: &mut HashMap<TilePath, Vec<u8>>, to: u64) {
    for file in tree.append(&entries(tree.size(), to)).unwrap() {
        files.insert(file.path, file.bytes);
    }
}

#[test]
fn roots_are_those_of_rfc_6962_at_every_size() {
    let mut tree = Tree::new();
    let mut leaves = Vec::new();
    assert_eq!(tree.root(), TreeHash::EMPTY);
    for i in 0..600u64 {
        tree.append(&entries(i, i + 1)).unwrap();
        leaves.push(TreeHash::of_leaf(format!("entry {i}").as_bytes()));
        assert_eq!(tree.root(), slow_root(&leaves), "size {}", i + 1);
    }
}

#[test]
fn one_append_of_many_equals_many_appends_of_one() {
    let mut whole = Tree::new();
    let mut steps = Tree::new();
    let (mut a, mut b) = (HashMap::new(), HashMap::new());
    grow(&mut whole, &mut a, 66_000);
    for size in [1, 2, 255, 256, 257, 511, 512, 40_000, 65_535, 65_536, 65_537, 66_000] {
        grow(&mut steps, &mut b, size);
        let again = Tree::load(size, &b).unwrap();
        assert_eq!((again.size(), again.root()), (size, steps.root()), "size {size}");
    }
    assert_eq!(whole.root(), steps.root());
    for (path, bytes) in &a {
        assert_eq!(b.get(path), Some(bytes), "{path}");
    }
}

#[test]
fn proofs_from_tiles_hold_for_a_true_log_and_name_what_is_missing() {
    let mut tree = Tree::new();
    let mut files = HashMap::new();
    let mut roots = vec![(0, TreeHash::EMPTY)];
    for size in [1, 3, 256, 300, 512, 66_000] {
        grow(&mut tree, &mut files, size);
        roots.push((size, tree.root()));
    }
    for (size, root) in &roots {
        for (old, old_root) in roots.iter().filter(|(old, _)| old <= size) {
            check_consistency(*old, *old_root, *size, *root, &files).unwrap();
        }
        if *size > 0 {
            let found = leaf_hashes(&[0, size - 1], *size, *root, &files).unwrap();
            assert_eq!(found[0], TreeHash::of_leaf(b"entry 0"));
            assert_eq!(found[1], TreeHash::of_leaf(format!("entry {}", size - 1).as_bytes()));
        }
    }
    let none: HashMap<TilePath, Vec<u8>> = HashMap::new();
    let (size, root) = *roots.last().unwrap();
    let Err(ProofFault::Missing(tiles)) = leaf_hashes(&[5], size, root, &none) else { panic!() };
    assert!(tiles.contains(&TilePath::Hashes { level: 0, n: 0, width: 256 }));
}

#[test]
fn a_forked_log_is_not_a_prefix_and_a_changed_tile_is_inconsistent() {
    let mut tree = Tree::new();
    let mut files = HashMap::new();
    grow(&mut tree, &mut files, 300);
    let mut other = Tree::new();
    let mut forged: Vec<Vec<u8>> = entries(0, 300);
    forged[7] = b"another history".to_vec();
    let mut theirs = HashMap::new();
    for file in other.append(&forged).unwrap() {
        theirs.insert(file.path, file.bytes);
    }
    for file in other.append(&entries(300, 400)).unwrap() {
        theirs.insert(file.path, file.bytes);
    }
    assert_eq!(check_consistency(300, tree.root(), 400, other.root(), &theirs), Err(ProofFault::NotAPrefix));
    // The honest leaf tile does not hash to the forged root.
    let path = TilePath::Hashes { level: 0, n: 0, width: 256 };
    theirs.insert(path, files[&path].clone());
    assert_eq!(leaf_hashes(&[7], 400, other.root(), &theirs), Err(ProofFault::Inconsistent));
    assert_eq!(leaf_hashes(&[400], 400, other.root(), &theirs), Err(ProofFault::OutOfRange));
    assert_eq!(leaf_hashes(&[0], 0, TreeHash::EMPTY, &theirs), Err(ProofFault::OutOfRange));
}

#[test]
fn paths_have_one_spelling() {
    for (path, tile) in [
        ("/tile/0/000.p/1", TilePath::Hashes { level: 0, n: 0, width: 1 }),
        ("/tile/1/x001/x234/067", TilePath::Hashes { level: 1, n: 1_234_067, width: 256 }),
        ("/tile/entries/x001/234.p/255", TilePath::Entries { n: 1234, width: 255 }),
    ] {
        assert_eq!(TilePath::parse(path), Ok(tile));
        assert_eq!(tile.to_string(), path);
    }
    for path in [
        "",
        "tile/0/000",
        "/tile/0/0",
        "/tile/00/000",
        "/tile/8/000",
        "/tile/0/000.p/256",
        "/tile/0/000.p/0",
        "/tile/0/000.p/01",
        "/tile/0/x000/001",
        "/tile/0/001/002",
        "/tile/0/x001",
        "/tile/data/000",
        "/tile/entries/../000",
        "/tile/entries/000/",
        "/tile/0/x999/x999/x999/x999/x999/x999/999",
    ] {
        assert_eq!(TilePath::parse(path), Err(TileFault::Path), "{path}");
    }
}

#[test]
fn bundles_refuse_what_does_not_add_up() {
    let bytes = encode_bundle(&[b"ab".as_slice(), b"c"]).unwrap();
    assert_eq!(bytes, b"\x00\x02ab\x00\x01c");
    assert_eq!(decode_bundle(&bytes, 2).unwrap(), vec![b"ab".as_slice(), b"c"]);
    assert_eq!(decode_bundle(&bytes, 1), Err(TileFault::Bundle));
    assert_eq!(decode_bundle(&bytes, 3), Err(TileFault::Bundle));
    assert_eq!(decode_bundle(b"\x00\x05ab", 1), Err(TileFault::Bundle));
    assert_eq!(decode_bundle(b"\x00\x00", 1), Err(TileFault::Entry));
    assert_eq!(encode_bundle(&[vec![0u8; 65_536]]), Err(TileFault::Entry));
    assert_eq!(Tree::new().append(&[Vec::new()]), Err(TileFault::Entry));
}
