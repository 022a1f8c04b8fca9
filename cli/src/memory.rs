//! Memory that is free goes back to the system from a thread that serves nobody.
//!
//! Under the shipped `MIMALLOC_PURGE_DELAY` of an hour the allocator never gives memory back on its own: else it does so on whichever
//! thread frees something next, and a message on that thread waits, for 20 ms after a large set of policies.

use std::hint::black_box;
use std::time::Duration;

/// The longest that free memory is kept, give or take the work itself. Half of the minute that is promised. More often, messages would pay
/// to get back what they use in turns.
const KEPT: Duration = Duration::from_secs(30);

/// More than any address space holds. Before mimalloc refuses such a request, it gives back all memory that is free, whatever its delay; no
/// call of its safe interface asks for that alone.
const IMPOSSIBLE: usize = isize::MAX.unsigned_abs() / 2;

/// The priority of the thread: lowest, so that it takes no core from a message.
const NICE: i32 = 19;

/// Gives memory back for as long as the process lives.
pub fn keep_giving_back() {
    let give = || {
        // elsewhere than on Linux it is the whole process that is meant
        #[cfg(target_os = "linux")]
        let _ = rustix::process::setpriority_process(None, NICE);
        loop {
            std::thread::sleep(KEPT);
            give_back();
        }
    };
    // a system without room for one more thread keeps what it gave
    let _ = std::thread::Builder::new().name("semgate-memory".to_owned()).spawn(give);
}

/// Gives all free memory back at once. Answers whether the allocator refused the request, as it must.
fn give_back() -> bool {
    let mut never: Vec<u8> = Vec::new();
    black_box(&mut never).try_reserve_exact(black_box(IMPOSSIBLE)).is_err()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_request_is_refused_and_ends_nothing() {
        assert!(super::give_back());
    }
}
