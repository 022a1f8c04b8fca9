#!/usr/bin/env python3
"""Cedar's own integration tests through the tables by which policies are looked up, beside Cedar's plain authorizer.

    python3 tests/interop/cedar/run.py --tests CHECKOUT

CHECKOUT is a clone of https://github.com/cedar-policy/cedar-integration-tests; nothing in it is changed. The corpus of generated tests
is unpacked below `--work`, and `cargo test` runs `tests::cedar` of semgate-policies over both parts. The report is `report.md` there.

Exit status: 0 where every decision, every determining policy and every error is as expected, 1 where not.
"""

import argparse
import datetime
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TEST = 'tests::cedar::cedars_own_tests_decide_through_the_tables_as_expected'
CARGO = ['cargo', 'test', '-q', '-p', 'semgate', '-p', 'semgate-policies', '--lib', '--', '--exact', TEST, '--nocapture']


def unpack(checkout, work):
    """The tests as the repository lays them out, with the corpus beside the hand-written ones."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    for part in ('tests', 'sample-data'):
        shutil.copytree(checkout / part, work / part)
    with tarfile.open(checkout / 'corpus-tests.tar.gz') as corpus:
        corpus.extractall(work, filter='data')


def commit(checkout):
    """The commit of the checkout, where it is one."""
    shown = subprocess.run(['git', '-C', checkout, 'rev-parse', 'HEAD'], capture_output=True, text=True)
    return shown.stdout.strip() or 'not known'


def locked(name):
    """The version of a crate that Cargo.lock names."""
    found = re.search(rf'name = "{name}"\nversion = "([^"]+)"', (ROOT / 'Cargo.lock').read_text())
    return found.group(1) if found else 'not known'


def report(options, output, ok):
    counts = re.findall(r'(\S+): Count \{ ([^}]*) \}', output)
    names = ['files', 'requests', 'allowed', 'erred', 'policies', 'found', 'skipped']
    lines = [
        '# Cedar\'s own integration tests', '',
        f'{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC: '
        + ('every decision, determining policy and error is as expected.' if ok else 'something is not as expected.'), '',
        '| | |', '|---|---|',
        f'| tests | `cedar-policy/cedar-integration-tests`, commit `{options.commit or commit(options.tests)}` |',
        f'| Cedar | cedar-policy {locked("cedar-policy")} |',
        f'| semgate | commit `{commit(ROOT)[:7]}` |',
        '| command | `python3 tests/interop/cedar/run.py --tests cedar-integration-tests` |', '',
        '| part | tests | requests | allowed | with an error | policies in all requests | of these found | skipped |',
        '|---|---|---|---|---|---|---|---|',
    ]
    for part, pairs in counts:
        values = dict(pair.split(': ') for pair in pairs.split(', '))
        lines.append(f'| `{part}` | ' + ' | '.join(values[name] for name in names) + ' |')
    return '\n'.join(lines) + '\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--tests', type=Path, required=True, help='a checkout of cedar-integration-tests')
    parser.add_argument('--work', type=Path, default=ROOT / 'target/cedar-tests', help='where to unpack; emptied first')
    parser.add_argument('--commit', help='the commit of a checkout without `.git`')
    options = parser.parse_args()
    unpack(options.tests, options.work)
    environment = {**os.environ, 'SEMGATE_CEDAR_TESTS': str(options.work)}
    run = subprocess.run(CARGO, cwd=ROOT, env=environment, capture_output=True, text=True)
    ok = run.returncode == 0 and 'corpus-tests: Count' in run.stdout
    (options.work / 'report.md').write_text(report(options, run.stdout, ok))
    print((options.work / 'report.md').read_text() if ok else run.stdout + run.stderr)
    return 0 if ok else 1


if __name__ == '__main__':
    sys.exit(main())
