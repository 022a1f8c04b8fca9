//! Approvals: must a person decide, who, and what did they decide?
