"""The lists of what is explained, held against the reports, the page, and runs that differ. Needs no kit: `python3 -m unittest explained_test`."""

import re
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGES = HERE.parents[2] / 'docs/interop'
sys.path.insert(0, str(HERE))
from explained import explained, reasons, run_of, table, unexplained  # noqa: E402

BRANCHES = ['1.0-dev', '0.3.x']
ONE, RUN = '1.0-dev', 'jsonrpc'


def report(path):
    """Branch, run and sets of a report that stands on the page."""
    branch, run = re.fullmatch(r'a2a-tck-(1\.0-dev|0\.3\.x)-(\w+(?:-newest)?)(?:-bound)?\.md', path.name).groups()
    text, sets = path.read_text(), {}
    for key, title in (('only_direct', 'Pass only directly'), ('only_proxied', 'Pass only through the gateway')):
        count, rows = re.search(rf'^## {title}: (\d+)$(.*?)^## ', text, re.M | re.S).groups()
        sets[key] = re.findall(r'^\| `([^`]+)` \|', rows, re.M)
        assert len(sets[key]) == int(count), path
    return branch, run, sets


class Explained(unittest.TestCase):
    def as_listed(self):
        return {'only_direct': list(reasons(ONE, RUN, 'lost')), 'only_proxied': list(reasons(ONE, RUN, 'gained'))}

    def test_each_report_differs_by_what_is_listed_for_its_run_and_each_listed_row_is_in_one(self):
        runs = set()
        for path in sorted(PAGES.glob('a2a-tck-*.md')):
            branch, run, sets = report(path)
            self.assertEqual(unexplained(branch, run, sets), [], path.name)
            runs.add((branch, run))
        for branch in BRANCHES:
            named = {(branch, run) for rows in explained(branch).values() for row in rows for run in row['runs']}
            self.assertLessEqual(named, runs)

    def test_the_page_has_the_lists_as_they_are(self):
        page = (PAGES / 'README.md').read_text()
        for branch in BRANCHES:
            for key in ('gained', 'lost'):
                if explained(branch)[key]:
                    self.assertTrue(f'\n\n{table(branch, key)}\n' in page, f'{key} of {branch}: `python3 explained.py` writes the table')

    def test_every_row_has_a_reason_and_what_is_lost_is_so_with_the_newest_sdk_alone(self):
        for branch in BRANCHES:
            for key, rows in explained(branch).items():
                self.assertEqual(len({row['test'] for row in rows}), len(rows))
                for row in rows:
                    self.assertTrue(row['since'] and row['directly'] and row['runs'], row)
                    self.assertTrue(key == 'gained' or all(run.endswith('-newest') for run in row['runs']), row)

    def test_a_run_as_listed_leaves_nothing_to_explain(self):
        self.assertEqual(unexplained(ONE, run_of('jsonrpc', 'agent'), self.as_listed()), [])

    def test_a_row_that_is_gained_and_not_listed_is_named(self):
        sets = self.as_listed()
        sets['only_proxied'].append('a::new')
        self.assertEqual(unexplained(ONE, RUN, sets), ['gained, and not listed: a::new'])

    def test_a_listed_row_that_does_not_occur_any_more_is_named(self):
        sets = self.as_listed()
        gone = sets['only_proxied'].pop()
        self.assertEqual(unexplained(ONE, RUN, sets), [f'listed as gained, and not seen so: {gone}'])

    def test_a_row_that_is_lost_is_named_also_where_the_newest_sdk_may_lose_it(self):
        sets, (lost,) = self.as_listed(), reasons(ONE, run_of('jsonrpc', 'newest'), 'lost')
        sets['only_direct'].append(lost)
        self.assertEqual(unexplained(ONE, RUN, sets), [f'lost, and not listed: {lost}'])


if __name__ == '__main__':
    unittest.main()
