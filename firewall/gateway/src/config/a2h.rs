//! Options of routes on which agents ask people.

use schemars::JsonSchema;
use semgate_approvals::HumanId;
use serde::{Deserialize, Deserializer, Serialize};

use super::read::checked;

/// Options of A2H.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct A2hOptions {
    /// Person who is asked where a request names nobody, as those of HumanLayer and gotoHuman.
    #[serde(deserialize_with = "human")]
    #[schemars(with = "Option<String>")]
    pub default_human: Option<HumanId>,
}

fn human<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<HumanId>, D::Error> {
    let must = "the id of a person, such as `human://bob.sre`";
    let id: String = checked(deserializer, must, |id: &String| HumanId::parse(id).is_some())?;
    Ok(HumanId::parse(&id))
}
