//! Functions and methods by the names that they have elsewhere.

use super::Slip;
use super::spot::{Spot, is_name, is_text};
use crate::check::closest;

/// What makes a value of a text.
const FUNCTIONS: [&str; 4] = ["decimal", "datetime", "duration", "ip"];
/// What Cedar has for values of these kinds.
const METHODS: [&str; 22] = [
    "contains",
    "containsAll",
    "containsAny",
    "isEmpty",
    "lessThan",
    "lessThanOrEqual",
    "greaterThan",
    "greaterThanOrEqual",
    "isIpv4",
    "isIpv6",
    "isLoopback",
    "isMulticast",
    "isInRange",
    "toDate",
    "toTime",
    "toMilliseconds",
    "toSeconds",
    "toMinutes",
    "toHours",
    "toDays",
    "offset",
    "durationSince",
];

pub(super) const PATTERN: &str =
    "a text is held against a pattern, as in `resource.memo like \"a*c\"`; there are no regular expressions";
pub(super) const PRESENT: &str = "whether a member is there is asked as in `resource has memo`";

/// What times lack.
pub(crate) const NO_WEEKDAY: &str = "there is no day of the week: a day is asked as in `context.now.toDate() == datetime(\"2030-01-01\")`, and the time of day as in `context.now.toTime() < duration(\"20h\")`, in UTC";
/// How longer spans are asked.
pub(crate) const SPAN: &str =
    "a month or a year is asked by where it begins and ends, as in `context.now >= datetime(\"2030-01-01\")`";

/// Whether a name is that of a day of the week elsewhere.
pub(crate) fn is_weekday(name: &str) -> bool {
    matches!(
        plain(name).as_str(),
        "weekday"
            | "dayofweek"
            | "dow"
            | "getday"
            | "isweekday"
            | "isweekend"
            | "weekend"
            | "isoweekday"
            | "dayname"
    )
}

pub(super) fn rules(spot: &Spot<'_>) -> Vec<Slip> {
    [method(spot), function(spot), bare_method(spot), bare_argument(spot), arguments(spot)]
        .into_iter()
        .flatten()
        .collect()
}

fn method(spot: &Spot<'_>) -> Option<Slip> {
    let reserved =
        spot.why.starts_with("this identifier is reserved") && spot.on(0) == "has" && spot.before(1) == ".";
    if reserved {
        let hint = match spot.before(2) {
            text if is_text(text) && spot.before(3) == "::" => {
                "a group is asked as in `principal in Group::\"partners\"`"
            }
            "principal" | "receiver" => {
                "a credential is asked as in `principal.credentials.contains(\"auditor\")`, and a group as in `principal in Group::\"partners\"`"
            }
            _ => PRESENT,
        };
        return Some(Slip::sure(spot.at, hint));
    }
    // a member without its variable
    let bare =
        spot.why.starts_with("attempted to call `").then_some(spot.on(0)).filter(|name| {
            is_name(name) && spot.why.ends_with(&format!("`{name}` does not have any methods"))
        });
    if let Some(name) = bare {
        let hint = format!("a member stands behind its variable, as in `resource.{name}`");
        return Some(Slip::sure(spot.at, hint));
    }
    let name = spot.why.ends_with("is not a valid method").then(|| spot.quoted())?;
    let called = |at: usize| spot.word(Some(at)) == "." && spot.word(Some(at + 1)) == name;
    let at = (spot.here..spot.words.len()).find(|at| called(*at))? + 1;
    let range = spot.range(at, at);
    let by = |meant: &str, hint: String| {
        Some(Slip::tried(range.start, vec![(range.clone(), meant.to_owned())], hint))
    };
    if let Some(near) = closest(name, METHODS.into_iter()) {
        return by(near, format!("did you mean `{near}`?"));
    }
    if let Some((meant, sign)) = comparison(name) {
        return by(
            meant,
            format!("of decimals `{meant}` is meant; whole numbers and times are compared by `{sign}`"),
        );
    }
    asked_elsewhere(name).map(|hint| Slip::sure(range.start, hint))
}

/// A name without what it may be parted by, in lower case.
fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "")
}

/// What compares decimals, and the sign for what has an order of its own.
fn comparison(name: &str) -> Option<(&'static str, &'static str)> {
    let name = plain(name);
    Some(match name.strip_prefix("is").unwrap_or(&name) {
        "gt" | "greater" | "more" | "morethan" | "above" | "over" | "exceeds" | "biggerthan" => {
            ("greaterThan", ">")
        }
        "ge" | "gte" | "gteq" | "atleast" | "greaterorequal" => ("greaterThanOrEqual", ">="),
        "lt" | "less" | "below" | "under" | "smallerthan" => ("lessThan", "<"),
        "le" | "lte" | "lteq" | "atmost" | "lessorequal" => ("lessThanOrEqual", "<="),
        _ => return None,
    })
}

