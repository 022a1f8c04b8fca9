"""A plugin for pytest: every message that the conformance kit sends names a context, as an agent would that knows the extension.

The kit stays as it is; what it gives to httpx, requests or gRPC gets the metadata and the header. The context is that of the
environment variable `TCK_CONTEXT`.
"""

import json
import os

import httpx

EXTENSION = 'urn:contexts:snl:v1.0'
CLAIM = {'context': os.environ.get('TCK_CONTEXT', 'urn:contexts:a2a:v1.0')}


def bind(message):
    """Adds the claim to a message that has the form of one."""
    if isinstance(message, dict) and isinstance(message.get('metadata') or {}, dict):
        message['metadata'] = {**(message.get('metadata') or {}), EXTENSION: CLAIM}
        message['extensions'] = [*(message.get('extensions') or []), EXTENSION]
        return True
    return False


def bound(body):
    """The body with its message bound, or `None` where it carries none."""
    try:
        value = json.loads(body)
        holder = value.get('params', value)
        return json.dumps(value).encode() if bind(holder.get('message')) else None
    except (ValueError, AttributeError, TypeError):
        return None


def header(headers):
    """The extension is activated, beside those that the test activates. The older name is used where no version is named: 0.3."""
    name = 'A2A-Extensions' if 'A2A-Version' in headers else 'X-A2A-Extensions'
    headers[name] = ', '.join(filter(None, [headers.get(name), EXTENSION]))


def through_httpx(build):
    def wrapped(self, *words, **more):
        request = build(self, *words, **more)
        body = bound(request.read())
        if body is None:
            return request
        header(request.headers)
        request.headers['content-length'] = str(len(body))
        return httpx.Request(request.method, request.url, headers=request.headers, content=body, extensions=request.extensions)

    return wrapped


def through_requests(send):
    def wrapped(self, request, **more):
        body = bound(request.body or b'')
        if body is not None:
            header(request.headers)
            request.body = body
            request.headers['Content-Length'] = str(len(body))
        return send(self, request, **more)

    return wrapped


def through_grpc(to_proto):
    def wrapped(params, kind):
        if 'message' in params:
            params = {**params, 'message': dict(params['message'])}
            bind(params['message'])
        return to_proto(params, kind)

    return wrapped


for client in (httpx.Client, httpx.AsyncClient):
    client.build_request = through_httpx(client.build_request)
try:
    import requests

    requests.Session.send = through_requests(requests.Session.send)
except ImportError:
    pass
try:
    from tck.transport import grpc_client

    grpc_client._dict_to_proto = through_grpc(grpc_client._dict_to_proto)
    grpc_client.GrpcClient._METADATA = [*grpc_client.GrpcClient._METADATA, ('a2a-extensions', EXTENSION)]
except (ImportError, AttributeError):
    pass
