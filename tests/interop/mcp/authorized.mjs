// The client's part in the suite's scenarios of OAuth 2.0: the SDK's own authorization throughout, and a person who agrees to everything.
import {
    Client, ClientCredentialsProvider, CrossAppAccessProvider, DpopSession, PrivateKeyJwtProvider, StreamableHTTPClientTransport, UnauthorizedError,
    requestJwtAuthorizationGrant
} from '@modelcontextprotocol/client';

const REDIRECT = 'http://localhost:3000/callback';

/** What an application keeps for the SDK, in memory; instead of showing a page it goes where the page would lead. */
class Agreeing {
    redirectUrl = REDIRECT;
    clientMetadata = { client_name: 'interop-client', redirect_uris: [REDIRECT] };
    clientMetadataUrl = 'https://conformance-test.local/client-metadata.json';
    #kept = {};

    clientInformation = () => this.#kept.client;
    saveClientInformation = client => (this.#kept.client = client);
    tokens = () => this.#kept.tokens;
    saveTokens = tokens => (this.#kept.tokens = tokens);
    codeVerifier = () => this.#kept.verifier;
    saveCodeVerifier = verifier => (this.#kept.verifier = verifier);

    invalidateCredentials(scope) {
        if (scope === 'all') this.#kept = {};
        else delete this.#kept[scope];
    }

    async redirectToAuthorization(url) {
        const answer = await fetch(url, { redirect: 'manual' });
        this.agreed = new URL(answer.headers.get('location')).searchParams;
    }
}

class Proving extends Agreeing {
    #session = DpopSession.create();
    dpop = () => this.#session;
}

/** A workload with a token of its own, which it exchanges for one of the server's (RFC 7523). */
class Workload extends Agreeing {
    constructor({ client_id, valid_jwt }) {
        super();
        this.redirectUrl = undefined;
        this.clientMetadataUrl = undefined;
        this.clientMetadata = { ...this.clientMetadata, redirect_uris: [], token_endpoint_auth_method: 'none' };
        if (client_id) this.saveClientInformation({ client_id });
        this.assertion = valid_jwt;
    }

    prepareTokenRequest(scope) {
        const request = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: this.assertion });
        if (scope) request.set('scope', scope);
        return request;
    }
}

function providerFor(scenario, context) {
    const { client_id: clientId, client_secret: clientSecret } = context;
    switch (scenario) {
        case 'auth/client-credentials-jwt':
            return new PrivateKeyJwtProvider({ clientId, privateKey: context.private_key_pem, algorithm: context.signing_algorithm ?? 'ES256' });
        case 'auth/client-credentials-basic':
            return new ClientCredentialsProvider({ clientId, clientSecret });
        case 'auth/enterprise-managed-authorization':
            return new CrossAppAccessProvider({ clientId, clientSecret, assertion: async asked => {
                const grant = await requestJwtAuthorizationGrant({
                    tokenEndpoint: context.idp_token_endpoint, audience: asked.authorizationServerUrl, resource: asked.resourceUrl,
                    idToken: context.idp_id_token, clientId: context.idp_client_id, fetchFn: asked.fetchFn
                });
                return grant.jwtAuthGrant;
            } });
        case 'auth/wif-jwt-bearer':
            return new Workload(context);
        case 'auth/dpop':
        case 'auth/dpop-nonce':
            return new Proving();
        default: {
            const provider = new Agreeing();
            if (scenario === 'auth/pre-registration') provider.saveClientInformation({ client_id: clientId, client_secret: clientSecret, redirect_uris: [REDIRECT] });
            return provider;
        }
    }
}

/** Does this; where a person has to agree first, that happens, and it is done again, at most twice. */
async function agreeing(provider, transport, act) {
    for (let left = 2; ; left--) {
        try {
            return await act();
        } catch (error) {
            const agreed = provider.agreed;
            if (!(error instanceof UnauthorizedError) || !agreed || left === 0) throw error;
            delete provider.agreed;
            await transport().finishAuth(agreed);
        }
    }
}

/** Connects, lists the tools and calls one, and is authorized whenever it is asked to be. */
export async function authorized(url, scenario, context, info, options) {
    const provider = providerFor(scenario, context);
    let client, transport;
    await agreeing(provider, () => transport, async () => {
        client = new Client(info, options);
        transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
        await client.connect(transport);
    });
    await agreeing(provider, () => transport, () => client.listTools());
    await agreeing(provider, () => transport, () => client.callTool({ name: 'test-tool', arguments: {} }));
    await client.close();
}
