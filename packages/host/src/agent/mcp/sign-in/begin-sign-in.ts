import type {
  FetchLike,
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
} from "@modelcontextprotocol/client";
import type { Sdk } from "../connect.ts";
import { SignInFailure } from "./oauth-fetch.ts";
import type { PendingSignIn, SignIn, StoredClient, StoredMetadata } from "./sign-in-rows.ts";

export interface BeginSignInDeps {
  readonly sdk: Sdk;
  readonly serverUrl: string;
  readonly current: SignIn;
  readonly redirectUri: string;
  /** Where this host serves its client metadata, if servers can read it: a public https address. */
  readonly clientMetadataUrl: string | undefined;
  /** A client that a person registered at the authorisation server. */
  readonly given: { readonly id: string; readonly secret?: string | undefined } | undefined;
  readonly fetchFn: FetchLike;
  readonly newState: () => string;
}

export interface BegunSignIn {
  readonly link: string;
  readonly pending: Omit<PendingSignIn, "until">;
}

/** What authorisation servers are told about this host. */
export function clientMetadata(redirectUri: string): OAuthClientMetadata {
  return {
    client_name: "Holdfast",
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
}

/** Finds the authorisation server, makes this host known to it, and makes the link that a person opens. */
export async function beginSignIn(deps: BeginSignInDeps): Promise<BegunSignIn> {
  const { sdk, serverUrl, fetchFn, current } = deps;
  const { scope: needed, metadataUrl } = current.needed ?? (await askForChallenge(deps));
  // A wider sign-in keeps what the narrower one allowed.
  const scope = sdk.computeScopeUnion(current.tokens?.scope, needed);
  const provider = createProvider(deps);
  const result = await sdk.auth(provider, {
    serverUrl,
    fetchFn,
    forceReauthorization: true,
    ...(scope !== undefined && { scope }),
    ...(metadataUrl !== undefined && { resourceMetadataUrl: new URL(metadataUrl) }),
  });
  if (result !== "REDIRECT")
    throw new SignInFailure(
      "The server does not ask for a sign-in. Its tools can be used without one.",
    );
  const begun = provider.begun();
  return { ...begun, pending: { ...begun.pending, ...scopeAskedBy(begun.link) } };
}

function scopeAskedBy(link: string): Pick<PendingSignIn, "scope"> {
  const scope = new URL(link).searchParams.get("scope");
  return scope === null ? {} : { scope };
}

/** A server that this process has not tried yet says where to sign in when it is asked for anything. */
async function askForChallenge({
  sdk,
  serverUrl,
  fetchFn,
}: BeginSignInDeps): Promise<NonNullable<SignIn["needed"]>> {
  const response = await fetchFn(serverUrl, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
  });
  return readChallenge(sdk, response);
}

/** What a refusal says about the sign-in that it wants. */
export function readChallenge(sdk: Sdk, response: Response): NonNullable<SignIn["needed"]> {
  const { scope, resourceMetadataUrl } = sdk.extractWWWAuthenticateParams(response);
  return {
    ...(scope !== undefined && { scope }),
    ...(resourceMetadataUrl !== undefined && { metadataUrl: resourceMetadataUrl.href }),
  };
}

function createProvider(
  deps: BeginSignInDeps,
): OAuthClientProvider & { readonly begun: () => BegunSignIn } {
  const { current, redirectUri, given } = deps;
  const state = deps.newState();
  let verifier: string | undefined;
  let link: URL | undefined;
  let discovered: OAuthDiscoveryState | undefined;
  let resource: string | undefined;
  let client: StoredClient | undefined;

  /** Only what was registered at this very server, and for the address that it will send the browser to. */
  function knownClient(issuer: string): StoredClient | undefined {
    if (given !== undefined)
      return {
        issuer,
        redirectUri,
        from: "given",
        client_id: given.id,
        ...(given.secret !== undefined && { client_secret: given.secret }),
      };
    return current.clients.find(
      (each) => each.issuer === issuer && each.redirectUri === redirectUri,
    );
  }

  return {
    redirectUrl: redirectUri,
    clientMetadata: clientMetadata(redirectUri),
    ...(deps.clientMetadataUrl !== undefined && { clientMetadataUrl: deps.clientMetadataUrl }),
    state: () => state,
    clientInformation(about) {
      client = about === undefined ? undefined : knownClient(about.issuer);
      if (client === undefined) return undefined;
      const { issuer, client_id, client_secret } = client;
      return { issuer, client_id, ...(client_secret !== undefined && { client_secret }) };
    },
    saveClientInformation(information: StoredOAuthClientInformation, about) {
      const { client_id, client_secret } = information;
      client = {
        issuer: about?.issuer ?? information.issuer ?? "",
        redirectUri,
        from: client?.from ?? "registered",
        client_id,
        ...(client_secret !== undefined && { client_secret }),
        ...("token_endpoint_auth_method" in information &&
          information.token_endpoint_auth_method !== undefined && {
            token_endpoint_auth_method: information.token_endpoint_auth_method,
          }),
      };
    },
    // A new sign-in is wanted, whatever there is.
    tokens: () => undefined,
    saveTokens: () => undefined,
    saveCodeVerifier: (text) => void (verifier = text),
    codeVerifier: () => verifier ?? "",
    saveDiscoveryState: (found) => void (discovered = found),
    saveResourceUrl: (url) => void (resource = url),
    redirectToAuthorization: (url) => void (link = url),
    begun() {
      const metadata = readMetadata(discovered);
      if (link === undefined || verifier === undefined || client === undefined)
        throw new Error("The library ended a sign-in without a link.");
      if (client.issuer !== metadata.issuer)
        throw new SignInFailure("The authorisation server contradicts itself about its name.");
      checkLink(link, deps.serverUrl);
      return {
        link: link.href,
        pending: { state, verifier, metadata, client, ...(resource !== undefined && { resource }) },
      };
    },
  };
}

/** Without its metadata nobody knows whether an answer comes from this server. */
function readMetadata(discovered: OAuthDiscoveryState | undefined): StoredMetadata {
  const found = discovered?.authorizationServerMetadata;
  if (found === undefined)
    throw new SignInFailure(
      "It asks for a sign-in, but publishes nothing about where. Give it a header with a key instead.",
    );
  return {
    issuer: found.issuer,
    authorization_endpoint: found.authorization_endpoint,
    token_endpoint: found.token_endpoint,
    response_types_supported: found.response_types_supported,
    ...(found.token_endpoint_auth_methods_supported !== undefined && {
      token_endpoint_auth_methods_supported: found.token_endpoint_auth_methods_supported,
    }),
    ...("authorization_response_iss_parameter_supported" in found &&
      typeof found.authorization_response_iss_parameter_supported === "boolean" && {
        authorization_response_iss_parameter_supported:
          found.authorization_response_iss_parameter_supported,
      }),
  };
}

/** People open the link in their browser: nothing but a web page, and not without encryption unless the server is so. */
function checkLink({ protocol }: URL, serverUrl: string): void {
  const isPlainServer = new URL(serverUrl).protocol === "http:";
  if (protocol === "https:" || (protocol === "http:" && isPlainServer)) return;
  throw new SignInFailure(
    `The sign-in leads to a ${protocol} address, which Holdfast does not open. Ask whoever runs the server.`,
  );
}
