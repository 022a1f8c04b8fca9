"""A FastMCP server as its users write one, for FastMCP 3 and 4: `fastmcp_server.py PORT`."""

import asyncio
import sys
from dataclasses import dataclass
from typing import Annotated, Literal

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.utilities.types import Image
from pydantic import BaseModel, Field

server = FastMCP(name='shop', instructions='Sells fruit.', version='1.2.3')


class Line(BaseModel):
    """One line of an order."""

    fruit: str
    count: int = 1


class Order(BaseModel):
    lines: list[Line]
    note: str | None = None


class Node(BaseModel):
    name: str
    children: list['Node'] = []


@dataclass
class Receipt:
    total: float
    lines: list[Line]
    delivered: bool | None = None


@dataclass
class Confirmation:
    sure: bool


@server.tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool(tags={'orders', 'public'}, meta={'team': 'sales'}, annotations={'title': 'Place an order', 'idempotentHint': False})
def order(order: Order, express: bool = False) -> Receipt:
    """Places an order."""
    return Receipt(total=sum(line.count * 2.5 for line in order.lines) + express, lines=order.lines)


@server.tool
def depth(tree: Node) -> int:
    """Counts the levels of a tree."""

    def levels(node):
        return 1 + max(map(levels, node.children), default=0)

    return levels(tree)


@server.tool
def fruits(kind: Annotated[Literal['all', 'red'], Field(description='of this kind')] = 'all', limit: int | None = None) -> list[str]:
    """Lists the fruits."""
    return ['apple', 'cherry', 'lemon', 'lime'][: 2 if kind == 'red' else limit]


@server.tool(output_schema=None)
def describe(fruit: str) -> str:
    """Describes a fruit in words."""
    return f'The {fruit} is a fruit.'


@server.tool
def stock() -> dict[str, int]:
    """Counts the fruits at hand."""
    return {'apple': 3, 'lemon': 0}


@server.tool
def find(fruit: str) -> Line | None:
    """Finds a fruit in the shop."""
    return Line(fruit=fruit, count=3) if fruit == 'apple' else None


@server.tool
def nothing() -> None:
    """Does nothing."""


@server.tool
async def harvest(steps: int, context: Context) -> str:
    """Harvests, with progress."""
    for step in range(steps):
        await context.report_progress(step + 1, steps, f'row {step + 1}')
        await asyncio.sleep(0.05)
    await context.info('the harvest is in')
    return 'done'


@server.tool
async def confirm(what: str, context: Context) -> str:
    """Asks the user."""
    answer = await context.elicit(f'{what}?', Confirmation)
    return f'{answer.action}: {answer.data.sure}'


@server.tool
async def suggest(fruit: str, context: Context) -> str:
    """Asks the model."""
    answer = await context.sample(f'What goes with {fruit}?', system_prompt='Be brief.', max_tokens=20)
    return f'{fruit} and {answer.text}'


@server.tool
def spoil(how: Literal['told', 'raised']) -> str:
    """Fails."""
    raise ToolError('The fruit is spoilt.') if how == 'told' else ValueError('a worm')


@server.tool
def picture() -> Image:
    """Draws a fruit."""
    return Image(data=b'\x89PNG\r\n\x1a\n', format='png')


@server.resource('shop://prices')
def prices() -> dict:
    """The prices."""
    return {'apple': 2.5, 'lemon': 2.5}


@server.resource('shop://motto', mime_type='text/plain', tags={'words'}, meta={'origin': 'founder'})
def motto() -> str:
    """The motto of the shop."""
    return 'An apple a day.'


@server.resource('shop://fruits/{name}')
def fruit(name: str) -> str:
    """One fruit."""
    return f'{name} is fresh'


@server.prompt(tags={'sales'})
def offer(fruit: str, tone: str = 'friendly') -> str:
    """Writes an offer."""
    return f'Write a {tone} offer for a {fruit}.'


if __name__ == '__main__':
    server.run(transport='http', host='127.0.0.1', port=int(sys.argv[1]), show_banner=False)
