import type { Store } from "@holdfast/engine";
import { type OwnerId, processId, type RouteName, sessionId } from "@holdfast/protocol";
import type { Context } from "hono";
import type { Workspaces } from "../agent/workspace/workspaces.ts";
import { worktreeWorkspace } from "../agent/worktrees/worktree-record.ts";
import type { ProcessManager } from "../automation/processes/process-manager.ts";
import type { Keyring } from "../ops/secrets/secrets-key.ts";
import { problem, type ProblemReply } from "../server/api/endpoint.ts";
import type { Principal } from "../server/auth/principal.ts";
import type { HostEnv } from "../server/http/routing.ts";
import { answeredByHeader, digestBody, forwardedHeader, signClaims } from "./forwarded-claims.ts";
import {
  type ForwardKind,
  forwardedPath,
  forwardedRoutes,
  isForwarded,
} from "./forwarded-routes.ts";
import type { Hosts, KnownHost } from "./hosts.ts";
import { describeSite, type WorkspaceHosts } from "./workspace-hosts.ts";

export interface ForwardDeps {
  readonly store: Pick<Store, "reads" | "now">;
  readonly hosts: Hosts;
  readonly workspaceHosts: WorkspaceHosts;
  readonly workspaces: Pick<Workspaces, "rowOf">;
  readonly processes: Pick<ProcessManager, "store">;
  readonly keyring: Keyring;
  readonly basePath: string;
}

interface Request {
  readonly owner: OwnerId;
  readonly principal: Principal;
  readonly params: unknown;
  readonly body: unknown;
}

/** Answers a request whose files are on another host. `null`: this host answers it. */
export type ForwardRequest = (
  name: RouteName,
  request: Request,
  c: Context<HostEnv>,
) => Promise<Response | ProblemReply | null>;

const headersTimeoutMs = 60_000;
/** For an answer with everything in it. */
const answerTimeoutMs = 15 * 60_000;

const sentHeaders = ["accept", "content-type", "idempotency-key", "if-match"];
const returnedHeaders = [
  "cache-control",
  "content-disposition",
  "content-length",
  "content-security-policy",
  "content-type",
  "etag",
  "retry-after",
  "x-frame-options",
];

export function createForwarder(deps: ForwardDeps): ForwardRequest {
  const { store, hosts, workspaceHosts } = deps;

  /** The host to ask, why none can be, or null if this one has what is asked for. */
  async function destination(
    kind: ForwardKind,
    { owner, params, body }: Request,
  ): Promise<KnownHost | string | null> {
    if (kind === "process") return hostOfProcess(owner, idIn(params));
    // Without files, every host can change the conversation.
    if (kind === "restore" && choiceIn(body) !== "restore") return null;
    const row = await rowOf(kind, owner, idIn(params));
    if (row === null) return null;
    const site = await workspaceHosts.siteOf(row);
    switch (site.at) {
      case "here":
        return null;
      case "nowhere":
        return kind === "reachable" || kind === "worktree" ? null : workspaceHosts.otherRunner();
      case "elsewhere":
        return site.host;
      case "lost":
        return kind === "reachable" ? null : describeSite(site);
    }
  }

  async function rowOf(kind: ForwardKind, owner: OwnerId, id: unknown): Promise<string | null> {
    if (kind === "worktree") return typeof id === "string" ? worktreeWorkspace(id) : null;
    const session = sessionId.safeParse(id).data;
    return session === undefined ? null : deps.workspaces.rowOf({ owner, session });
  }

  /** Its output is in the home that started it. */
  async function hostOfProcess(owner: OwnerId, id: unknown): Promise<KnownHost | null> {
    const process = processId.safeParse(id).data;
    const found =
      process === undefined ? null : await deps.processes.store.find(owner, null, process);
    if (found === null || found.process.place === (await hosts.id())) return null;
    const host = await hosts.find(found.process.place);
    return host?.isUp === true ? host : null;
  }

  async function send(host: KnownHost, c: Context<HostEnv>, principal: Principal) {
    const unreachable = problem("workspace_elsewhere", {
      detail: describeSite({ at: "elsewhere", host }),
    });
    if (host.address === null || !deps.keyring.hasKey()) return unreachable;
    const { method } = c.req;
    const path = forwardedPath(c.req.url, deps.basePath);
    const body = new Uint8Array(await c.req.arrayBuffer());
    const claims = {
      from: await hosts.id(),
      to: host.id,
      at: await store.now(),
      method,
      path,
      body: digestBody(body),
    };
    const headers = pick(c.req.raw.headers, sentHeaders);
    headers.set(forwardedHeader, signClaims(deps.keyring, claims, principal));
    // `fetch` would unpack the answer, and its length would be that of the packed one.
    headers.set("accept-encoding", "identity");
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), headersTimeoutMs);
    const ends = [late.signal, c.req.raw.signal, AbortSignal.timeout(answerTimeoutMs)];
    let response: Response;
    try {
      response = await fetch(`${host.address}${path}`, {
        method,
        headers,
        redirect: "error",
        signal: AbortSignal.any(ends),
        ...(body.byteLength > 0 && { body }),
      });
    } catch {
      return unreachable;
    } finally {
      clearTimeout(timer);
    }
    if (response.headers.get(answeredByHeader) !== host.id) {
      await response.body?.cancel();
      return unreachable;
    }
    const { status } = response;
    const returned = pick(response.headers, returnedHeaders);
    if (response.headers.has("content-encoding")) returned.delete("content-length");
    return new Response(response.body, { status, headers: returned });
  }

  return async (name, request, c) => {
    if (!isForwarded(name)) return null;
    const to = await destination(forwardedRoutes[name], request);
    if (to === null) return null;
    if (typeof to === "string") return problem("workspace_elsewhere", { detail: to });
    // The files moved on while the request was under way: nothing is passed on twice.
    if (c.get("forwardedFrom") !== undefined)
      return problem("workspace_elsewhere", {
        detail: describeSite({ at: "elsewhere", host: to }),
      });
    return send(to, c, request.principal);
  };
}

function pick(headers: Headers, names: readonly string[]): Headers {
  const picked = new Headers();
  for (const name of names) {
    const value = headers.get(name);
    if (value !== null) picked.set(name, value);
  }
  return picked;
}

function idIn(params: unknown): unknown {
  return typeof params === "object" && params !== null && "id" in params ? params.id : undefined;
}

function choiceIn(body: unknown): unknown {
  return typeof body === "object" && body !== null && "files" in body ? body.files : undefined;
}