/// How is asked here what a method or a function of this name asks elsewhere.
fn asked_elsewhere(name: &str) -> Option<&'static str> {
    Some(match plain(name).as_str() {
        "startswith" | "hasprefix" | "beginswith" => {
            "how a text begins is asked as in `resource.memo like \"abc*\"`"
        }
        "endswith" | "hassuffix" => "how a text ends is asked as in `resource.memo like \"*abc\"`",
        "matches" | "match" | "test" | "rematch" | "regex" | "regexmatch" | "regexpmatch" => PATTERN,
        "substring" | "substr" | "slice" | "split" | "trim" | "replace" | "indexof" | "charat" => {
            "a text is asked about as a whole, with `==` or as in `resource.memo like \"a*c\"`"
        }
        "tolower" | "tolowercase" | "lower" | "lowercase" | "toupper" | "touppercase" | "upper"
        | "uppercase" | "equalsignorecase" | "ignorecase" => {
            "a text is compared as it is written, in capitals and small letters"
        }
        "includes" | "include" => "did you mean `contains`?",
        "any" | "some" | "anyof" | "all" | "every" | "allof" | "oneof" | "intersects" => {
            "what is in a set is asked with `contains`, `containsAny`, `containsAll` and `isEmpty`"
        }
        "size" | "length" | "len" | "count" | "cardinality" => {
            "nothing is counted here: a set is asked with `contains`, `containsAny`, `containsAll` and `isEmpty`, a text with `like`"
        }
        "equals" | "eq" | "equal" | "isequal" => "did you mean `==`?",
        "notequals" | "ne" | "neq" => "did you mean `!=`?",
        "isafter" | "after" | "islater" | "laterthan" => {
            "times are compared as in `context.now > datetime(\"2030-01-01T00:00:00Z\")`"
        }
        "isbefore" | "before" | "isearlier" | "earlierthan" => {
            "times are compared as in `context.now < datetime(\"2030-01-01T00:00:00Z\")`"
        }
        "between" | "isbetween" | "within" => "what lies between is asked as in `a >= 1 && a <= 2`",
        "plus" | "add" | "addhours" | "adddays" | "minus" | "subtract" => {
            "a time is moved as in `context.now.offset(duration(\"1h\"))`, and whole numbers are added by `+`"
        }
        "hour" | "hours" | "gethour" | "gethours" | "minute" | "timeofday" => {
            "a time of day is asked as in `context.now.toTime() < duration(\"20h\")`, in UTC"
        }
        _ if is_weekday(name) => NO_WEEKDAY,
        "day" | "date" | "today" | "dayofmonth" | "getdate" => {
            "a day is asked as in `context.now.toDate() == datetime(\"2030-01-01\")`, in UTC"
        }
        "month" | "year" | "getmonth" | "getyear" | "getfullyear" | "week" | "quarter" => SPAN,
        "in" | "isin" | "memberof" | "ismember" | "ismemberof" | "ingroup" | "isingroup" | "hasrole"
        | "hasgroup" => "a group is asked as in `principal in Group::\"partners\"`",
        "hasmember" | "hasattribute" | "hasattr" | "hasfield" | "hasproperty" | "haskey" | "exists"
        | "present" | "ispresent" | "isset" | "defined" | "isdefined" | "isnull" | "hasvalue" => PRESENT,
        "hascredential" => "a credential is asked as in `principal.credentials.contains(\"auditor\")`",
        _ => return None,
    })
}

