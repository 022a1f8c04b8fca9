"""Reads OpenMetrics from standard input with the parser of the Prometheus client, which refuses what the format does not have. Prints each
exemplar as one line of JSON: the labels of its sample, its trace, its value."""

import json
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

for family in text_string_to_metric_families(sys.stdin.read()):
    for sample in family.samples:
        if sample.exemplar:
            print(json.dumps([sample.name, sample.labels, sample.exemplar.labels['trace_id'], sample.exemplar.value]))
