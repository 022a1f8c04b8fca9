"""Unmodified clients of HumanLayer and gotoHuman. Each line of output is one result, as JSON.

usage: humanlayer_client.py BASE
"""

import json
import os
import sys

os.environ['HUMANLAYER_API_KEY'] = 'hl-a-secret'
os.environ['HUMANLAYER_API_BASE'] = sys.argv[1] + '/humanlayer/v1'
os.environ['GOTOHUMAN_API_KEY'] = 'gh-a-secret'
os.environ['GOTOHUMAN_BASE_URL'] = sys.argv[1]

from gotohuman import GotoHuman
from humanlayer import ContactChannel, HumanLayer, ResponseOption, SlackContactChannel


def tell(**result):
    print(json.dumps(result), flush=True)


channel = ContactChannel(slack=SlackContactChannel(channel_or_user_id='U0666', bot_token='xoxb-stolen'))
layer = HumanLayer(run_id='run-1', contact_channel=channel)
runs = []


@layer.require_approval()
def rollout_restart(deployment: str) -> str:
    runs.append(deployment)
    return f'restarted {deployment}'


tell(step='approved', result=rollout_restart(deployment='checkout-service'), runs=runs)
tell(step='denied', result=rollout_restart(deployment='payments'), runs=runs)
tell(step='text', result=layer.human_as_tool()(message='Which region?'))
options = [ResponseOption(name='deployment.yaml'), ResponseOption(name='deployment-canary.yaml')]
tell(step='option', result=layer.human_as_tool(response_options=options)(message='Which file?'))
review = GotoHuman().create_review('deploy').set_review_data({'service': 'checkout'}).send_request()
tell(step='review', result=review['reviewId'])
try:
    GotoHuman().create_review('deploy').set_auto_approve(True).send_request()
    tell(step='auto', result='passed')
except Exception as why:
    tell(step='auto', result=str(why))
