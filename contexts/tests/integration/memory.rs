//! The memory of a process that runs one test alone.

use std::process::Command;

/// The most memory that this process ever had, in KiB.
pub fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Tells that this process runs one test alone. Otherwise runs the test in such a process, and fails where it fails.
pub fn alone(test: &str) -> bool {
    const ALONE: &str = "SEMGATE_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args([test, "--exact", "--nocapture"]).env(ALONE, "1").output().unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    false
}
