"""Payloads for imported contexts, made by others: Google's protobuf, hypothesis-jsonschema. One JSON value on standard output."""

import json
import random
import sys

COUNT = 60
VALUES = 12


def protobuf(files):
    """For each file, by message: messages of its descriptors, filled at random, as Google writes them in JSON; and texts that Google's parser refuses."""
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
            made.setdefault(file, {})[descriptor.full_name] = {'valid': valid, 'refused': refused}
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


def openapi(file):
    """For each operation, by `operationId` or method and path, its parameters and its answer: values that hypothesis-jsonschema makes of
    the schemas of the description, and values that jsonschema refuses."""
    import yaml

    source = yaml.safe_load(open(file))
    old, made = str(source['openapi']).startswith('3.0'), {}
    source = json.loads(json.dumps(source, default=str))

    def at(part):
        while '$ref' in part:
            reference, part = part['$ref'], source
            for piece in reference[2:].split('/'):
                part = part[piece.replace('~1', '/').replace('~0', '~').replace('%7B', '{').replace('%7D', '}')]
        return part

    def content(part):
        kinds = part.get('content', {})
        json_kinds = [kind for kind in kinds if kind.split(';')[0] in ('application/json', '*/*', 'application/*') or kind.split(';')[0].endswith('+json')]
        kind = next(iter(json_kinds), 'application/x-www-form-urlencoded')
        return kinds[kind].get('schema', {}) if kind in kinds else None

    def whole(members, required):
        schema = {'type': 'object', 'properties': members, 'required': required, 'additionalProperties': False}
        if '$ref' in json.dumps(schema):
            schema['components'] = {'schemas': source.get('components', {}).get('schemas', {})}
        return plain(schema, source['openapi']) if old else schema

    for path, item in source['paths'].items():
        item = at(item)
        for method in ('get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'):
            if method not in item:
                continue
            operation = item[method]
            inputs = {}
            for one in map(at, item.get('parameters', []) + operation.get('parameters', [])):
                if not (one['in'] == 'header' and one['name'].lower() in ('accept', 'content-type', 'authorization')):
                    inputs[one['in'], one['name']] = one
            names = [name for _, name in inputs]
            members, required = {}, []
            for (where, name), one in inputs.items():
                member = f'{where}_{name}' if name == 'body' or names.count(name) > 1 else name
                members[member] = one.get('schema', content(one) or {})
                if where == 'path' or one.get('required'):
                    required.append(member)
            if 'requestBody' in operation:
                body = at(operation['requestBody'])
                if content(body) is None:
                    continue
                members['body'] = content(body)
                if body.get('required'):
                    required.append('body')
            answers = {status: at(answer) for status, answer in operation.get('responses', {}).items()}
            good = [answer for status, answer in answers.items() if status.startswith('2')] or [answer for status, answer in answers.items() if status == 'default']
            bodies = [content(answer) for answer in good if content(answer) is not None]
            if not bodies and any(answer.get('content') for answer in good):
                continue
            always = ['body'] if len(bodies) == 1 == len(good) else []
            answer = {'body': bodies[0] if len(bodies) == 1 else {'anyOf': bodies}} if bodies else {}
            label = operation.get('operationId') or f'{method.upper()} {path}'
            made[label] = [instances(whole(members, required)), instances(whole(answer, always))]
    return made


def plain(schema, version):
    """A schema of OpenAPI 3.0 as JSON Schema of 2020-12."""
    if isinstance(schema, list):
        return [plain(one, version) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if isinstance(schema.get('$ref'), str):
        return {'$ref': schema['$ref']}
    out = {key: plain(value, version) for key, value in schema.items()}
    for word, bound in (('exclusiveMinimum', 'minimum'), ('exclusiveMaximum', 'maximum')):
        if isinstance(out.get(word), bool):
            if out.pop(word):
                out[word] = out.pop(bound)
    if out.get('nullable') is True and isinstance(out.get('type'), str):
        out['type'] = [out['type'], 'null']
        if isinstance(out.get('enum'), list) and None not in out['enum']:
            out['enum'].append(None)
    return out


def declared(schema, names):
    """Adds every name that a schema declares."""
    if isinstance(schema, dict):
        if isinstance(schema.get('properties'), dict):
            names.update(schema['properties'])
        for value in schema.values():
            declared(value, names)
    elif isinstance(schema, list):
        for value in schema:
            declared(value, names)


def softened(value, names):
    """The value without members that nobody declares, and without characters that a terminal would not show."""
    if isinstance(value, dict):
        return {key: softened(inner, names) for key, inner in value.items() if key in names}
    if isinstance(value, list):
        return [softened(inner, names) for inner in value]
    if isinstance(value, str):
        return ''.join(c if c.isprintable() else 'x' for c in value)
    return value


def instances(schema):
    """Values of hypothesis-jsonschema for a schema, and values that jsonschema refuses; none where it knows no way, as for circles."""
    import warnings

    import hypothesis
    import jsonschema
    from hypothesis_jsonschema import from_schema

    warnings.simplefilter('ignore')
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
    unformatted = jsonschema.Draft202012Validator(schema)
    found = []

    @hypothesis.settings(max_examples=VALUES, database=None, deadline=None, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck),
                         phases=[hypothesis.Phase.generate])
    @hypothesis.given(from_schema(schema, allow_x00=False))
    def collect(value):
        found.append(value)

    try:
        collect()
    except Exception as why:  # noqa: BLE001  it knows no circles, and not every pattern
        return {'valid': [], 'refused': [], 'unmade': type(why).__name__}
    names = set()
    declared(schema, names)
    found += [softened(value, names) for value in found]
    valid = [value for value in found if validator.is_valid(value)]
    dice, refused = random.Random(len(valid)), []
    for value in valid:
        bent = mutated(value, dice)
        if not unformatted.is_valid(bent):
            refused.append(bent)
    return {'valid': valid, 'refused': refused}


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
    json.dump({'protobuf': lambda: protobuf(words), 'openapi': lambda: openapi(*words), 'conforms': lambda: conforms(*words)}[command](), sys.stdout)
