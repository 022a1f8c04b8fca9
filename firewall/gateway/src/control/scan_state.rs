//! The operator's view of the model and the baselines of text scores, and the histograms of scores.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use semgate_contexts::Digest;
use semgate_inspect::{INJECTION_BUCKETS, InjectionHistogram, ScanCounts, TextScanner};

/// State of the scores, shared by the loading thread and the reports.
#[derive(Debug, Default)]
pub(crate) struct ScanState {
    report: Mutex<ScanReport>,
    /// Counts of scored texts.
    pub(crate) counts: Arc<ScanCounts>,
}

/// Contents of [`ScanState::report`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScanReport {
    /// Digest of the running model; `None` before the first is set.
    pub(crate) model: Option<Digest>,
    /// Version of a signed model; `None` for the model in the program.
    pub(crate) version: Option<u64>,
    /// Fields with a baseline.
    pub(crate) baselines: usize,
    /// Reasons why files on disk do not run.
    pub(crate) faults: Vec<String>,
}

impl ScanState {
    pub(crate) fn report(&self) -> ScanReport {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records what runs.
    pub(crate) fn runs(&self, scanner: &TextScanner, version: Option<u64>) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        (report.model, report.version) = (Some(scanner.model()), version);
        report.baselines = scanner.baselines();
    }

    /// Records the faults of the files on disk, and returns true if they are others than before.
    pub(crate) fn faults(&self, faults: &[String]) -> bool {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        let other = report.faults != faults;
        report.faults = faults.to_vec();
        other
    }

    /// Metrics in the text format of Prometheus. Written directly, since the recorder would keep the label of a former digest for ever.
    pub(crate) fn metrics(&self) -> String {
        let report = self.report();
        let mut text = String::new();
        if let Some(model) = report.model {
            let _ = write!(
                text,
                "# HELP semgate_scan_model_info The model of text scores in use, by digest.\n\
                 # TYPE semgate_scan_model_info gauge\n\
                 semgate_scan_model_info{{digest=\"{model}\"}} 1\n\
                 # HELP semgate_scan_current 1 if the model and baselines on disk run, 0 if one was rejected.\n\
                 # TYPE semgate_scan_current gauge\n\
                 semgate_scan_current {}\n\
                 # HELP semgate_scan_baselines Fields with a baseline.\n\
                 # TYPE semgate_scan_baselines gauge\n\
                 semgate_scan_baselines {}\n",
                u8::from(report.faults.is_empty()),
                report.baselines,
            );
        }
        let all = self.counts.all();
        if !all.is_empty() {
            text.push_str("# HELP semgate_injection Score `injection` of scored texts, by concept.\n");
            text.push_str("# TYPE semgate_injection histogram\n");
        }
        all.iter().for_each(|(concept, histogram)| add(&mut text, concept, histogram));
        text
    }
}

/// Adds the histogram of one concept. Names of concepts hold no quote: they are checked identifiers.
fn add(text: &mut String, concept: &str, histogram: &InjectionHistogram) {
    let mut count = 0_u64;
    for (bound, own) in INJECTION_BUCKETS.iter().zip(histogram.counts) {
        count = count.saturating_add(own);
        let _ = writeln!(text, "semgate_injection_bucket{{concept=\"{concept}\",le=\"{bound}\"}} {count}");
    }
    let _ = write!(
        text,
        "semgate_injection_bucket{{concept=\"{concept}\",le=\"+Inf\"}} {count}\n\
         semgate_injection_sum{{concept=\"{concept}\"}} {}\n\
         semgate_injection_count{{concept=\"{concept}\"}} {count}\n",
        histogram.sum
    );
}
