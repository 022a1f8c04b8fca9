"""What of a run is explained: the tests that pass on one side only, each with its reason, as `<branch>/explained.json` lists them."""

import json
from pathlib import Path

HERE = Path(__file__).resolve().parent


def run_of(transport, agent):
    """The name of a run in the lists. One whose messages are bound to a context has the rows of the one whose messages are not."""
    return f'{transport}-newest' if agent == 'newest' else transport


def explained(branch):
    return json.loads((HERE / branch / 'explained.json').read_text())


def reasons(branch, run, key):
    """Test to reason: `gained`, what passes through the gateway only in this run, or `lost`, which there may be with the newest SDK alone."""
    if key == 'lost' and not run.endswith('-newest'):
        return {}
    return {row['test']: row['since'] for row in explained(branch)[key] if run in row['runs']}


def unexplained(branch, run, sets):
    """Where what a run saw differs from the lists, one line each: a row that is not listed, and a listed one that did not occur."""
    lines = []
    for key, seen in (('lost', sets['only_direct']), ('gained', sets['only_proxied'])):
        listed = reasons(branch, run, key)
        lines += [f'{key}, and not listed: {test}' for test in sorted(set(seen) - set(listed))]
        lines += [f'listed as {key}, and not seen so: {test}' for test in sorted(set(listed) - set(seen))]
    return lines


def table(branch, key):
    """The list as the page has it."""
    lines = [f'| test of `{branch}` | over | directly | since the gateway |', '|---|---|---|---|']
    for row in explained(branch)[key]:
        name = row['test'].split('.')[-1].removeprefix('test_requirements::')
        over = ', '.join(run.replace('-newest', ' (newest)') for run in row['runs'])
        lines.append(f"| `{name}` | {over} | {row['directly']} | {row['since']} |")
    return '\n'.join(lines) + '\n'


if __name__ == '__main__':
    print('\n'.join(table(branch, key) for key in ('lost', 'gained') for branch in ('1.0-dev', '0.3.x') if explained(branch)[key]), end='')
