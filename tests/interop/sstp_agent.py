"""An agent on the official A2A SDK that answers objects of SSTP L9 with objects that the package's own models make.

It reads each object with the models, and answers in the same subprotocol with sender and recipient exchanged. A topic `answer as X`
makes it name X as the sender of its answer. Prints its address as one line of JSON once it serves.
"""

import asyncio
import json
import socket
from uuid import uuid4

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import a2a_pb2
from ai.outshift import data_model as l9
from google.protobuf.json_format import MessageToDict, ParseDict
from sstp_l9 import MEDIA_TYPE, read, written
from starlette.applications import Starlette


def answer_to(asked):
    """Kind and data of the answer."""
    of = asked.header.subprotocol
    read(of, asked.payload.data)
    if of == 'SIEP':
        return 'exchange', written('SIEP', asked.payload.data)
    if of == 'CIP':
        return 'exchange', written('CIP', {'utterance': {'text': 'I agree', 'turn_depth': 1}})
    if of == 'TFP':
        offer = {'skills': [{'skill': 'skill:contract_law', 'proficiency': 0.9}], 'availability': 1.0}
        return 'exchange', written('TFP', {'operation': 'bid', 'poll_id': asked.payload.data['poll_id'], 'offer': offer})
    agreed = [{'issue_id': 'price', 'chosen_option': 'medium'}]
    return 'commit', written('SAB', {
        'message_id': 'c1', 'dt_created': '2026-06-22T10:00:25Z', 'origin': {'actor_id': sender_of(asked)},
        'semantic_context': {'session_id': 's-1', 'outcome': 'agreement', 'final_agreement': agreed}})


def named(asked, role):
    return next(actor.id for actor in asked.header.participants.actors if actor.role == role)


def sender_of(asked):
    topic = asked.header.context.topic if asked.header.context else ''
    return topic.removeprefix('answer as ') if topic.startswith('answer as ') else named(asked, 'recipient')


class Answering(AgentExecutor):
    async def execute(self, context, event_queue):
        asked = l9.L9(**MessageToDict(context.message)['parts'][0]['data'])
        kind, data = answer_to(asked)
        actors = [l9.Actor(id=sender_of(asked), role='sender'), l9.Actor(id=named(asked, 'sender'), role='recipient')]
        answer = l9.L9(
            header=l9.L9Header(
                protocol='SSTP', subprotocol=asked.header.subprotocol, version=asked.header.version, kind=l9.Kind(kind),
                participants=l9.ParticipantSet(actors=actors, groups={}),
                message=l9.Message(id=str(uuid4()), parents=[asked.header.message.id], episode=asked.header.message.episode),
            ),
            payload=l9.L9Payload(type='json', data=data),
        )
        part = a2a_pb2.Part(media_type=MEDIA_TYPE)
        ParseDict(answer.model_dump(mode='json'), part.data)
        message = a2a_pb2.Message(message_id=str(uuid4()), role=a2a_pb2.ROLE_AGENT, parts=[part])
        message.context_id = context.context_id
        await event_queue.enqueue_event(message)

    async def cancel(self, context, event_queue):
        pass


async def main():
    listener = socket.socket()
    listener.bind(('127.0.0.1', 0))
    listener.listen()
    port = listener.getsockname()[1]
    card = a2a_pb2.AgentCard(
        name='SSTP agent',
        description='Answers in the subprotocol it is asked in',
        version='1.0.0',
        capabilities=a2a_pb2.AgentCapabilities(streaming=False),
        supported_interfaces=[
            a2a_pb2.AgentInterface(url=f'http://127.0.0.1:{port}/', protocol_binding='JSONRPC', protocol_version='1.0')
        ],
        default_input_modes=[MEDIA_TYPE],
        default_output_modes=[MEDIA_TYPE],
        skills=[a2a_pb2.AgentSkill(id='answer', name='Answer', description='Answers', tags=['sstp'])],
    )
    handler = DefaultRequestHandler(agent_executor=Answering(), task_store=InMemoryTaskStore(), agent_card=card)
    routes = [*create_jsonrpc_routes(handler, '/'), *create_agent_card_routes(card)]
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level='warning'))
    print(json.dumps({'http': f'127.0.0.1:{port}'}), flush=True)
    await server.serve(sockets=[listener])


asyncio.run(main())
