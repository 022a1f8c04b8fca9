use super::*;
use crate::{
    Asked, Call, Form, Instance, Message, MessageFault, Reading, Reply, RpcId, TextParts, Vocabulary,
};
use semgate_contexts::{
    Context, Performative, Prefix,
    json::{self, Json},
};
use serde_json::{Value, json};
use std::sync::LazyLock;

mod attacks;
mod claims;
mod errors;
mod events;
mod lists;
mod methods;
mod methods_03;
mod parts;
mod python;
mod random;
mod results;
mod send;

pub(super) const EXTENSION: &str = "urn:contexts:snl:v1.0";

pub(super) const STRICT: Reading<'static> = Reading {
    extension: EXTENSION,
    max_concepts: 8,
    admit: TextParts { text: false, raw: false, url: false, data: false },
    tenant: None,
    meta: crate::MetaKeys::NONE,
    untyped: false,
    formats: &[],
};

pub(super) const OPEN: Reading<'static> =
    Reading { admit: TextParts { text: true, raw: true, url: true, data: true }, ..STRICT };

/// The protocol's own context, as it is shipped.
static CONTEXT: LazyLock<Context> = LazyLock::new(|| {
    let (_, bytes) = semgate_contexts::library::all().iter().find(|(name, _)| *name == "a2a-v1.0").unwrap();
    Context::check(bytes, &Prefix::default(), &Default::default()).unwrap()
});

/// The rule of the protocol's context that an instance breaks.
pub(super) fn broken(instance: &Instance<'_>) -> Option<String> {
    if instance.of == Vocabulary::Context {
        return None;
    }
    assert_eq!(instance.naming, "");
    let term = CONTEXT.term(instance.name).unwrap_or_else(|| panic!("`{}` is no concept", instance.name));
    let Ok(shape) = term.side(instance.performative) else { return Some("x-performatives".to_owned()) };
    shape.conform(instance.object, None).err().map(|fault| format!("{} {}", fault.path, fault.rule))
}

fn fits(message: &Message<'_>) {
    for instance in &message.instances {
        assert_eq!(broken(instance), None, "{} at {}", instance.name, instance.pointer);
    }
}

pub(super) fn strict<T>(value: &Value, test: impl FnOnce(&Json<'_>) -> T) -> T {
    let text = serde_json::to_vec(value).unwrap();
    let limits = json::Limits { max_depth: 64, ..Default::default() };
    test(&json::read(&text, &limits).unwrap())
}

/// Reads a request; what is accepted fits the protocol's context.
pub(super) fn asks<T>(
    value: &Value,
    call: &Call,
    reading: &Reading<'_>,
    test: impl FnOnce(Result<Message<'_>, MessageFault>) -> T,
) -> T {
    strict(value, |json| {
        let read = request(json, call, reading);
        if let Ok(message) = &read {
            fits(message);
        }
        test(read)
    })
}

pub(super) fn call(version: Version) -> Call {
    Call::a2a(version, Form::JsonRpc)
}

pub(super) fn asked(operation: Operation, version: Version) -> Asked {
    Asked { operation, version, form: Form::JsonRpc, rpc_id: Some(RpcId::Integer(1)) }
}

pub(super) fn rpc(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

pub(super) fn answer(result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "result": result})
}

/// Reads what an agent said.
pub(super) fn says<T>(
    value: &Value,
    asked: &Asked,
    reading: &Reading<'_>,
    event_or_not: bool,
    test: impl FnOnce(Result<Reply<'_>, MessageFault>) -> T,
) -> T {
    strict(value, |json| {
        let read = if event_or_not { event(json, asked, reading) } else { reply(json, asked, reading) };
        match &read {
            Ok(Reply::Message(message)) => fits(message),
            Ok(Reply::Tasks(list)) => list.tasks.iter().for_each(fits),
            _ => {}
        }
        test(read)
    })
}

pub(super) fn said(answer: Reply<'_>) -> Message<'_> {
    match answer {
        Reply::Message(message) => *message,
        other => panic!("{other:?}"),
    }
}

/// Name, performative and whose word each instance is.
pub(super) fn told<'m>(message: &'m Message<'_>) -> Vec<(&'m str, Performative, Vocabulary)> {
    message.instances.iter().map(|i| (i.name, i.performative, i.of)).collect()
}

pub(super) fn claim(members: Value) -> Value {
    json!({ EXTENSION: members })
}
