"""An agent of the ADK behind `to_a2a`, unmodified, with a scripted model: `adk_agent.py PORT`."""

import sys
import warnings

import uvicorn
from google.adk.a2a.utils.agent_to_a2a import to_a2a
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types

warnings.filterwarnings('ignore')


class Scripted(BaseLlm):
    """Answers with the last words of its user and how many turns it was shown."""

    async def generate_content_async(self, request, stream=False):
        words = [part.text for content in request.contents if content.role == 'user' for part in content.parts if part.text]
        answer = f'{len(words)}: you said {words[-1]!r}'
        usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=3, candidates_token_count=4, total_token_count=7)
        yield LlmResponse(content=types.Content(role='model', parts=[types.Part(text=answer)]), usage_metadata=usage)


port = int(sys.argv[1])
agent = LlmAgent(name='clerk', model=Scripted(model='scripted'), description='Sells fruit.', instruction='Be brief.')
uvicorn.run(to_a2a(agent, host='127.0.0.1', port=port), host='127.0.0.1', port=port, log_level='warning')
