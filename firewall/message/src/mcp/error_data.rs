//! What an error of a server says besides its number, in the forms that the protocol has and a reader can close.

use super::Version;
use semgate_contexts::json::Json;

/// The capabilities of a client that a server can ask for (2026-07-28 "Capabilities").
const CAPABILITIES: [&str; 3] = ["elicitation", "roots", "sampling"];

/// What passes of the `data` of an error: words of the protocol alone, never the server's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorData {
    /// −32022: the versions that the server speaks, of those that are carried, oldest first; at least one.
    Supported(Vec<Version>),
    /// −32021: the capabilities that the client would need, in alphabetical order; at least one.
    Required(Vec<&'static str>),
}

impl ErrorData {
    /// Reads the `data` of the error `number`. What the protocol does not have there is nothing.
    pub(super) fn of(number: i32, error: &Json<'_>) -> Option<Self> {
        let data = error.as_object()?.get("data")?.as_object()?;
        match number {
            -32022 => {
                let named = data.get("supported")?.as_array()?;
                let spoken = |version: &Version| named.iter().any(|v| v.as_str() == Some(version.as_str()));
                let versions: Vec<_> = Version::ALL.into_iter().filter(spoken).collect();
                (!versions.is_empty()).then_some(Self::Supported(versions))
            }
            -32021 => {
                let named = data.get("requiredCapabilities")?.as_object()?;
                let needed: Vec<_> = CAPABILITIES.into_iter().filter(|c| named.get(c).is_some()).collect();
                (!needed.is_empty()).then_some(Self::Required(needed))
            }
            _ => None,
        }
    }
}
