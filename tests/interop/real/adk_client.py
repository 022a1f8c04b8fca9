"""`RemoteA2aAgent` of the ADK, unmodified: `adk_client.py < PLANS`, whose `calls` are what its user says."""

import warnings

from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.runners import InMemoryRunner
from google.genai import types
from plan import plain, run

warnings.filterwarnings('ignore')


async def see(url, plan):
    seen = []
    for legacy in (True, False):
        remote = RemoteA2aAgent(name='clerk', agent_card=f'{url}/.well-known/agent-card.json', use_legacy=legacy)
        runner = InMemoryRunner(agent=remote, app_name='shop')
        session = await runner.session_service.create_session(app_name='shop', user_id='ann')
        for words in plan['calls']:
            content = types.Content(role='user', parts=[types.Part(text=words)])
            async for event in runner.run_async(user_id='ann', session_id=session.id, new_message=content):
                parts = event.content.parts if event.content else []
                shown = plain([part.model_dump(exclude_none=True) for part in parts])
                seen.append([event.author, shown, event.partial, event.error_code, event.error_message, plain(event.usage_metadata)])
        kept = await runner.session_service.get_session(app_name='shop', user_id='ann', session_id=session.id)
        seen.append([remote.description, sorted({key for event in kept.events for key in event.custom_metadata or {}})])
    return seen


run(see)
