"""A server made with the official MCP SDK for Python, unmodified, that asks its client in sessions of 2025-11-25: `mcp_session_server.py PORT`.

The tool `ask` tells its progress, asks a person and a model, tells on the stream of the session that its tools changed, and answers with
what it was told.
"""

import sys

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import SamplingMessage, TextContent
from pydantic import BaseModel

server = MCPServer('asking')


class Sure(BaseModel):
    yes: bool


class Told(BaseModel):
    sure: bool
    length: int


@server.tool(description='Asks a person and a model.')
async def ask(times: int, ctx: Context) -> Told:
    for done in range(times):
        await ctx.report_progress(done + 1, times)
    sure = await ctx.elicit('Sure?', Sure)
    said = await ctx.session.create_message(
        [SamplingMessage(role='user', content=TextContent(type='text', text='say a word'))],
        max_tokens=8,
        related_request_id=ctx.request_id,
    )
    await ctx.session.send_tool_list_changed()
    return Told(sure=sure.action == 'accept' and sure.data.yes, length=len(said.content.text))


server.run(transport='streamable-http', host='127.0.0.1', port=int(sys.argv[1]))
