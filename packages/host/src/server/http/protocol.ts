import { StoreFailure } from "@holdfast/engine";
import type { OwnerId, Problem, ProblemCode, ProblemDetails } from "@holdfast/protocol";
import type { Context } from "hono";
import { SecretsLocked } from "../../ops/secrets/encrypted-rows.ts";
import type { Principal } from "../auth/principal.ts";
import { sendProblem } from "./problem.ts";
import type { HostEnv, Route } from "./routing.ts";

/** A refusal as the clients of one protocol read it. */
export interface ProtocolError {
  /** Sent as JSON, unless it is a text. */
  readonly body: unknown;
  /** By default `application/json`. */
  readonly mediaType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** By default the problem's own. */
  readonly status?: number;
}

export type EncodeProblem = (problem: Problem & { readonly code: ProblemCode }) => ProtocolError;

/**
 * The routes of a protocol other than the contract under `/api`, such as OpenAI's under `/v1`. They pass the same checks
 * of host, origin, principal and body; every refusal below the prefix has the protocol's own form.
 */
export interface Protocol {
  readonly name: string;
  readonly prefix: `/${string}`;
  readonly routes: readonly Route[];
  readonly encodeProblem: EncodeProblem;
}

/** Before any other check, so that whoever refuses a request does so in its protocol's form. */
export function chooseProblemForm(
  protocols: readonly Protocol[],
  basePath: string,
): (c: Context<HostEnv>) => void {
  return function chooseForm(c) {
    const { path } = c.req;
    const protocol = protocols.find(({ prefix }) => isBelow(path, basePath + prefix));
    if (protocol !== undefined) c.set("encodeProblem", protocol.encodeProblem);
  };
}

function isBelow(path: string, prefix: string): boolean {
  return path === prefix || path.startsWith(`${prefix}/`);
}

/** A refusal as a value; `bug` is for the host's own log. */
export interface ProtocolProblem {
  readonly code: ProblemCode;
  readonly details?: ProblemDetails;
  readonly bug?: string;
}

export interface ProtocolCall {
  readonly c: Context<HostEnv>;
  readonly owner: OwnerId;
  readonly principal: Principal;
}

export interface ProtocolRouteDeps {
  /** Aborted when the host starts to stop: no new requests are accepted. */
  readonly stopping: AbortSignal;
  readonly report: (bug: Error) => void;
}

export interface ProtocolRoute extends Pick<Route, "method" | "path" | "largestBody"> {
  readonly handle: (call: ProtocolCall) => Promise<Response | ProtocolProblem>;
}

/** Mounts a route for anyone with a principal, API keys too: whose sessions it reaches depends on the owner alone. */
export function mountProtocolRoute(
  { stopping, report }: ProtocolRouteDeps,
  { handle, ...route }: ProtocolRoute,
): Route {
  async function answer(c: Context<HostEnv>): Promise<Response | ProtocolProblem> {
    if (stopping.aborted) return { code: "shutting_down" };
    const principal = c.get("principal");
    return handle({ c, principal, owner: principal.ownerId }).catch(problemOfFailure);
  }

  return {
    ...route,
    policy: "principal",
    async handle(c) {
      const result = await answer(c);
      if (result instanceof Response) return result;
      const { code, details, bug } = result;
      if (bug !== undefined) report(new Error(`${route.method} ${route.path}: ${bug}`));
      return sendProblem(c, code, details);
    },
  };
}

/** Reads reject with a store failure only; anything else is a bug. */
function problemOfFailure(error: unknown): ProtocolProblem {
  if (error instanceof StoreFailure)
    return { code: error.code === "store_closed" ? "shutting_down" : error.code };
  if (error instanceof SecretsLocked)
    return { code: "secrets_locked", details: { detail: error.message } };
  throw error;
}
