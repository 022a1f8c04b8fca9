"""An agent on the official A2A SDK for Python, over gRPC. It restates the decisions that it is told: in a message, in a task with
artifacts, or until it is cancelled, as the item of the decision says.

Prints its address as one line of JSON once it serves.
"""

import asyncio
import json
from uuid import uuid4

import grpc
from a2a.helpers import new_data_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import a2a_pb2, a2a_pb2_grpc
from google.protobuf.json_format import MessageToDict

EXTENSION = 'urn:contexts:snl:v1.0'
CLAIM = {EXTENSION: {'context': 'urn:contexts:supplyChain:v1.0', 'performative': 'INFORM'}}


def decision(item, quantity):
    return new_data_part({'concept': 'current_decision', 'item_id': item, 'quantity': quantity})


class Restating(AgentExecutor):
    def __init__(self):
        self.waiting = {}

    async def execute(self, context, event_queue):
        told = MessageToDict(context.message)['parts'][0]['data']
        item, quantity = told['item_id'], told['quantity']
        if item == 'message':
            message = a2a_pb2.Message(message_id=str(uuid4()), role=a2a_pb2.ROLE_AGENT, parts=[decision(item, quantity)])
            message.context_id = context.context_id
            message.metadata.update(CLAIM)
            await event_queue.enqueue_event(message)
            return
        task = a2a_pb2.Task(id=context.task_id, context_id=context.context_id)
        task.status.state = a2a_pb2.TASK_STATE_SUBMITTED
        task.history.append(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.start_work()
        await updater.add_artifact([decision(item, quantity)], artifact_id='first', metadata=CLAIM, last_chunk=True)
        if item == 'later':
            self.waiting[context.task_id] = asyncio.Event()
            await self.waiting[context.task_id].wait()
            return
        await updater.add_artifact([decision(item, quantity + 1)], artifact_id='second', metadata=CLAIM, last_chunk=True)
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()
        if context.task_id in self.waiting:
            self.waiting[context.task_id].set()


async def main():
    server = grpc.aio.server()
    port = server.add_insecure_port('127.0.0.1:0')
    card = a2a_pb2.AgentCard(
        name='Restating agent',
        description='Restates decisions',
        version='1.0.0',
        capabilities=a2a_pb2.AgentCapabilities(
            streaming=True, extended_agent_card=True, extensions=[a2a_pb2.AgentExtension(uri=EXTENSION)]
        ),
        supported_interfaces=[
            a2a_pb2.AgentInterface(url=f'127.0.0.1:{port}', protocol_binding='GRPC', protocol_version='1.0')
        ],
        default_input_modes=['application/json'],
        default_output_modes=['application/json'],
        skills=[a2a_pb2.AgentSkill(id='restate', name='Restate', description='Restates a decision', tags=['decision'])],
    )
    handler = DefaultRequestHandler(
        agent_executor=Restating(), task_store=InMemoryTaskStore(), agent_card=card, extended_agent_card=card
    )
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), server)
    await server.start()
    print(json.dumps({'grpc': f'127.0.0.1:{port}'}), flush=True)
    await server.wait_for_termination()


asyncio.run(main())
