//! Whatever an authority answers, the follower does not panic and believes nothing that is not signed.

use super::*;
use proptest::prelude::*;

/// A case is a whole round with its signatures; a hundredth of what the parsers get.
fn cases() -> u32 {
    let asked = std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|n| n.parse::<u32>().ok());
    asked.map_or(64, |n| (n / 100).max(64))
}

thread_local! {
    static AUTHORITY: MemoryAuthority = MemoryAuthority::with_library(START);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn fuzz_one_answer_mutated_anywhere_never_loads_anything_false(
        nth in 0usize..24,
        at in any::<prop::sample::Index>(),
        flip in 1u8..=255,
        cut in any::<bool>(),
    ) {
        let mut authority = AUTHORITY.with(Clone::clone);
        let mut follower = Follower::without_memory(authority.config());
        for n in 0..200 {
            let Step::Get(request) = follower.next(START) else { break };
            let mut answer = authority.get(&request.path, None);
            if n == nth && !answer.body.is_empty() {
                let at = at.index(answer.body.len());
                if cut { answer.body.truncate(at) } else { answer.body[at] ^= flip }
            }
            let _ = follower.answer(&request.path, answer, START);
        }
        for loaded in follower.view().contexts() {
            let published = authority.replay.published(&loaded.urn).unwrap();
            prop_assert_eq!(published.digest, loaded.digest);
            prop_assert_eq!(published.index, loaded.index);
            if let Some(context) = &loaded.context {
                prop_assert_eq!(*context.digest(), published.digest);
            }
        }
    }

    #[test]
    fn fuzz_random_answers_never_panic(
        answers in prop::collection::vec((any::<u16>(), prop::collection::vec(any::<u8>(), 0..400)), 1..8),
    ) {
        let authority = AUTHORITY.with(Clone::clone);
        let mut follower = Follower::without_memory(authority.config());
        let mut now = START;
        for (status, body) in answers {
            now += 60;
            let Step::Get(request) = follower.next(now) else { continue };
            let status = if status % 2 == 0 { 200 } else { status };
            let _ = follower.answer(&request.path, Answer { status, etag: None, body }, now);
        }
        prop_assert_eq!(follower.view().contexts().count(), 0);
    }
}
