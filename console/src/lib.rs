//! The console: pages on which people see a running system, and act.
