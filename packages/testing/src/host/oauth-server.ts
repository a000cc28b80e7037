import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type McpHttpRig, openMcpHttpServer } from "./mcp-http-server.ts";

/** How an authorisation server misbehaves. */
export type OAuthManners =
  | "sound"
  /** Its metadata names another issuer. */
  | "lies about its issuer"
  /** Its sign-in is an address that a browser hands to another program. */
  | "leads to a program"
  /** The browser comes back with another server's name. */
  | "answers as another"
  | "redirects the metadata"
  | "redirects the token"
  | "never answers"
  | "registers nobody"
  /** A client may be named by the address of a document about it. */
  | "reads client documents"
  /** No client may refresh its tokens: none is known any more. */
  | "forgets clients"
  /** Its metadata has megabytes. */
  | "answers endlessly"
  /** Calls need the scope `write`, which nobody is asked for before. */
  | "wants more for calls";

export interface OAuthRig {
  readonly origin: string;
  /** `host:port`, for the list of what an operator allows. */
  readonly host: string;
  /** The MCP server that takes its tokens. */
  readonly mcp: McpHttpRig;
  /** Bodies of the token requests, in order. */
  readonly tokenRequests: URLSearchParams[];
  /** The names of what was registered. */
  readonly registered: string[];
  /** What a person does who opens the link and allows it: where their browser is sent. */
  readonly allow: (link: string) => URL;
  /** All access tokens are refused from now on. */
  readonly expireTokens: () => void;
  /** Every refresh waits for the promise. */
  readonly holdRefreshes: (until: Promise<void>) => void;
  readonly close: () => Promise<void>;
}

interface Grant {
  readonly challenge: string;
  readonly redirectUri: string;
  readonly clientId: string;
  readonly resource: string | null;
  readonly scope: string;
}

