"""Payloads for imported contexts, made by others: Google's protobuf, hypothesis-jsonschema. One JSON value on standard output."""

import json
import random
import sys

COUNT = 60


def protobuf(files):
    """Messages of the descriptors in these files, filled at random, as Google writes them in JSON; and texts that Google's parser refuses."""
    from google.protobuf import descriptor_pool, json_format, message_factory
    import importlib

    for file in files:
        importlib.import_module(file.removesuffix('.proto').replace('/', '.') + '_pb2')
    pool, made = descriptor_pool.Default(), {}
    for file in files:
        for descriptor in pool.FindFileByName(file).message_types_by_name.values():
            kind = message_factory.GetMessageClass(descriptor)
            dice = random.Random(descriptor.full_name)
            valid = [{}]
            for _ in range(COUNT):
                message = kind()
                fill(message, dice, 3)
                valid.append(json_format.MessageToDict(message))
            refused = []
            for value in valid:
                for _ in range(4):
                    bent = mutated(value, dice)
                    try:
                        json_format.ParseDict(json.loads(json.dumps(bent)), kind())
                    except Exception:  # noqa: BLE001  whatever Google's parser raises, it refuses
                        refused.append(bent)
            made[descriptor.full_name] = {'valid': valid, 'refused': refused}
    return made


def text(dice):
    return ''.join(dice.choice('abcXYZ 019_-./:@äß京🙂') for _ in range(dice.randrange(0, 12)))


def scalar(field, dice):
    kind = field.cpp_type
    if kind == field.CPPTYPE_INT32:
        return dice.choice([0, 1, -1, 2**31 - 1, -2**31, dice.randrange(-2**31, 2**31)])
    if kind == field.CPPTYPE_INT64:
        return dice.choice([0, 1, -1, 2**63 - 1, -2**63, dice.randrange(-2**63, 2**63)])
    if kind == field.CPPTYPE_UINT32:
        return dice.choice([0, 2**32 - 1, dice.randrange(2**32)])
    if kind == field.CPPTYPE_UINT64:
        return dice.choice([0, 2**64 - 1, dice.randrange(2**64)])
    if kind in (field.CPPTYPE_DOUBLE, field.CPPTYPE_FLOAT):
        return dice.choice([0.0, 1.5, -0.25, 1e-9, 123456.75])
    if kind == field.CPPTYPE_BOOL:
        return dice.random() < 0.5
    if kind == field.CPPTYPE_ENUM:
        return dice.choice(field.enum_type.values).number
    if field.type == field.TYPE_BYTES:
        return dice.randbytes(dice.randrange(0, 9))
    return text(dice)


def fill(message, dice, depth):
    """Sets fields at random; an `Any` stays empty, for an import names it and leaves it out."""
    known = message.DESCRIPTOR.full_name
    if known == 'google.protobuf.Timestamp':
        message.seconds, message.nanos = dice.randrange(-62135596800, 253402300800), dice.choice([0, 5_000_000, 7_000, 1])
        return
    if known == 'google.protobuf.Duration':
        sign = dice.choice([1, -1])
        message.seconds, message.nanos = sign * dice.randrange(0, 315576000001), sign * dice.choice([0, 250_000_000, 7_000, 1])
        return
    if known == 'google.protobuf.Struct':
        message.update({text(dice): dice.choice([1, 'x', True, None, [1, 'y'], {'z': 2}])})
        return
    if known == 'google.protobuf.Value':
        message.string_value = text(dice)
        return
    if known == 'google.protobuf.ListValue':
        message.extend([1, 'x', None])
        return
    if known == 'google.protobuf.FieldMask':
        message.paths.extend(dice.sample(['foo', 'foo_bar', 'a.b_c', 'x1'], dice.randrange(0, 4)))
        return
    for field in message.DESCRIPTOR.fields:
        if dice.random() < 0.35 or is_any(field):
            continue
        entry = field.message_type
        if entry is not None and entry.GetOptions().map_entry:
            into = getattr(message, field.name)
            for _ in range(dice.randrange(0, 3)):
                key, value = scalar(entry.fields_by_name['key'], dice), entry.fields_by_name['value']
                if value.message_type is None:
                    into[key] = scalar(value, dice)
                elif depth:
                    fill(into[key], dice, depth - 1)
        elif entry is not None:
            if depth:
                repeated = field.is_repeated
                inner = getattr(message, field.name).add() if repeated else getattr(message, field.name)
                if not repeated:
                    inner.SetInParent()
                fill(inner, dice, depth - 1)
        elif field.is_repeated:
            getattr(message, field.name).extend(scalar(field, dice) for _ in range(dice.randrange(0, 4)))
        else:
            setattr(message, field.name, scalar(field, dice))


