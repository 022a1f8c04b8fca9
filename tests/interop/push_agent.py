"""An agent on the official A2A SDK for Python that speaks 1.0 and, in its compatibility mode, 0.3, with push notifications. A task waits
until somebody wants to be notified of it; then it restates the decision that it was told, and ends.

Prints its address as one line of JSON once it serves.
"""

import asyncio
import json
import socket

import httpx
import uvicorn
from a2a.helpers import new_data_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import a2a_pb2
from google.protobuf.json_format import MessageToDict
from starlette.applications import Starlette

EXTENSION = 'urn:contexts:snl:v1.0'
CLAIM = {EXTENSION: {'context': 'urn:contexts:supplyChain:v1.0', 'performative': 'INFORM'}}


class Restating(AgentExecutor):
    def __init__(self, configs):
        self.configs = configs

    async def execute(self, context, event_queue):
        told = MessageToDict(context.message)['parts'][0]['data']
        await event_queue.enqueue_event(
            a2a_pb2.Task(
                id=context.task_id,
                context_id=context.context_id,
                status=a2a_pb2.TaskStatus(state=a2a_pb2.TASK_STATE_SUBMITTED),
            )
        )
        while not await self.configs.get_info_for_dispatch(context.task_id):
            await asyncio.sleep(0.05)
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.start_work()
        # what the context does not define first, which nobody may be told
        for concept in ('my_mood', 'current_decision'):
            part = new_data_part({'concept': concept, 'item_id': told['item_id'], 'quantity': told['quantity']})
            await updater.add_artifact([part], artifact_id=concept, metadata=CLAIM, last_chunk=True)
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


async def main():
    listener = socket.socket()
    listener.bind(('127.0.0.1', 0))
    listener.listen()
    port = listener.getsockname()[1]
    interface = lambda version: a2a_pb2.AgentInterface(
        url=f'http://127.0.0.1:{port}/', protocol_binding='JSONRPC', protocol_version=version
    )
    card = a2a_pb2.AgentCard(
        name='Restating agent',
        description='Restates decisions',
        version='1.0.0',
        capabilities=a2a_pb2.AgentCapabilities(push_notifications=True),
        supported_interfaces=[interface('1.0'), interface('0.3')],
        default_input_modes=['application/json'],
        default_output_modes=['application/json'],
        skills=[a2a_pb2.AgentSkill(id='restate', name='Restate', description='Restates a decision', tags=['decision'])],
    )
    configs = InMemoryPushNotificationConfigStore()
    async with httpx.AsyncClient() as http:
        handler = DefaultRequestHandler(
            agent_executor=Restating(configs),
            task_store=InMemoryTaskStore(),
            agent_card=card,
            push_config_store=configs,
            push_sender=BasePushNotificationSender(http, configs),
        )
        routes = create_jsonrpc_routes(handler, '/', enable_v0_3_compat=True)
        server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level='warning'))
        print(json.dumps({'http': f'127.0.0.1:{port}'}), flush=True)
        await server.serve(sockets=[listener])


asyncio.run(main())
