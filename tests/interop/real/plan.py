"""The frame of the clients in Python.

Reads the plan from standard input, one JSON object: `{"urls": […], "calls": […], "reads": […], "prompts": […]}` for each server. Prints
one JSON list with what `see(url, plan)` returned for each URL, server by server.
"""

import asyncio
import json
import sys


def plain(value):
    """JSON of any value that a library returns: models by their wire names without absent members, others by their members."""
    if hasattr(value, 'model_dump'):
        return plain(value.model_dump(mode='json', by_alias=True, exclude_none=True))
    if isinstance(value, dict):
        return {str(key): plain(member) for key, member in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(member) for member in value]
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    return plain(vars(value)) if hasattr(value, '__dict__') else str(value)


async def outcome(made):
    """The result of an awaitable, or the exception as its user would read it."""
    try:
        return plain(await made)
    except Exception as error:
        return {'raised': type(error).__name__, 'text': str(error)}


def run(see):
    """Plays every plan of standard input at each of its URLs."""

    async def all_plans():
        plans = json.load(sys.stdin)
        return [[await asyncio.wait_for(outcome(see(url, plan)), 60) for url in plan['urls']] for plan in plans]

    print(json.dumps(asyncio.run(all_plans())))
