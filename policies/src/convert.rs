//! A concept instance → what Cedar sees of it.

use cedar_policy::RestrictedExpression;
use semgate_contexts::json::{Json, Number, Object};

use crate::kinds::{Attributes, Kind};
use crate::reads;

/// A value that policies see is not of the kind that its schema promises, or lies outside Cedar's bounds: the path
/// from the instance, innermost name first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Misfit(Vec<String>);

impl Misfit {
    fn here() -> Self {
        Self(Vec::new())
    }

    fn within(mut self, name: &str) -> Self {
        self.0.push(name.replace('~', "~0").replace('/', "~1"));
        self
    }

    /// JSON Pointer (RFC 6901).
    pub fn pointer(&self) -> String {
        self.0.iter().rev().fold(String::new(), |path, name| path + "/" + name)
    }
}

/// How a decimal is handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decimals {
    /// As Cedar's `decimal`.
    Cedar,
    /// As a `Long`, for policies that are rewritten to compare it so.
    TenThousandths,
}

/// Checks every number that policies could see, whether or not one reads it: what an instance may hold does not depend
/// on which policies are live.
pub(crate) fn check(
    attributes: &Attributes,
    object: &Object<'_>,
    without: Option<&str>,
) -> Result<(), Misfit> {
    for (name, attribute) in &attributes.members {
        let Some(kind) = &attribute.kind else { continue };
        if matches!(kind, Kind::String | Kind::Bool) || without == Some(name) {
            continue;
        }
        if let Some(value) = object.get(name) {
            check_value(kind, value).map_err(|misfit| misfit.within(name))?;
        }
    }
    Ok(())
}

fn check_value(kind: &Kind, value: &Json<'_>) -> Result<(), Misfit> {
    match (kind, value) {
        (Kind::Long, Json::Number(number)) => number.as_i64_exact().map(drop).ok_or_else(Misfit::here),
        (Kind::Decimal, Json::Number(number)) => number.to_decimal4().map(drop).map_err(|_| Misfit::here()),
        (Kind::Set(of), Json::Array(items)) => items.iter().enumerate().try_for_each(|(position, item)| {
            check_value(of, item).map_err(|misfit| misfit.within(&position.to_string()))
        }),
        (Kind::Record(members), Json::Object(object)) => check(members, object, None),
        (Kind::String, Json::String(_)) | (Kind::Bool, Json::Bool(_)) => Ok(()),
        _ => Err(Misfit::here()),
    }
}

/// One attribute as a Cedar expression, if the instance has it and policies see it.
pub(crate) fn attribute(
    attributes: &Attributes,
    name: &str,
    object: &Object<'_>,
    without: Option<&str>,
    decimals: Decimals,
) -> Result<Option<RestrictedExpression>, Misfit> {
    let kind = attributes.members.get(name).and_then(|attribute| attribute.kind.as_ref());
    match (kind, object.get(name)) {
        (Some(kind), Some(value)) if without != Some(name) => {
            value_of(kind, value, decimals).map(Some).map_err(|misfit| misfit.within(name))
        }
        _ => Ok(None),
    }
}

/// The attributes that are read, as Cedar expressions.
pub(crate) fn attributes(
    attributes: &Attributes,
    wanted: &reads::Attributes,
    object: &Object<'_>,
    without: Option<&str>,
    decimals: Decimals,
) -> Result<Vec<(String, RestrictedExpression)>, Misfit> {
    let mut out = Vec::with_capacity(if wanted.all { attributes.members.len() } else { wanted.names.len() });
    for name in attributes.members.keys().filter(|name| wanted.wants(name)) {
        let value = attribute(attributes, name, object, without, decimals)?;
        out.extend(value.map(|value| (name.clone(), value)));
    }
    Ok(out)
}

fn value_of(kind: &Kind, value: &Json<'_>, decimals: Decimals) -> Result<RestrictedExpression, Misfit> {
    match (kind, value) {
        (Kind::String, Json::String(text)) => Ok(RestrictedExpression::new_string(text.to_string())),
        (Kind::Bool, Json::Bool(value)) => Ok(RestrictedExpression::new_bool(*value)),
        (Kind::Long, Json::Number(number)) => {
            number.as_i64_exact().map(RestrictedExpression::new_long).ok_or_else(Misfit::here)
        }
        (Kind::Decimal, Json::Number(number)) => decimal(number, decimals),
        (Kind::Set(of), Json::Array(items)) => items
            .iter()
            .enumerate()
            .map(|(position, item)| {
                value_of(of, item, decimals).map_err(|misfit| misfit.within(&position.to_string()))
            })
            .collect::<Result<Vec<_>, _>>()
            .map(RestrictedExpression::new_set),
        (Kind::Record(members), Json::Object(object)) => {
            let all = reads::Attributes { all: true, ..Default::default() };
            let fields = attributes(members, &all, object, None, decimals)?;
            RestrictedExpression::new_record(fields).map_err(|_| Misfit::here())
        }
        _ => Err(Misfit::here()),
    }
}

/// Exact either way: the number's text → ten-thousandths → what Cedar takes.
fn decimal(number: &Number<'_>, decimals: Decimals) -> Result<RestrictedExpression, Misfit> {
    let scaled = number.to_decimal4().map_err(|_| Misfit::here())?;
    Ok(match decimals {
        Decimals::TenThousandths => RestrictedExpression::new_long(scaled),
        Decimals::Cedar => {
            let sign = if scaled < 0 { "-" } else { "" };
            let size = scaled.unsigned_abs();
            RestrictedExpression::new_decimal(format!("{sign}{}.{:04}", size / 10_000, size % 10_000))
        }
    })
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
