"""Judges the OCSF events of standard input, one JSON object a line, by the published schema of the version and profiles that they name.

Prints the number of events; ends with the first fault otherwise.
"""

import json
import sys

from jsonschema import Draft202012Validator
from ocsf_json_schema import OcsfJsonSchemaEmbedded, get_ocsf_schema

validators = {}


def validator(event):
    metadata = event['metadata']
    key = (metadata['version'], event['class_uid'], *metadata['profiles'])
    if key not in validators:
        schema = OcsfJsonSchemaEmbedded(get_ocsf_schema(version=metadata['version']))
        name = schema.lookup_class_name_from_uid(class_uid=event['class_uid'])
        validators[key] = Draft202012Validator(schema.get_class_schema(class_name=name, profiles=metadata['profiles']))
    return validators[key]


count = 0
for line in sys.stdin:
    event = json.loads(line)
    validator(event).validate(event)
    assert event['type_uid'] == event['class_uid'] * 100 + event['activity_id'], event
    count += 1
print(count)
