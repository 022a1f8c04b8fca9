"""Receivers and judges of what the gateway sends to people.

serve DIR CERT KEY   a web server for webhooks and a mail server (implicit TLS, and STARTTLS with a password); keeps what they get in DIR
slack FILE           every message of a webhook through the validators of slack_sdk
mail DIR             every mail through the parsers of Python
visit ROOTS URL      follows a link as a scanner does, then as a person does
"""

import email
import email.policy
import html.parser
import http.server
import json
import pathlib
import re
import ssl
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import Block
from stage import free_port


def show(value):
    print(json.dumps(value), flush=True)


def serve(directory, certificate, key):
    directory = pathlib.Path(directory)

    class Webhook(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers['content-length'])))
            with (directory / f'{self.path.strip("/")}.jsonl').open('a') as kept:
                kept.write(json.dumps(body) + '\n')
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    class Inbox:
        async def handle_DATA(self, server, session, envelope):
            name = f'{len(list(directory.glob("*.eml")))}.eml'
            (directory / f'.{name}').write_bytes(envelope.original_content)
            (directory / f'.{name}').rename(directory / name)
            (directory / f'{name}.json').write_text(json.dumps({
                'from': envelope.mail_from, 'to': envelope.rcpt_tos, 'tls': server.transport.get_extra_info('ssl_object') is not None, 'user': bool(session.authenticated),
            }))
            return '250 taken'

    def password(_server, _session, _envelope, _mechanism, login):
        return AuthResult(success=(login.login, login.password) == (b'semgate', b'a:secret'))

    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate, key)
    web = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Webhook)
    threading.Thread(target=web.serve_forever, daemon=True).start()

    implicit = Controller(Inbox(), hostname='127.0.0.1', port=free_port(), ssl_context=tls)
    later = Controller(
        Inbox(), hostname='127.0.0.1', port=free_port(), tls_context=tls, require_starttls=True, authenticator=password, auth_required=True,
    )
    implicit.start()
    later.start()
    show({'http': web.server_address[1], 'smtps': implicit.port, 'starttls': later.port})
    sys.stdin.read()


def slack(file):
    for line in pathlib.Path(file).read_text().splitlines():
        message = json.loads(line)
        faults = []
        blocks = Block.parse_all(message['blocks'])
        for given, block in zip(message['blocks'], blocks, strict=True):
            try:
                block.validate_json()
                if json.loads(json.dumps(block.to_dict())) != given:
                    faults.append(f'{given} is read as {block.to_dict()}')
                for element in getattr(block, 'elements', None) or []:
                    if hasattr(element, 'validate_json'):
                        element.validate_json()
            except SlackObjectFormationError as why:
                faults.append(str(why))
        show({'faults': faults, 'kinds': [type(block).__name__ for block in blocks], 'mrkdwn': '"mrkdwn"' in line})
    # the judge must be able to say no
    wrong = Block.parse({'type': 'header', 'text': {'type': 'plain_text', 'text': 'x' * 151}})
    try:
        wrong.validate_json()
        show({'faults': []})
    except SlackObjectFormationError as why:
        show({'faults': [str(why)]})


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.links, self.text = set(), [], []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.links += [value for name, value in attributes if name in ('href', 'src')]

    def handle_data(self, data):
        self.text.append(data)


def mail(directory):
    for path in sorted(pathlib.Path(directory).glob('*.eml')):
        message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
        plain, rich = message.get_body(('plain',)), message.get_body(('html',))
        tags = Tags()
        tags.feed(rich.get_content())
        show({
            'envelope': json.loads((path.parent / f'{path.name}.json').read_text()),
            'kind': message.get_content_type(), 'defects': [str(fault) for part in message.walk() for fault in part.defects],
            'subject': message['subject'], 'to': message['to'], 'from': message['from'], 'auto': message['auto-submitted'],
            'text': plain.get_content(), 'tags': sorted(tags.tags), 'links': tags.links, 'shown': ''.join(tags.text),
            'text_links': re.findall(r'https://\S+/decide/\S+', plain.get_content()),
        })


class Form(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.fields, self.tags = {}, set()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        attributes = dict(attributes)
        if tag == 'input' and attributes['type'] == 'hidden':
            self.fields[attributes['name']] = attributes['value']


def visit(roots, url):
    tls = ssl.create_default_context(cafile=roots)

    def ask(fields=None):
        body = None if fields is None else urllib.parse.urlencode(fields).encode()
        try:
            with urllib.request.urlopen(url, body, timeout=30, context=tls) as answer:
                return answer.status, dict(answer.headers), answer.read().decode()
        except urllib.error.HTTPError as why:
            return why.code, dict(why.headers), why.read().decode()

    for line in sys.stdin:
        if line.strip() == 'scan':
            shown = [ask()[0], ask()[0], ask({})[0]]
            show({'statuses': shown})
        else:
            status, headers, page = ask()
            form = Form()
            form.feed(page)
            show({
                'status': status, 'tags': sorted(form.tags), 'policy': headers.get('content-security-policy', ''),
                'done': ask(form.fields | json.loads(line))[0], 'again': ask(form.fields)[0],
            })


if __name__ == '__main__':
    {'serve': serve, 'slack': slack, 'mail': mail, 'visit': visit}[sys.argv[1]](*sys.argv[2:])
