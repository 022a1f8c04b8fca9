"""An agent on the official A2A SDK for Python, over JSON-RPC: it restates the decision that it was told in a message.

Prints its address as one line of JSON once it serves.
"""

import asyncio
import json
import socket
from uuid import uuid4

import uvicorn
from a2a.helpers import new_data_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import a2a_pb2
from google.protobuf.json_format import MessageToDict
from starlette.applications import Starlette

EXTENSION = 'urn:contexts:snl:v1.0'
CLAIM = {EXTENSION: {'context': 'urn:contexts:supplyChain:v1.0', 'performative': 'INFORM'}}


class Restating(AgentExecutor):
    async def execute(self, context, event_queue):
        told = MessageToDict(context.message)['parts'][0]['data']
        part = new_data_part({'concept': 'current_decision', 'item_id': told['item_id'], 'quantity': told['quantity']})
        message = a2a_pb2.Message(message_id=str(uuid4()), role=a2a_pb2.ROLE_AGENT, parts=[part])
        message.context_id = context.context_id
        message.metadata.update(CLAIM)
        await event_queue.enqueue_event(message)

    async def cancel(self, context, event_queue):
        pass


async def main():
    listener = socket.socket()
    listener.bind(('127.0.0.1', 0))
    listener.listen()
    port = listener.getsockname()[1]
    card = a2a_pb2.AgentCard(
        name='Restating agent',
        description='Restates decisions',
        version='1.0.0',
        capabilities=a2a_pb2.AgentCapabilities(extensions=[a2a_pb2.AgentExtension(uri=EXTENSION)]),
        supported_interfaces=[
            a2a_pb2.AgentInterface(url=f'http://127.0.0.1:{port}/', protocol_binding='JSONRPC', protocol_version='1.0')
        ],
        default_input_modes=['application/json'],
        default_output_modes=['application/json'],
        skills=[a2a_pb2.AgentSkill(id='restate', name='Restate', description='Restates a decision', tags=['decision'])],
    )
    handler = DefaultRequestHandler(agent_executor=Restating(), task_store=InMemoryTaskStore(), agent_card=card)
    routes = [*create_jsonrpc_routes(handler, '/'), *create_agent_card_routes(card)]
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level='warning'))
    print(json.dumps({'http': f'127.0.0.1:{port}'}), flush=True)
    await server.serve(sockets=[listener])


asyncio.run(main())
