import { StoreFailure } from "@holdfast/engine";
import {
  type IdSource,
  type OwnerId,
  type Route as ContractRoute,
  type RouteName,
  type RouteOutput,
  routes,
  type Routes,
} from "@holdfast/protocol";
import type { Context } from "hono";
import { z } from "zod";

import type { Principal } from "../auth/doorkeeper.ts";
import { sendBody } from "../http/answer.ts";
import { type HostEnv, type Route } from "../http/route.ts";
import { sendProblem } from "../http/problem.ts";
import { type RunIdempotent, decodeStoredReply, type KeyedRequest } from "./idempotency.ts";
import { decodeHead, type DecodedRequest, decodeRequest, type BinaryBody } from "./decode.ts";
import { deterministicIds } from "../../util/deterministic-ids.ts";
import {
  problem,
  problemFromFailure,
  type ProblemReply,
  type Reply,
  type SerializedReply,
} from "./reply.ts";

type Decoded<R, K extends string> =
  R extends Readonly<Record<K, z.ZodType<infer T>>> ? T : undefined;

type BodyOf<R> = R extends { readonly body: "bytes" } ? BinaryBody : Decoded<R, "body">;

/** A request as its handler sees it: who asks, and what, as the route's schemas have let it through. */
export interface Call<N extends RouteName> {
  readonly owner: OwnerId;
  readonly principal: Principal;
  /** For what the call makes. Under an idempotency key they follow from the request. */
  readonly ids: IdSource;
  readonly params: Decoded<Routes[N], "params">;
  readonly query: Decoded<Routes[N], "query">;
  readonly headers: Decoded<Routes[N], "headers">;
  readonly body: BodyOf<Routes[N]>;
}

type MediaOf<N extends RouteName> = Routes[N]["answer"]["media"];
type NamesOf<Media extends string> = {
  [N in RouteName]: MediaOf<N> extends Media ? N : never;
}[RouteName];

export type CallName = NamesOf<"json" | "none">;
export type StreamName = NamesOf<"events" | "bytes" | "text">;

export type AnswerOf<N extends CallName> = RouteOutput<Routes[N]>;

export type Handler<N extends CallName> = (call: Call<N>) => Promise<Reply<AnswerOf<N>>>;

/** One that only reads may hand on what the store has written. */
export type ReadHandler<N extends CallName> = (
  call: Call<N>,
) => Promise<Reply<AnswerOf<N>> | SerializedReply>;

/** A stream, like bytes, takes the response into its own hands. */
export type StreamHandler<N extends StreamName> = (
  call: Call<N>,
  c: Context<HostEnv>,
) => Promise<Response | ProblemReply>;

export interface MountDeps {
  readonly ids: IdSource;
  readonly runIdempotent: RunIdempotent;
  /** Aborted when the host stops: then nothing new is begun. */
  readonly stopping: AbortSignal;
  readonly report: (bug: Error) => void;
}

const jsonHeaders = { "content-type": "application/json", "cache-control": "no-store" };

/** One route of the contract, with what it says about itself: where it stands, who may call it, what it takes. */
export function mountCall<N extends CallName>(
  parts: MountDeps,
  name: N,
  handle: Handler<N>,
): Route {
  const route: ContractRoute = routes[name];
  const { answer: declared } = route;
  const decode = decodeStoredReply(declared.media === "json" ? declared.schema : undefined);

  return mount(parts, name, async (call: Call<N>, c, request) => {
    const reply: Reply<unknown> =
      request === undefined
        ? await handle(call)
        : await parts.runIdempotent({ request, act: () => handle(call), decode });
    if (reply.kind === "problem") return reply;
    if (declared.media === "none") return c.body(null, declared.status);
    return sendBody(c, JSON.stringify(reply.value), declared.status, jsonHeaders);
  });
}

export function mountRead<N extends CallName>(
  parts: MountDeps,
  name: N,
  handle: ReadHandler<N>,
): Route {
  return mount(parts, name, async (call: Call<N>, c) => {
    const reply = await handle(call);
    if (reply.kind === "problem") return reply;
    const body = reply.kind === "written" ? reply.json : JSON.stringify(reply.value);
    return sendBody(c, body, 200, jsonHeaders);
  });
}

export function mountStream<N extends StreamName>(
  parts: MountDeps,
  name: N,
  handle: StreamHandler<N>,
): Route {
  return mount(parts, name, handle);
}

function mount<N extends RouteName>(
  { ids, stopping, report }: MountDeps,
  name: N,
  handle: (
    call: Call<N>,
    c: Context<HostEnv>,
    request: KeyedRequest | undefined,
  ) => Promise<Response | ProblemReply>,
): Route {
  const route: ContractRoute = routes[name];

  function keyed(owner: OwnerId, request: DecodedRequest): KeyedRequest | undefined {
    const key = route.repeat === "key" ? idempotencyKey(request) : undefined;
    return key === undefined ? undefined : { owner, key, asked: JSON.stringify([name, request]) };
  }

  async function reply(c: Context<HostEnv>): Promise<Response | ProblemReply> {
    if (stopping.aborted) return problem("shutting_down");
    const decoded =
      route.body === undefined ? decodeHead(c.req, route) : await decodeRequest(c.req, route);
    if (decoded.kind === "problem") return decoded;
    // The schemas that let it through are those that the types of the call are inferred from.
    const principal = c.get("principal");
    const { ownerId: owner } = principal;
    const request = keyed(owner, decoded.value);
    const own = request === undefined ? ids : deterministicIds(JSON.stringify(request));
    const call = { owner, principal, ids: own, ...decoded.value } as Call<N>;
    return handle(call, c, request).catch(storeFailureReply);
  }

  return {
    method: route.method,
    path: route.path,
    policy: route.access,
    ...(route.largestBody !== undefined && { largestBody: route.largestBody }),
    async handle(c) {
      const replied = await reply(c);
      if (replied instanceof Response) return replied;
      if (replied.bug !== undefined) report(new Error(`${name}: ${replied.bug}`));
      return sendProblem(c, replied.code, replied.details);
    },
  };
}

const withKey = z.object({ "idempotency-key": z.string().optional() }).optional();

function idempotencyKey({ headers }: DecodedRequest): string | undefined {
  return withKey.parse(headers)?.["idempotency-key"];
}

/** Reads reject with this and nothing else; anything else is a bug. */
function storeFailureReply(error: unknown): ProblemReply {
  if (error instanceof StoreFailure) return problemFromFailure(error.code);
  throw error;
}