def is_any(field):
    entry = field.message_type
    if entry is not None and entry.GetOptions().map_entry:
        return is_any(entry.fields_by_name['value'])
    return entry is not None and entry.full_name == 'google.protobuf.Any'


def mutated(value, dice):
    """The value with one inner value replaced, one member added, or a text bent."""
    value = json.loads(json.dumps(value))
    spots = []

    def walk(node):
        pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, inner in pairs:
            spots.append((node, key))
            walk(inner)

    walk(value)
    if not spots or dice.random() < 0.1:
        value['noSuchField'] = 1
        return value
    node, key = dice.choice(spots)
    node[key] = dice.choice([1.5, -1, 'nonsense!', True, {}, [], {'a': {'b': 1}}, [[1]], '2020-01-01', 2**40, str(2**64)])
    return value


def instances(file):
    """For each given schema (plain draft 2020-12, self-contained): values of hypothesis-jsonschema, and values that jsonschema refuses."""
    import warnings

    import hypothesis
    import jsonschema
    from hypothesis_jsonschema import from_schema

    warnings.simplefilter('ignore')
    made = {}
    for name, schema in json.load(open(file)).items():
        validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
        valid = []

        @hypothesis.settings(max_examples=COUNT, database=None, deadline=None, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck),
                             phases=[hypothesis.Phase.generate])
        @hypothesis.given(from_schema(schema, allow_x00=False))
        def collect(value):
            valid.append(value)

        collect()
        valid = [value for value in valid if isinstance(value, dict) and validator.is_valid(value)]
        dice, refused = random.Random(name), []
        for value in valid:
            for _ in range(4):
                bent = mutated(value, dice)
                if not validator.is_valid(bent):
                    refused.append(bent)
        made[name] = {'valid': valid, 'refused': refused}
    return made


def conforms(shapes, file):
    """For each given instance of a term: whether pyshacl finds that its graph conforms to the exported shapes."""
    import rdflib
    from pyshacl import validate

    graph = rdflib.Graph().parse(shapes, format='json-ld')
    sh, own = rdflib.Namespace('http://www.w3.org/ns/shacl#'), rdflib.Namespace('urn:semgate:terms#')

    def add(data, shape, value):
        node = rdflib.BNode()
        by_name = {str(graph.value(one, own.name)): one for one in graph.objects(shape, sh.property)}
        for member, inner in value.items():
            described = by_name.get(member)
            path = graph.value(described, sh.path) if described is not None else rdflib.URIRef('urn:unknown:' + member)
            for one in inner if isinstance(inner, list) else [inner]:
                target = graph.value(described, sh.node) if described is not None else None
                if isinstance(one, dict) and target is not None:
                    data.add((node, path, add(data, target, one)))
                else:
                    kind = graph.value(described, sh.datatype) if described is not None else None
                    data.add((node, path, literal(one, kind)))
        return node

    def literal(value, kind):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if isinstance(value, str) and kind in (rdflib.XSD.date, rdflib.XSD.dateTime, rdflib.XSD.time, rdflib.XSD.duration):
            return rdflib.Literal(value, datatype=kind)
        if is_number and kind == rdflib.XSD.decimal:
            return rdflib.Literal(str(value), datatype=kind)
        return rdflib.Literal(value if not isinstance(value, (dict, list)) else json.dumps(value))

    verdicts = []
    for case in json.load(open(file)):
        data, shape = rdflib.Graph(), rdflib.URIRef(case['shape'])
        focus = add(data, shape, case['value'])
        mine = graph + rdflib.Graph()
        mine.add((shape, sh.targetNode, rdflib.URIRef('urn:focus')))
        moved = rdflib.Graph()
        for subject, predicate, value in data:
            moved.add((rdflib.URIRef('urn:focus') if subject == focus else subject, predicate, value))
        if len(moved) == 0:
            moved.add((rdflib.URIRef('urn:focus'), rdflib.RDF.type, rdflib.URIRef('urn:any')))
        verdicts.append(validate(moved, shacl_graph=mine)[0])
    return verdicts


if __name__ == '__main__':
    command, *words = sys.argv[1:]
    json.dump({'protobuf': lambda: protobuf(words), 'instances': lambda: instances(*words), 'conforms': lambda: conforms(*words)}[command](), sys.stdout)