fn function(spot: &Spot<'_>) -> Option<Slip> {
    let name = spot.why.ends_with("is not a valid function").then(|| spot.quoted())?;
    if spot.on(0) != name || spot.on(1) != "(" {
        return None;
    }
    let range = spot.range(spot.here, spot.here);
    let by = |range: std::ops::Range<usize>, meant: &str| {
        let hint = format!("did you mean `{meant}`?");
        Some(Slip::tried(range.start, vec![(range, meant.to_owned())], hint))
    };
    if let Some(near) = closest(name, FUNCTIONS.into_iter()) {
        return by(range, near);
    }
    let argument = is_text(spot.on(2));
    let meant = match plain(name).as_str() {
        "date" | "timestamp" | "instant" | "todate" | "todatetime" | "totimestamp" if argument => "datetime",
        "float" | "number" | "double" | "money" | "tonumber" | "numeric" | "real" => "decimal",
        "interval" | "timedelta" | "period" | "toduration" => "duration",
        "ipaddr" | "ipaddress" | "inet" | "cidr" | "ipnet" => "ip",
        "now" | "today" | "clock" | "currenttime" | "utcnow" if spot.on(2) == ")" => {
            return by(spot.range(spot.here, spot.here + 2), "context.now");
        }
        "time" | "timeofday" => {
            const TIME: &str = "a time of day is a length of time since midnight, as in `context.now.toTime() < duration(\"20h\")`, in UTC";
            return Some(Slip::sure(spot.at, TIME));
        }
        "int" | "integer" | "long" | "toint" => {
            return Some(Slip::sure(
                spot.at,
                "a whole number is written as it is, as in `resource.quantity > 100`",
            ));
        }
        "string" | "str" | "tostring" | "text" => {
            return Some(Slip::sure(spot.at, "a text is written in quotation marks, as in `\"EUR\"`"));
        }
        _ => {
            let there = "there are `decimal`, `datetime`, `duration` and `ip`";
            // `Agent("x")` is told by another rule
            let other = !super::spot::is_kind(name) && !name.eq_ignore_ascii_case("not");
            return other.then(|| Slip::sure(spot.at, asked_elsewhere(name).unwrap_or(there)));
        }
    };
    by(range, meant)
}

/// `contains(principal.credentials, "x")`.
fn bare_method(spot: &Spot<'_>) -> Option<Slip> {
    let name = spot.why.ends_with("is a method, not a function").then(|| spot.quoted())?;
    Some(Slip::sure(spot.at, called_as(name)?))
}

/// `["EUR"].contains resource.currency`.
fn bare_argument(spot: &Spot<'_>) -> Option<Slip> {
    if !lacks_parentheses(spot) {
        return None;
    }
    let last = spot.operand_end(spot.here)?;
    let (here, end) = (spot.range(spot.here, spot.here), spot.range(last, last).end);
    let start = spot.range(spot.here - 1, spot.here - 1);
    let edits = vec![(start.end..here.start, "(".to_owned()), (end..end, ")".to_owned())];
    let hint = format!("did you mean `{}({})`?", spot.before(1), spot.slice(spot.here, last));
    Some(Slip::tried(here.start, edits, hint))
}

/// Whether what a method takes stands behind it without parentheses.
pub(super) fn lacks_parentheses(spot: &Spot<'_>) -> bool {
    spot.why.starts_with("unexpected token")
        && METHODS.contains(&spot.before(1))
        && spot.before(2) == "."
        && (is_text(spot.on(0)) || is_name(spot.on(0)) || spot.on(0) == "[")
        && !matches!(spot.on(0), "in" | "is" | "has" | "like" | "and" | "or" | "then" | "else")
}

/// How a method is called.
pub(super) fn called_as(name: &str) -> Option<&'static str> {
    Some(match name {
        "contains" | "containsAll" | "containsAny" | "isEmpty" => {
            "it stands behind what is asked, as in `principal.credentials.contains(\"auditor\")`"
        }
        "lessThan" | "lessThanOrEqual" | "greaterThan" | "greaterThanOrEqual" => {
            "it stands behind what is asked, as in `resource.amount.greaterThan(decimal(\"10000.0\"))`"
        }
        _ if METHODS.contains(&name) => "it stands behind what is asked, as in `context.now.toTime()`",
        _ => return None,
    })
}

/// `resource.amount.lessThan()`: Cedar says which, and not where.
pub(super) fn arguments(spot: &Spot<'_>) -> Option<Slip> {
    let rest = spot.why.strip_prefix("function `")?;
    let (name, rest) = rest.split_once("` expects ")?;
    let wanted: usize = rest.split(' ').next()?.parse().ok()?;
    let is_method = METHODS.contains(&name);
    let wanted = wanted.checked_sub(usize::from(is_method))?;
    let wrong = |at: &usize| {
        spot.word(Some(*at)) == name
            && spot.word(Some(at + 1)) == "("
            && arguments_of(spot, at + 1).is_some_and(|given| given != wanted)
    };
    let at = (0..spot.words.len()).find(wrong)?;
    let hint = match wanted {
        0 => format!("nothing stands in the parentheses of `{name}`"),
        1 => format!("one thing stands in the parentheses of `{name}`"),
        more => format!("{more} things stand in the parentheses of `{name}`"),
    };
    Some(Slip::sure(spot.range(at, at).start, hint))
}

/// How many stand between parentheses.
fn arguments_of(spot: &Spot<'_>, open: usize) -> Option<usize> {
    let close = spot.closed(open)?;
    let mut depth = 0_usize;
    let mut commas = 0;
    for at in open..close {
        match spot.word(Some(at)) {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            "," if depth == 1 => commas += 1,
            _ => {}
        }
    }
    Some(if close == open + 1 { 0 } else { commas + 1 })
}