/** `rotation: "never"`: the answer to a refresh has no new refresh token. A refresh token that is spent twice ends all. */
export async function openOAuthServer({
  manners = "sound",
  rotation = "always",
}: {
  readonly manners?: OAuthManners;
  readonly rotation?: "always" | "never";
} = {}): Promise<OAuthRig> {
  const codes = new Map<string, Grant>();
  /** With what each of them allows. */
  const accessTokens = new Map<string, string>();
  const refreshTokens = new Set<string>();
  const tokenRequests: URLSearchParams[] = [];
  const registered: string[] = [];
  let held: Promise<void> = Promise.resolve();
  const newToken = (): string => randomBytes(24).toString("base64url");

  const mcp: McpHttpRig = await openMcpHttpServer((message, response) => {
    const sent = mcp.heard.at(-1)?.authorization?.replace(/^Bearer /, "") ?? "";
    const scope = accessTokens.get(sent);
    const needsMore = manners === "wants more for calls" && message.method === "tools/call";
    if (scope !== undefined && needsMore && !scope.split(" ").includes("write")) {
      const more = `Bearer error="insufficient_scope", scope="write", resource_metadata="${origin}/resource"`;
      response.writeHead(403, { "www-authenticate": more }).end();
      return true;
    }
    if (scope !== undefined) return false;
    const challenge = `Bearer resource_metadata="${origin}/resource", scope="tools"`;
    response.writeHead(401, { "www-authenticate": challenge }).end();
    return true;
  });

  function json(response: ServerResponse, status: number, body: object): void {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  }

  function metadata(): object {
    return {
      issuer: manners === "lies about its issuer" ? "https://other.example" : origin,
      authorization_endpoint:
        manners === "leads to a program" ? "vscode://authorize" : `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      ...(manners !== "registers nobody" && { registration_endpoint: `${origin}/register` }),
      ...(manners === "reads client documents" && { client_id_metadata_document_supported: true }),
      response_types_supported: ["code"],
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none"],
      authorization_response_iss_parameter_supported: true,
    };
  }

  function issueTokens(scope = ""): object {
    const access = newToken();
    accessTokens.set(access, scope);
    const refresh = newToken();
    if (rotation === "always" || refreshTokens.size === 0) refreshTokens.add(refresh);
    const isNew = refreshTokens.has(refresh);
    return {
      access_token: access,
      token_type: "Bearer",
      expires_in: 3_600,
      ...(isNew && { refresh_token: refresh }),
    };
  }

  function exchange(response: ServerResponse, asked: URLSearchParams): void {
    const grant = codes.get(asked.get("code") ?? "");
    codes.delete(asked.get("code") ?? "");
    const verifier = asked.get("code_verifier") ?? "";
    const isProven =
      grant !== undefined &&
      createHash("sha256").update(verifier).digest("base64url") === grant.challenge &&
      asked.get("redirect_uri") === grant.redirectUri &&
      asked.get("client_id") === grant.clientId &&
      asked.get("resource") === grant.resource;
    if (!isProven) return json(response, 400, { error: "invalid_grant" });
    json(response, 200, issueTokens(grant.scope));
  }

  async function answerRefresh(response: ServerResponse, asked: URLSearchParams): Promise<void> {
    await held;
    const token = asked.get("refresh_token") ?? "";
    if (!refreshTokens.has(token)) {
      refreshTokens.clear();
      accessTokens.clear();
      return json(response, 400, { error: "invalid_grant" });
    }
    if (rotation === "always") refreshTokens.delete(token);
    json(response, 200, issueTokens());
  }

  async function answer(request: IncomingMessage, response: ServerResponse, body: string) {
    const { pathname } = new URL(request.url ?? "/", origin);
    if (pathname === "/resource")
      return json(response, 200, { resource: mcp.url, authorization_servers: [origin] });
    if (manners === "never answers") return;
    if (pathname === "/.well-known/oauth-authorization-server") {
      const rest = manners === "answers endlessly" ? { more: "x".repeat(2_000_000) } : {};
      if (manners !== "redirects the metadata")
        return json(response, 200, { ...metadata(), ...rest });
      return void response.writeHead(302, { location: "http://127.0.0.2:9/elsewhere" }).end();
    }
    if (pathname === "/register") {
      const { client_name, redirect_uris } = JSON.parse(body) as {
        client_name: string;
        redirect_uris: string[];
      };
      registered.push(client_name);
      const client_id = `client-${registered.length}`;
      return json(response, 201, { client_id, client_name, redirect_uris });
    }
    if (pathname === "/token") {
      const asked = new URLSearchParams(body);
      tokenRequests.push(asked);
      if (manners === "redirects the token")
        return void response.writeHead(307, { location: "http://127.0.0.2:9/elsewhere" }).end();
      if (manners === "forgets clients" && asked.get("grant_type") === "refresh_token")
        return json(response, 401, { error: "invalid_client" });
      return asked.get("grant_type") === "refresh_token"
        ? answerRefresh(response, asked)
        : exchange(response, asked);
    }
    json(response, 404, {});
  }

  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (bytes: Buffer) => (body += bytes.toString()));
    request.on("end", () => void answer(request, response, body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const host = `127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  const origin = `http://${host}`;
  return {
    origin,
    host,
    mcp,
    tokenRequests,
    registered,
    allow(link) {
      const { searchParams: asked } = new URL(link);
      const code = newToken();
      codes.set(code, {
        challenge: asked.get("code_challenge") ?? "",
        redirectUri: asked.get("redirect_uri") ?? "",
        clientId: asked.get("client_id") ?? "",
        resource: asked.get("resource"),
        scope: asked.get("scope") ?? "",
      });
      const back = new URL(asked.get("redirect_uri") ?? "");
      back.searchParams.set("code", code);
      back.searchParams.set("state", asked.get("state") ?? "");
      back.searchParams.set(
        "iss",
        manners === "answers as another" ? "https://other.example" : origin,
      );
      return back;
    },
    expireTokens: () => accessTokens.clear(),
    holdRefreshes: (until) => void (held = until),
    async close() {
      server.closeAllConnections();
      await Promise.all([new Promise((resolve) => server.close(resolve)), mcp.close()]);
    },
  };
}
