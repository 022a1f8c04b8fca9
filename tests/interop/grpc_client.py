"""The official A2A SDK for Python as a client over gRPC, unmodified: it plays a conversation and prints what the SDK shows its
user, one line of JSON a step, with made-up ids and times replaced by names, so that two runs can be compared.

    python grpc_client.py ADDRESS [DIRECTORY AGENT]

DIRECTORY is that of `semgate up`, AGENT one of its agents, for a listener that wants a client certificate.
"""

import asyncio
import json
import re
import sys
from pathlib import Path

import grpc
from a2a.client import ClientConfig
from a2a.client.client import ClientCallContext
from a2a.client.client_factory import ClientFactory
from a2a.helpers import new_data_message
from a2a.types import a2a_pb2
from google.protobuf.json_format import MessageToDict

EXTENSION = 'urn:contexts:snl:v1.0'
NAMES = {}


def named(value):
    if isinstance(value, dict):
        return {key: named(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [named(inner) for inner in value]
    if isinstance(value, str) and re.fullmatch(r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', value):
        return NAMES.setdefault(value, f'id-{len(NAMES) + 1}')
    if isinstance(value, str) and re.fullmatch(r'\d{4}-\d\d-\d\dT[\d:.]+Z', value):
        return 'time'
    return value


def show(step, what):
    print(json.dumps({'step': step, 'shown': named(what)}), flush=True)


async def play(step, does):
    try:
        await does()
    except Exception as error:  # what the SDK's user would catch
        print(json.dumps({'step': step, 'error': type(error).__name__, 'text': str(error)}), flush=True)


def request(item, quantity, performative='INFORM'):
    data = {'concept': 'current_decision', 'item_id': item, 'quantity': quantity}
    message = new_data_message(data, role=a2a_pb2.ROLE_USER)
    message.metadata.update({EXTENSION: {'context': 'urn:contexts:supplyChain:v1.0', 'performative': performative}})
    message.extensions.append(EXTENSION)
    return a2a_pb2.SendMessageRequest(message=message)


def channel(address):
    if len(sys.argv) <= 2:
        return grpc.aio.insecure_channel(address)
    here = Path(sys.argv[2])
    up = json.loads((here / 'up.json').read_text())
    agent = up['agents'][sys.argv[3]]
    files = [here / up['roots'], here / agent['key'], here / agent['cert']]
    return grpc.aio.secure_channel(address, grpc.ssl_channel_credentials(*(file.read_bytes() for file in files)))


async def main():
    address = sys.argv[1]
    card = a2a_pb2.AgentCard(name='Restating agent')
    card.capabilities.streaming = True
    card.capabilities.extended_agent_card = True
    card.supported_interfaces.add(url=address, protocol_binding='GRPC', protocol_version='1.0')
    config = {'grpc_channel_factory': channel, 'supported_protocol_bindings': ['GRPC']}
    whole = ClientFactory(ClientConfig(streaming=False, **config)).create(card)
    stream = ClientFactory(ClientConfig(streaming=True, **config)).create(card)
    asking = ClientCallContext(service_parameters={'A2A-Extensions': EXTENSION}, timeout=30)

    async def sent(client, step, *words):
        last = None
        async for event in client.send_message(request(*words), context=asking):
            last = event
            show(step, MessageToDict(event))
        return last

    await play('message', lambda: sent(whole, 'message', 'message', 120))
    task = a2a_pb2.Task()

    async def asks_task():
        task.CopyFrom((await sent(whole, 'task', 'task', 7)).task)

    await play('task', asks_task)

    async def gets():
        one = await whole.get_task(a2a_pb2.GetTaskRequest(id=task.id, history_length=1), context=asking)
        show('get', MessageToDict(one))
        some = await whole.list_tasks(a2a_pb2.ListTasksRequest(context_id=task.context_id, page_size=10), context=asking)
        show('list', MessageToDict(some))

    await play('get', gets)
    await play('stream', lambda: sent(stream, 'stream', 'stream', 30))

    async def cancels():
        waiting = None
        async for event in stream.send_message(request('later', 1), context=asking):
            show('later', MessageToDict(event))
            if event.HasField('artifact_update') and waiting is None:
                waiting = event.artifact_update.task_id
                async for again in stream.subscribe(a2a_pb2.SubscribeToTaskRequest(id=waiting), context=asking):
                    show('subscribe', MessageToDict(again))
                    break
                over = await stream.cancel_task(a2a_pb2.CancelTaskRequest(id=waiting), context=asking)
                show('cancel', MessageToDict(over))

    await play('cancel', cancels)

    async def finds_nothing():
        show('unknown', MessageToDict(await whole.get_task(a2a_pb2.GetTaskRequest(id='nobody-s'), context=asking)))

    await play('unknown task', finds_nothing)

    async def reads_card():
        show('card', MessageToDict(await whole.get_extended_agent_card(a2a_pb2.GetExtendedAgentCardRequest())))

    await play('card', reads_card)
    await play('refused', lambda: sent(whole, 'refused', 'message', -1))
    await whole.close()
    await stream.close()


asyncio.run(main())
