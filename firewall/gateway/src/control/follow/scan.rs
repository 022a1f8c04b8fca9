//! The signed model and the signed baselines of text scores. Files are read when they change, and on SIGHUP. A refused file leaves what
//! it held running, and `/status` says why.

mod files;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

pub(crate) use files::ScanFiles;

use super::Publisher;
use crate::control::scan_state::ScanState;

/// The loop over the files.
pub(super) struct Task {
    pub(super) files: ScanFiles,
    pub(super) state: Arc<ScanState>,
    pub(super) publisher: Rc<Publisher>,
    pub(super) poll: Duration,
    pub(super) reload: watch::Receiver<()>,
}

impl Task {
    /// Looks at the files for ever. The end of the process ends it.
    pub(super) async fn run(mut self) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(self.poll) => {}
                rung = self.reload.changed() => if rung.is_err() { return },
            }
            let mut files = self.files;
            let looked = tokio::task::spawn_blocking(move || {
                let looked = files.look();
                (files, looked)
            });
            let Ok((files, looked)) = looked.await else { return };
            self.files = files;
            if self.state.faults(&looked.faults) {
                for fault in &looked.faults {
                    tracing::error!(fault, "a file of text scores is rejected; what it held before stays");
                }
            }
            if looked.changed {
                let scanner = self.files.scanner();
                tracing::info!(model = %scanner.model(), baselines = scanner.baselines(), "text scores are live");
                self.state.runs(&scanner, self.files.version());
                self.publisher.scanner_changed(scanner);
            }
        }
    }
}
