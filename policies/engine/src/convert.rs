//! A concept instance → what Cedar sees of it.

use cedar_policy::RestrictedExpression;
use semgate_contexts::VectorType;
use semgate_contexts::json::{Json, Number, Object};

use crate::kinds::{Attribute, Attributes, Kind, MODEL, SIMILARITY};
use crate::moments;
use crate::reads;

/// A value that policies see is not of the kind that its schema promises, or has no equal among Cedar's values: the path
/// from the instance, innermost name first, and the type that it has no equal in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Misfit {
    path: Vec<String>,
    rule: &'static str,
}

impl Misfit {
    const fn of(rule: &'static str) -> Self {
        Self { path: Vec::new(), rule }
    }

    fn within(mut self, name: &str) -> Self {
        self.path.push(name.replace('~', "~0").replace('/', "~1"));
        self
    }

    /// JSON Pointer (RFC 6901).
    pub fn pointer(&self) -> String {
        self.path.iter().rev().fold(String::new(), |path, name| path + "/" + name)
    }

    /// As [`crate::Verdict::Untypable`] says.
    pub const fn rule(&self) -> &'static str {
        self.rule
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

/// Checks every value that policies could see, whether or not one reads it: what an instance may hold does not depend
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
        if let Some(value) = present(attribute, object.get(name)) {
            check_value(kind, value).map_err(|misfit| misfit.within(name))?;
        }
    }
    Ok(())
}

fn check_value(kind: &Kind, value: &Json<'_>) -> Result<(), Misfit> {
    match (kind, value) {
        (Kind::Long, Json::Number(number)) => number.as_i64_exact().map(drop).ok_or(Misfit::of("integer")),
        (Kind::Decimal, Json::Number(number)) => {
            number.to_decimal4().map(drop).map_err(|_| Misfit::of("decimal"))
        }
        (Kind::Datetime, Json::String(text)) => datetime(text).map(drop),
        (Kind::Duration, Json::String(text)) => duration(text).map(drop),
        (Kind::IpAddress, Json::String(text)) => ip(text).map(drop),
        (Kind::Set(of), Json::Array(items)) => items.iter().enumerate().try_for_each(|(position, item)| {
            check_value(of, item).map_err(|misfit| misfit.within(&position.to_string()))
        }),
        (Kind::Record(members), Json::Object(object)) => check(members, object, None),
        // the schema has judged the whole vector
        (Kind::Vector(_), _) | (Kind::String, Json::String(_)) | (Kind::Bool, Json::Bool(_)) => Ok(()),
        _ => Err(Misfit::of("type")),
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
    let Some((kind, value)) = seen(attributes, name, object, without) else { return Ok(None) };
    value_of(kind, value, decimals).map(Some).map_err(|misfit| misfit.within(name))
}

/// Converts a named member of the instance to the form that policies see.
pub(crate) fn seen<'s, 'v, 'j>(
    attributes: &'s Attributes,
    name: &str,
    object: &'v Object<'j>,
    without: Option<&str>,
) -> Option<(&'s Kind, &'v Json<'j>)> {
    let attribute = attributes.members.get(name)?;
    attribute.kind.as_ref().filter(|_| without != Some(name)).zip(present(attribute, object.get(name)))
}

/// A null that the schema allows is as absent.
fn present<'v, 'j>(attribute: &Attribute, value: Option<&'v Json<'j>>) -> Option<&'v Json<'j>> {
    value.filter(|value| !(attribute.nullable && matches!(value, Json::Null)))
}

fn datetime(text: &str) -> Result<String, Misfit> {
    moments::datetime(text).ok_or(Misfit::of("date-time"))
}

fn duration(text: &str) -> Result<i64, Misfit> {
    moments::duration(text).ok_or(Misfit::of("duration"))
}

fn ip(text: &str) -> Result<String, Misfit> {
    moments::ip(text).ok_or(Misfit::of("ip-address"))
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
            number.as_i64_exact().map(RestrictedExpression::new_long).ok_or(Misfit::of("integer"))
        }
        (Kind::Decimal, Json::Number(number)) => decimal(number, decimals),
        (Kind::Datetime, Json::String(text)) => datetime(text).map(RestrictedExpression::new_datetime),
        (Kind::Duration, Json::String(text)) => {
            duration(text).map(|ms| RestrictedExpression::new_duration(format!("{ms}ms")))
        }
        (Kind::IpAddress, Json::String(text)) => ip(text).map(RestrictedExpression::new_ip),
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
            RestrictedExpression::new_record(fields).map_err(|_| Misfit::of("type"))
        }
        (Kind::Vector(vector), value) => about(&vector.of, value),
        _ => Err(Misfit::of("type")),
    }
}

/// The record about a vector: its model, and its similarity to each reference vector of that model.
fn about(of: &VectorType, value: &Json<'_>) -> Result<RestrictedExpression, Misfit> {
    let misfit = || Misfit::of("type");
    let model = of.model(value).ok_or_else(misfit)?;
    let model = RestrictedExpression::new_string(model.as_str().to_owned());
    let mut record = vec![(MODEL.to_owned(), model)];
    if of.reference_names().next().is_some() {
        let each = of.similarities(value).into_iter();
        let each = each.map(|(name, mille)| (name.to_owned(), RestrictedExpression::new_long(mille)));
        let similarity = RestrictedExpression::new_record(each).map_err(|_| misfit())?;
        record.push((SIMILARITY.to_owned(), similarity));
    }
    RestrictedExpression::new_record(record).map_err(|_| misfit())
}

/// Exact either way: the number's text → ten-thousandths → what Cedar takes.
fn decimal(number: &Number<'_>, decimals: Decimals) -> Result<RestrictedExpression, Misfit> {
    let scaled = number.to_decimal4().map_err(|_| Misfit::of("decimal"))?;
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
mod tests;
