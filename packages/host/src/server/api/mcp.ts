import { type McpServerView, programText, routes } from "@holdfast/protocol";

import { mcpServer } from "../../ops/config/mcp-servers.ts";
import type { Route } from "../http/routing.ts";
import type { McpServerState } from "../../agent/mcp/mcp.ts";
import { answer, type Call, mountCall, problem, type ProblemReply } from "./endpoint.ts";
import type { ApiDeps } from "./deps.ts";

export function mcpRoutes(deps: ApiDeps): Route[] {
  const { mcp, secrets, addedServers: added, signIns } = deps;

  function view(name: string) {
    const state = mcp?.state(name) ?? null;
    return state === null ? problem("mcp_server_not_found") : answer({ server: viewServer(state) });
  }

  const isConfigured = (name: string): boolean => mcp?.state(name)?.connectedBy === "configuration";

  async function put({ params: { name }, body }: Call<"putMcpServer">) {
    if (isConfigured(name)) return problem("mcp_server_configured");
    const { confirm, ...given } = body;
    const isProgram = given.command !== undefined;
    const server = mcpServer.safeParse(given);
    if (!server.success)
      return isProgram
        ? invalid(
            "body.command",
            "expected a program, its arguments, and variables whose names are letters, digits and _",
          )
        : invalid(
            "body.url",
            "expected an http or https address without a user or a fragment, and headers that the connection does not set itself",
          );
    // What starts a program is confirmed by repeating what will run, so nobody confirms what they have not seen.
    if (isProgram && confirm !== programText(given))
      return problem("mcp_confirmation_needed", { detail: programText(given) });
    switch (await added?.put(name, server.data)) {
      case "kept":
        return view(name);
      case "too large":
        return invalid("body", "expected at most 11,000 bytes of settings");
      case "too many":
        return problem("too_many_mcp_servers");
      case undefined:
        return problem("mcp_server_not_found");
    }
  }

  async function turn({ params: { name }, body }: Call<"changeMcpServer">) {
    if (isConfigured(name)) return problem("mcp_server_configured");
    const isKnown = await added?.turn(name, body.switch);
    return isKnown === true ? view(name) : problem("mcp_server_not_found");
  }

  async function signIn({ params: { name }, body }: Call<"signInToMcpServer">) {
    const url = mcp?.signInUrl(name) ?? null;
    if (url === null || signIns === undefined) return problem("mcp_server_not_found");
    const { clientId: id, clientSecret: secret } = body;
    const begun = await signIns.begin(name, url, id === undefined ? undefined : { id, secret });
    switch (begun.status) {
      case "begun":
        return answer({ link: begun.link, expiresAt: begun.until });
      case "failed":
        return problem("mcp_sign_in_failed", { detail: begun.message });
      case "client needed":
        return problem("mcp_client_needed", {
          detail: `Its redirect address is ${begun.redirectUri}`,
        });
      case "no address":
        return problem("mcp_no_address");
    }
  }

  async function signOut({ params: { name } }: Call<"signOutOfMcpServer">) {
    if ((mcp?.signInUrl(name) ?? null) === null) return problem("mcp_server_not_found");
    await signIns?.signOut(name);
    return answer(undefined);
  }

  /** Also what a server in the configuration hides. */
  async function remove({ params: { name } }: Call<"removeMcpServer">) {
    if (await added?.remove(name)) {
      // What was granted to the server that is gone is of no use to another one of its name.
      if (!isConfigured(name)) await signIns?.signOut(name);
      return answer(undefined);
    }
    return problem(isConfigured(name) ? "mcp_server_configured" : "mcp_server_not_found");
  }

  /** The key is stored for the address the operator configured for the server, and for no other. */
  async function putKey({ params: { name }, body }: Call<"putMcpSecret">) {
    const keys = mcp?.keysOf(name) ?? null;
    if (keys === null) return problem("mcp_server_not_found");
    const chosen = chooseSecret(keys.secrets, body.secret);
    if (keys.url === null || chosen === null)
      return invalidSecret(
        "expected one of the stored keys that the server's settings name in `headers`",
      );
    const stored = secrets.read(chosen);
    if (isProvider(chosen) || (stored !== null && !isSameOrigin(stored.baseUrl, keys.url)))
      return invalidSecret(
        `${chosen} is kept for another address: name it otherwise in the settings`,
      );
    await secrets.put(chosen, { key: body.key, baseUrl: keys.url });
    mcp?.restart(name);
    return answer(undefined);
  }

  async function deleteKeys({ params: { name } }: Call<"deleteMcpSecret">) {
    const keys = mcp?.keysOf(name) ?? null;
    if (keys === null) return problem("mcp_server_not_found");
    for (const secret of keys.secrets) {
      const stored = isProvider(secret) ? null : secrets.read(secret);
      if (stored !== null && isSameOrigin(stored.baseUrl, keys.url ?? ""))
        await secrets.remove(secret);
    }
    mcp?.restart(name);
    return answer(undefined);
  }

  return [
    mountCall(deps, "listMcpServers", async () => {
      await added?.refresh();
      return answer({ servers: mcp?.states().map(viewServer) ?? [] });
    }),
    mountCall(deps, "putMcpServer", put),
    mountCall(deps, "changeMcpServer", turn),
    mountCall(deps, "removeMcpServer", remove),
    mountCall(deps, "signInToMcpServer", signIn),
    mountCall(deps, "signOutOfMcpServer", signOut),
    mountCall(deps, "restartMcpServer", async ({ params: { name } }) => {
      const state = mcp?.restart(name) ?? null;
      return state === null
        ? problem("mcp_server_not_found")
        : answer({ server: viewServer(state) });
    }),
    mountCall(deps, "putMcpSecret", putKey),
    mountCall(deps, "deleteMcpSecret", deleteKeys),
  ];
}

/** With a single key there is nothing to choose. */
function chooseSecret(named: readonly string[], requested: string | undefined): string | null {
  if (requested === undefined) return named.length === 1 ? (named[0] ?? null) : null;
  return named.includes(requested) ? requested : null;
}

/** Provider keys are stored under these names, for the providers' own addresses. */
function isProvider(name: string): boolean {
  return routes.putSecret.params.safeParse({ provider: name }).success;
}

function isSameOrigin(a: string, b: string): boolean {
  return URL.parse(a)?.origin === URL.parse(b)?.origin;
}

const invalidSecret = (message: string): ProblemReply => invalid("body.secret", message);

function invalid(path: string, message: string): ProblemReply {
  return problem("invalid_request", { errors: [{ path, message }] });
}

function viewServer({ tools, leftOut, said, ...state }: McpServerState): McpServerView {
  return {
    ...state,
    tools: tools.map((tool) => ({ ...tool })),
    leftOut: [...leftOut],
    said: [...said],
  };
}
