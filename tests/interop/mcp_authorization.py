"""An authorization server on the official MCP SDK for Python, in memory and in a thread; and a client that gets its tokens there.

Whoever asks is registered and agreed with, and a token is good for the resource that it was asked for.
"""

import secrets
import threading
import time

import uvicorn
from httpx2 import AsyncClient
from mcp.client.auth import OAuthClientProvider
from mcp.server.auth.provider import AccessToken, AuthorizationCode, ProviderTokenVerifier, construct_redirect_uri
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata, OAuthToken
from starlette.applications import Starlette

SCOPE = 'sums'


class Agreeing:
    """What the SDK asks of who keeps clients, codes and tokens."""

    def __init__(self):
        self.clients, self.codes, self.tokens = {}, {}, {}

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        code = secrets.token_urlsafe(32)
        self.codes[code] = AuthorizationCode(
            code=code, scopes=params.scopes or [], expires_at=time.time() + 60, client_id=client.client_id, code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri, redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly, resource=params.resource)
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        del self.codes[authorization_code.code]
        token = secrets.token_urlsafe(32)
        self.tokens[token] = AccessToken(token=token, client_id=client.client_id, scopes=authorization_code.scopes, resource=authorization_code.resource)
        return OAuthToken(access_token=token, token_type='Bearer', expires_in=3600, scope=' '.join(authorization_code.scopes))

    async def load_refresh_token(self, client, refresh_token):
        return None

    async def load_access_token(self, token):
        return self.tokens.get(token)


def guarded_by(public_url, port):
    """Starts one; what a server of the SDK is made with so that it takes that one's tokens for this address."""
    provider, issuer = Agreeing(), f'http://127.0.0.1:{port}'
    settings = AuthSettings(issuer_url=issuer, resource_server_url=public_url, required_scopes=[SCOPE], validate_token_resource=True)
    registration = ClientRegistrationOptions(enabled=True, valid_scopes=[SCOPE], default_scopes=[SCOPE])
    routes = create_auth_routes(provider, settings.issuer_url, client_registration_options=registration)
    served = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), host='127.0.0.1', port=port, log_level='error'))
    threading.Thread(target=served.run, daemon=True).start()
    return {'auth': settings, 'token_verifier': ProviderTokenVerifier(provider)}


class Kept:
    """What a client keeps."""

    tokens = client_info = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client_info

    async def set_client_info(self, client_info):
        self.client_info = client_info


def authorized_client(url):
    """An HTTP client that gets a token when it is asked for one; the person at it agrees to everything."""
    came = []

    async def redirect(to):
        async with AsyncClient() as browser:
            answer = await browser.get(to)
        came.append(answer.next_request.url.params)

    async def callback():
        params = came.pop()
        return AuthorizationCodeResult(code=params['code'], state=params.get('state'), iss=params.get('iss'))

    metadata = OAuthClientMetadata(redirect_uris=['http://localhost:3000/callback'], client_name='interop-client')
    return AsyncClient(auth=OAuthClientProvider(url, metadata, Kept(), redirect, callback))
