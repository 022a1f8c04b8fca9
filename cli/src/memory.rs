//! Returns free memory to the system from a thread that serves nobody.
//!
//! Under the shipped `MIMALLOC_PURGE_DELAY` of an hour the allocator never returns memory by itself. Otherwise it would do so on any thread
//! that frees something, and a message there would wait: 20 ms after a large set of policies.

use std::hint::black_box;
use std::time::Duration;

/// The longest time that free memory is kept, apart from the work itself: half of the promised minute. At a shorter interval, messages
/// would pay for getting memory back.
const KEPT: Duration = Duration::from_secs(30);

/// A size beyond any address space. Before mimalloc refuses such a request, it returns all free memory, whatever its delay. No call of its
/// safe interface does that alone.
const IMPOSSIBLE: usize = isize::MAX.unsigned_abs() / 2;

/// The priority of the thread: lowest, so that it takes no core from a message.
const NICE: i32 = 19;

/// Returns memory repeatedly for as long as the process lives.
pub fn keep_giving_back() {
    let give = || {
        // elsewhere than on Linux this would affect the whole process
        #[cfg(target_os = "linux")]
        let _ = rustix::process::setpriority_process(None, NICE);
        loop {
            std::thread::sleep(KEPT);
            give_back();
        }
    };
    // without another thread, free memory stays with the process
    let _ = std::thread::Builder::new().name("semgate-memory".to_owned()).spawn(give);
}

/// Returns all free memory at once. Returns true if the allocator refused the request, as it must.
fn give_back() -> bool {
    let mut never: Vec<u8> = Vec::new();
    black_box(&mut never).try_reserve_exact(black_box(IMPOSSIBLE)).is_err()
}

#[cfg(test)]
mod tests;
