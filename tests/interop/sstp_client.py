"""Objects of SSTP L9, made by the package's own models, sent and read through the official A2A SDK.

Called with the URL of an agent's interface; plays each case of standard input (one JSON object a line) and prints what the SDK
and the models show their user, one JSON object a line. A case: {"case", "subprotocol", "kind", "subkind"?, "actors", "data",
"type"?, "topic"?, "schema_id"?, "policy"?, "context"?, "metadata"?, "rounds"?: [CASE], "change"?: {PATH: VALUE}}. `change` alters
the object after the models wrote it, as no user of the models could.
"""

import asyncio
import json
import sys

import httpx
from a2a.client import ClientConfig
from a2a.client.client_factory import ClientFactory
from a2a.types import a2a_pb2
from ai.outshift import data_model as l9
from google.protobuf.json_format import MessageToDict, ParseDict
from sstp_l9 import MEDIA_TYPE, hashed, read, written


def object_of(case):
    schema_id = case.get('schema_id')
    semantic = l9.Semantic(schema_id=schema_id, ontology_ref='') if schema_id else None
    policy = l9.PolicyLabel(**case['policy']) if 'policy' in case else None
    made = l9.L9(
        header=l9.L9Header(
            protocol='SSTP',
            subprotocol=case['subprotocol'],
            version='0.0.6',
            kind=l9.Kind(case['kind']),
            subkind=case.get('subkind'),
            participants=l9.ParticipantSet(actors=[l9.Actor(**actor) for actor in case['actors']], groups={}),
            message=l9.Message(id=f'l9-{case["case"]}'.replace(' ', '-'), parents=[], episode='ep-1'),
            policy=policy,
            context=l9.Context(topic=case.get('topic', 'reorder'), semantic=semantic),
        ),
        payload=l9.L9Payload(type=case.get('type', 'json'), data=written(case['subprotocol'], case['data'])),
    ).model_dump(mode='json')
    if 'rounds' in case:
        rounds = [object_of(dict(inner, case=case['case'])) for inner in case['rounds']]
        made['payload']['data'] = hashed(dict(made['payload']['data'], round_messages=rounds))
    for pointer, value in case.get('change', {}).items():
        *steps, last = pointer.split('/')
        target = made
        for step in steps:
            target = target[int(step)] if isinstance(target, list) else target[step]
        target[int(last) if isinstance(target, list) else last] = value
    return made


async def play(client, case):
    made = object_of(case)
    part = a2a_pb2.Part(media_type=MEDIA_TYPE)
    ParseDict(made, part.data)
    message = a2a_pb2.Message(message_id=f'm-{case["case"]}'.replace(' ', '-'), role=a2a_pb2.ROLE_USER, parts=[part])
    message.context_id = case.get('context', '')
    message.metadata.update(case.get('metadata', {}))
    try:
        async for event in client.send_message(a2a_pb2.SendMessageRequest(message=message)):
            answer = MessageToDict(event)['message']
            shown = l9.L9(**answer['parts'][0]['data'])
            read(shown.header.subprotocol, shown.payload.data)
            return {'case': case['case'], 'kind': shown.header.kind.value, 'answer': answer['parts'][0]['data']}
    except Exception as error:  # what the SDK's user would catch
        return {'case': case['case'], 'error': type(error).__name__, 'text': str(error)}
    return {'case': case['case'], 'error': 'Nothing', 'text': 'the SDK yielded nothing'}


async def main():
    interface = a2a_pb2.AgentInterface(url=sys.argv[1], protocol_binding='JSONRPC', protocol_version='1.0')
    card = a2a_pb2.AgentCard(name='agent', supported_interfaces=[interface])
    async with httpx.AsyncClient(timeout=30) as http:
        client = ClientFactory(ClientConfig(httpx_client=http, streaming=False)).create(card)
        for line in sys.stdin:
            print(json.dumps(await play(client, json.loads(line))), flush=True)


asyncio.run(main())
