//! The agent card of `lf.a2a.v1`, as `schema` has the other messages.

use super::shape::{Kind, Shape, either, many, map, one, plain, present, text, texts};

static AGENT_INTERFACE: Shape = Shape {
    name: "AgentInterface",
    fields: &[text(1, "url"), text(2, "protocolBinding"), text(3, "tenant"), text(4, "protocolVersion")],
};

pub(super) static AGENT_CARD: Shape = Shape {
    name: "AgentCard",
    fields: &[
        text(1, "name"),
        text(2, "description"),
        many(3, "supportedInterfaces", &AGENT_INTERFACE),
        one(4, "provider", &AGENT_PROVIDER),
        text(5, "version"),
        present(6, "documentationUrl", Kind::Text),
        one(7, "capabilities", &AGENT_CAPABILITIES),
        map(8, "securitySchemes", &Kind::Message(&SECURITY_SCHEME)),
        many(9, "securityRequirements", &SECURITY_REQUIREMENT),
        texts(10, "defaultInputModes"),
        texts(11, "defaultOutputModes"),
        many(12, "skills", &AGENT_SKILL),
        many(13, "signatures", &AGENT_CARD_SIGNATURE),
        present(14, "iconUrl", Kind::Text),
    ],
};

static AGENT_PROVIDER: Shape =
    Shape { name: "AgentProvider", fields: &[text(1, "url"), text(2, "organization")] };

static AGENT_CAPABILITIES: Shape = Shape {
    name: "AgentCapabilities",
    fields: &[
        present(1, "streaming", Kind::Bool),
        present(2, "pushNotifications", Kind::Bool),
        many(3, "extensions", &AGENT_EXTENSION),
        present(4, "extendedAgentCard", Kind::Bool),
    ],
};

static AGENT_EXTENSION: Shape = Shape {
    name: "AgentExtension",
    fields: &[
        text(1, "uri"),
        text(2, "description"),
        plain(3, "required", Kind::Bool),
        present(4, "params", Kind::Struct),
    ],
};

static AGENT_SKILL: Shape = Shape {
    name: "AgentSkill",
    fields: &[
        text(1, "id"),
        text(2, "name"),
        text(3, "description"),
        texts(4, "tags"),
        texts(5, "examples"),
        texts(6, "inputModes"),
        texts(7, "outputModes"),
        many(8, "securityRequirements", &SECURITY_REQUIREMENT),
    ],
};

static AGENT_CARD_SIGNATURE: Shape = Shape {
    name: "AgentCardSignature",
    fields: &[text(1, "protected"), text(2, "signature"), present(3, "header", Kind::Struct)],
};

static STRING_LIST: Shape = Shape { name: "StringList", fields: &[texts(1, "list")] };

static SECURITY_REQUIREMENT: Shape =
    Shape { name: "SecurityRequirement", fields: &[map(1, "schemes", &Kind::Message(&STRING_LIST))] };

static SECURITY_SCHEME: Shape = Shape {
    name: "SecurityScheme",
    fields: &[
        either(1, "apiKeySecurityScheme", Kind::Message(&API_KEY_SECURITY_SCHEME)),
        either(2, "httpAuthSecurityScheme", Kind::Message(&HTTP_AUTH_SECURITY_SCHEME)),
        either(3, "oauth2SecurityScheme", Kind::Message(&OAUTH2_SECURITY_SCHEME)),
        either(4, "openIdConnectSecurityScheme", Kind::Message(&OPEN_ID_CONNECT_SECURITY_SCHEME)),
        either(5, "mtlsSecurityScheme", Kind::Message(&MUTUAL_TLS_SECURITY_SCHEME)),
    ],
};

static API_KEY_SECURITY_SCHEME: Shape = Shape {
    name: "APIKeySecurityScheme",
    fields: &[text(1, "description"), text(2, "location"), text(3, "name")],
};

static HTTP_AUTH_SECURITY_SCHEME: Shape = Shape {
    name: "HTTPAuthSecurityScheme",
    fields: &[text(1, "description"), text(2, "scheme"), text(3, "bearerFormat")],
};

static OAUTH2_SECURITY_SCHEME: Shape = Shape {
    name: "OAuth2SecurityScheme",
    fields: &[text(1, "description"), one(2, "flows", &OAUTH_FLOWS), text(3, "oauth2MetadataUrl")],
};

static OPEN_ID_CONNECT_SECURITY_SCHEME: Shape = Shape {
    name: "OpenIdConnectSecurityScheme",
    fields: &[text(1, "description"), text(2, "openIdConnectUrl")],
};

static MUTUAL_TLS_SECURITY_SCHEME: Shape =
    Shape { name: "MutualTlsSecurityScheme", fields: &[text(1, "description")] };

static OAUTH_FLOWS: Shape = Shape {
    name: "OAuthFlows",
    fields: &[
        either(1, "authorizationCode", Kind::Message(&AUTHORIZATION_CODE_OAUTH_FLOW)),
        either(2, "clientCredentials", Kind::Message(&CLIENT_CREDENTIALS_OAUTH_FLOW)),
        either(3, "implicit", Kind::Message(&IMPLICIT_OAUTH_FLOW)),
        either(4, "password", Kind::Message(&PASSWORD_OAUTH_FLOW)),
        either(5, "deviceCode", Kind::Message(&DEVICE_CODE_OAUTH_FLOW)),
    ],
};

static AUTHORIZATION_CODE_OAUTH_FLOW: Shape = Shape {
    name: "AuthorizationCodeOAuthFlow",
    fields: &[
        text(1, "authorizationUrl"),
        text(2, "tokenUrl"),
        text(3, "refreshUrl"),
        map(4, "scopes", &Kind::Text),
        plain(5, "pkceRequired", Kind::Bool),
    ],
};

static CLIENT_CREDENTIALS_OAUTH_FLOW: Shape = Shape {
    name: "ClientCredentialsOAuthFlow",
    fields: &[text(1, "tokenUrl"), text(2, "refreshUrl"), map(3, "scopes", &Kind::Text)],
};

static IMPLICIT_OAUTH_FLOW: Shape = Shape {
    name: "ImplicitOAuthFlow",
    fields: &[text(1, "authorizationUrl"), text(2, "refreshUrl"), map(3, "scopes", &Kind::Text)],
};

static PASSWORD_OAUTH_FLOW: Shape = Shape {
    name: "PasswordOAuthFlow",
    fields: &[text(1, "tokenUrl"), text(2, "refreshUrl"), map(3, "scopes", &Kind::Text)],
};

static DEVICE_CODE_OAUTH_FLOW: Shape = Shape {
    name: "DeviceCodeOAuthFlow",
    fields: &[
        text(1, "deviceAuthorizationUrl"),
        text(2, "tokenUrl"),
        text(3, "refreshUrl"),
        map(4, "scopes", &Kind::Text),
    ],
};
