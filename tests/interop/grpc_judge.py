"""Google's own protobuf for Python, with the messages of the official A2A SDK, as the judge of what bytes say.

`make SEED N`: prints N random messages, one a line: method, `ask` or `answer`, bytes in hex, their JSON.
`read`: the same for each line "method, `ask` or `answer`, bytes in hex" of standard input; the JSON is `null` where they cannot be read.
"""

import json
import random
import sys

from a2a.types import a2a_pb2
from google.protobuf import empty_pb2
from google.protobuf.descriptor import FieldDescriptor as F
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError

SERVICE = a2a_pb2.DESCRIPTOR.services_by_name['A2AService']
TEXTS = ['', 'm-1', 'é😀', 'a"b\\c', '\0\x1f\n\x7f\u2028', 'urn:contexts:snl:v1.0', '12', 'x y', '𝄞' * 20]
DOUBLES = [0.0, -0.0, 1.0, 120.0, 0.1, 1 / 3, 12000.0001, 1e-7, -2.5e9, 2.0**53 - 1, 5e-324, 1e15 + 0.3]
INTS = [0, 1, -1, 2**31 - 1, -(2**31)]


def single(draw, field):
    kind = field.type
    if kind == F.TYPE_STRING:
        return draw.choice(TEXTS)
    if kind == F.TYPE_BYTES:
        return draw.randbytes(draw.randrange(5))
    if kind == F.TYPE_BOOL:
        return draw.random() < 0.5
    if kind == F.TYPE_INT32:
        return draw.choice(INTS)
    if kind == F.TYPE_ENUM:
        return draw.choice(field.enum_type.values).number
    if kind == F.TYPE_DOUBLE:
        return draw.choice(DOUBLES + [draw.uniform(-1e9, 1e9)])
    raise AssertionError(kind)


def fill(draw, message, depth):
    of = message.DESCRIPTOR
    if of.full_name == 'google.protobuf.Timestamp':
        message.seconds = draw.choice([0, -1, 1796000000, -62135596800, 253402300799, draw.randrange(2**37)])
        message.nanos = draw.choice([0, 5000000, 7000, 999999999])
        return
    for field in of.fields:
        oneof = field.containing_oneof
        real = oneof is not None and len(oneof.fields) > 1
        if real or draw.random() < 0.4:
            continue
        put(draw, message, field, depth)
    for oneof in of.oneofs:
        if len(oneof.fields) > 1:
            ends = oneof.fields if depth > 0 else oneof.fields[:3]
            put(draw, message, draw.choice(ends), depth)


def put(draw, message, field, depth):
    inner = field.message_type
    if inner is None:
        if field.is_repeated:
            getattr(message, field.name).extend(single(draw, field) for _ in range(draw.randrange(3)))
        else:
            setattr(message, field.name, single(draw, field))
        return
    if depth <= 0:
        if field.containing_oneof is not None:
            getattr(message, field.name).SetInParent()
        return
    target = getattr(message, field.name)
    if inner.GetOptions().map_entry:
        value = inner.fields_by_name['value']
        for _ in range(draw.randrange(3)):
            if value.message_type is None:
                target[draw.choice(TEXTS)] = single(draw, value)
            else:
                fill(draw, target[draw.choice(TEXTS)], depth - 1)
    elif field.is_repeated:
        for _ in range(draw.randrange(3)):
            fill(draw, target.add(), depth - 1)
    else:
        target.SetInParent()
        fill(draw, target, depth - 1)


def type_of(method, side):
    of = SERVICE.methods_by_name[method]
    name = (of.input_type if side == 'ask' else of.output_type).name
    return getattr(a2a_pb2, name, None) or empty_pb2.Empty


def say(method, side, data, message):
    shown = None if message is None else MessageToDict(message)
    print(method, side, data.hex() or '-', json.dumps(shown), sep='\t')


def make(seed, count):
    draw = random.Random(seed)
    for _ in range(count):
        method, side = draw.choice(SERVICE.methods).name, draw.choice(['ask', 'answer'])
        message = type_of(method, side)()
        fill(draw, message, draw.randrange(1, 7))
        say(method, side, message.SerializeToString(), message)


def read():
    for line in sys.stdin:
        method, side, data = line.split()
        data = b'' if data == '-' else bytes.fromhex(data)
        try:
            message = type_of(method, side).FromString(data)
        except DecodeError:
            message = None
        say(method, side, data, message)


if sys.argv[1] == 'make':
    make(int(sys.argv[2]), int(sys.argv[3]))
else:
    read()
