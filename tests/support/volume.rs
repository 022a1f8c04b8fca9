//! A volume of its own, for tests that fill it or take writing away.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system in memory of a few megabytes, gone with the value.
pub struct Volume(PathBuf);

impl Volume {
    /// Needs a machine on which this process may mount; where it may not, the test says so by failing.
    pub fn mount(at: &Path, size: &str) -> Volume {
        std::fs::create_dir_all(at).unwrap();
        let options = format!("size={size},mode=0700");
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &options, "semgate-test"]).arg(at);
        let output = command.output().expect("the command `mount`");
        assert!(
            output.status.success(),
            "nothing can be mounted here, so what a full or read-only volume does is not shown; run as root: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Volume(at.to_owned())
    }

    /// Until not a byte more is taken.
    pub fn fill(&self) {
        let mut file =
            std::fs::File::options().create(true).append(true).open(self.0.join("filling")).unwrap();
        for piece in [64 * 1024, 4096, 1] {
            while file.write_all(&vec![7; piece]).is_ok() {}
        }
    }

    /// Until no more than so many bytes are left.
    pub fn fill_but(&self, left: usize) {
        self.fill();
        let file = std::fs::File::options().write(true).open(self.0.join("filling")).unwrap();
        let length = file.metadata().unwrap().len();
        file.set_len(length - left as u64).unwrap();
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn make_room(&self) {
        std::fs::remove_file(self.0.join("filling")).unwrap();
    }

    pub fn mounted(&self, how: &str) {
        // with its source, `mount` repeats no earlier option: in a user namespace the owner could not be repeated
        let mut command = Command::new("mount");
        command.args(["-o", &format!("remount,{how}"), "semgate-test"]).arg(&self.0);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{how}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}
