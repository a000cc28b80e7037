import type { HonoRequest, Context } from "hono";
import { z } from "zod";
import {
  answer,
  problem,
  type Reply,
  type ProblemReply,
  problemFromFailure,
  type SerializedReply,
} from "./reply.ts";
import {
  fieldErrors,
  type Route as ContractRoute,
  type IdSource,
  type OwnerId,
  type RouteName,
  type RouteOutput,
  routes,
  type Routes,
} from "@holdfast/protocol";
import { incompleteBody } from "../http/body-limit.ts";
import { StoreFailure } from "@holdfast/engine";
import type { Principal } from "../auth/authenticator.ts";
import { sendBody } from "../http/responses.ts";
import { type HostEnv, type Route } from "../http/routing.ts";
import { sendProblem } from "../http/problem.ts";
import { type RunIdempotent, decodeStoredReply, type KeyedRequest } from "./idempotency.ts";
import { deterministicIds } from "../../util/deterministic-ids.ts";

const tokenPattern = "[\\w!#$%&'*+.^`|~-]+";
const parameterPattern = `\\s*;\\s*${tokenPattern}=(?:${tokenPattern}|"[\\x20-\\x21\\x23-\\x5b\\x5d-\\x7e]*")`;
const wellFormed = new RegExp(`^${tokenPattern}/${tokenPattern}(?:${parameterPattern})*$`);
const maxMediaTypeLength = 200;

/** A form body is wrapped or escaped: stored as is, it would not be what the person meant. */
const formEncoded = /^(?:multipart\/.*|application\/x-www-form-urlencoded)$/;

/** The media type to store for a body; a missing one means unknown bytes. */
export function readMediaType(header: string | undefined): Reply<string> {
  if (header === undefined || header === "") return answer("application/octet-stream");
  if (header.length > maxMediaTypeLength || !wellFormed.test(header))
    return problem("unsupported_media_type", { detail: "This is not a media type." });
  if (formEncoded.test(mediaTypeEssence(header)))
    return problem("unsupported_media_type", {
      detail: "Send the bytes by themselves, under their own media type, and not as a form.",
    });
  return answer(header);
}

export function mediaTypeEssence(mediaType: string): string {
  return mediaType.replace(/;.*/, "").trim().toLowerCase();
}

export interface DecodedRequest {
  readonly params: unknown;
  readonly query: unknown;
  readonly headers: unknown;
  readonly body: unknown;
}

/** A body stored as it arrived. */
export interface BinaryBody {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly mediaType: string;
}

/** Decodes the parts of a request that its route has a schema for; nothing else gets through. */
async function decodeRequest(
  request: HonoRequest,
  route: ContractRoute,
): Promise<Reply<DecodedRequest>> {
  const head = decodeHead(request, route);
  if (head.kind === "problem" || route.body === undefined) return head;
  const body = await decodeBody(request, route.body);
  return body.kind === "problem" ? body : answer({ ...head.value, body: body.value });
}

/** Decodes everything but the body, which may not have arrived yet. */
function decodeHead(request: HonoRequest, route: ContractRoute): Reply<DecodedRequest> {
  const params = decodeField(route.params, () => request.param());
  if (params.kind === "problem") return params;
  const query = decodeField(route.query, () => readQuery(request));
  if (query.kind === "problem") return query;
  const headers = decodeField(route.headers, () => request.header());
  if (headers.kind === "problem") return headers;
  return answer({
    params: params.value,
    query: query.value,
    headers: headers.value,
    body: undefined,
  });
}

/** A name given twice becomes a list, which no schema of the contract accepts. */
function readQuery(request: HonoRequest): Record<string, string | string[] | undefined> {
  const given = Object.entries(request.queries());
  return Object.fromEntries(
    given.map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  );
}

function decodeField(schema: z.ZodType | undefined, read: () => unknown): Reply<unknown> {
  if (schema === undefined) return noValue;
  return decodeValue(schema, read());
}

const noValue = answer(undefined);

function decodeValue(schema: z.ZodType, value: unknown): Reply<unknown> {
  const parsed = schema.safeParse(value);
  return parsed.success ? answer(parsed.data) : invalidRequest(parsed.error);
}

async function decodeBody(
  request: HonoRequest,
  schema: Exclude<ContractRoute["body"], undefined>,
): Promise<Reply<unknown>> {
  const type = request.header("content-type");
  const bytes = await request.arrayBuffer().catch(() => undefined);
  if (bytes === undefined) return problem("invalid_request", incompleteBody);
  return schema === "bytes" ? decodeBytes(type, bytes) : decodeJson(schema, type, bytes);
}

function decodeBytes(type: string | undefined, bytes: ArrayBuffer): Reply<BinaryBody> {
  const mediaType = readMediaType(type);
  if (mediaType.kind === "problem") return mediaType;
  return answer({ mediaType: mediaType.value, bytes: new Uint8Array(bytes) });
}

function decodeJson(
  schema: z.ZodType,
  type: string | undefined,
  bytes: ArrayBuffer,
): Reply<unknown> {
  // If every field is optional, so is the body.
  if (type === undefined && bytes.byteLength === 0) return decodeValue(schema, {});
  if (!/^application\/json\s*(;|$)/i.test(type ?? "")) return problem("unsupported_media_type");
  const json = parseJson(bytes);
  return json === undefined ? problem("malformed_json") : decodeValue(schema, json.value);
}

function parseJson(bytes: ArrayBuffer): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) };
  } catch {
    return undefined;
  }
}

function invalidRequest(error: z.core.$ZodError): ProblemReply {
  return problem("invalid_request", { errors: fieldErrors(error) });
}

type Decoded<R, K extends string> =
  R extends Readonly<Record<K, z.ZodType<infer T>>> ? T : undefined;

type BodyOf<R> = R extends { readonly body: "bytes" } ? BinaryBody : Decoded<R, "body">;

/** A request as its handler sees it, decoded by the route's schemas. */
export interface Call<N extends RouteName> {
  readonly owner: OwnerId;
  readonly principal: Principal;
  /** For records the call creates. Under an idempotency key, ids are derived from the request. */
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

/** A read handler may return JSON that the store has already serialized. */
export type ReadHandler<N extends CallName> = (
  call: Call<N>,
) => Promise<Reply<AnswerOf<N>> | SerializedReply>;

/** A stream handler writes the response itself. */
export type StreamHandler<N extends StreamName> = (
  call: Call<N>,
  c: Context<HostEnv>,
) => Promise<Response | ProblemReply>;

export interface MountDeps {
  readonly ids: IdSource;
  readonly runIdempotent: RunIdempotent;
  /** Aborted when the host starts to stop: no new requests are accepted. */
  readonly stopping: AbortSignal;
  readonly report: (bug: Error) => void;
}

const jsonHeaders = { "content-type": "application/json", "cache-control": "no-store" };

/** Mounts one route of the contract with its path, access and schemas. */
export function mountCall<N extends CallName>(deps: MountDeps, name: N, handle: Handler<N>): Route {
  const route: ContractRoute = routes[name];
  const { answer: declared } = route;
  const decode = decodeStoredReply(declared.media === "json" ? declared.schema : undefined);

  return mount(deps, name, async (call: Call<N>, c, request) => {
    const reply: Reply<unknown> =
      request === undefined
        ? await handle(call)
        : await deps.runIdempotent({ request, act: () => handle(call), decode });
    if (reply.kind === "problem") return reply;
    if (declared.media === "none") return c.body(null, declared.status);
    return sendBody(c, JSON.stringify(reply.value), declared.status, jsonHeaders);
  });
}

export function mountRead<N extends CallName>(
  deps: MountDeps,
  name: N,
  handle: ReadHandler<N>,
): Route {
  return mount(deps, name, async (call: Call<N>, c) => {
    const reply = await handle(call);
    if (reply.kind === "problem") return reply;
    const body = reply.kind === "written" ? reply.json : JSON.stringify(reply.value);
    return sendBody(c, body, 200, jsonHeaders);
  });
}

export function mountStream<N extends StreamName>(
  deps: MountDeps,
  name: N,
  handle: StreamHandler<N>,
): Route {
  return mount(deps, name, handle);
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

  function keyedRequest(owner: OwnerId, request: DecodedRequest): KeyedRequest | undefined {
    const key = route.repeat === "key" ? idempotencyKey(request) : undefined;
    return key === undefined
      ? undefined
      : { owner, key, requestText: JSON.stringify([name, request]) };
  }

  async function reply(c: Context<HostEnv>): Promise<Response | ProblemReply> {
    if (stopping.aborted) return problem("shutting_down");
    const decoded =
      route.body === undefined ? decodeHead(c.req, route) : await decodeRequest(c.req, route);
    if (decoded.kind === "problem") return decoded;
    // The call's types are inferred from the same schemas that decoded it.
    const principal = c.get("principal");
    const { ownerId: owner } = principal;
    const request = keyedRequest(owner, decoded.value);
    const callIds = request === undefined ? ids : deterministicIds(JSON.stringify(request));
    const call = { owner, principal, ids: callIds, ...decoded.value } as Call<N>;
    return handle(call, c, request).catch(storeFailureReply);
  }

  return {
    method: route.method,
    path: route.path,
    policy: route.access,
    ...(route.largestBody !== undefined && { largestBody: route.largestBody }),
    async handle(c) {
      const result = await reply(c);
      if (result instanceof Response) return result;
      if (result.bug !== undefined) report(new Error(`${name}: ${result.bug}`));
      return sendProblem(c, result.code, result.details);
    },
  };
}

const withKey = z.object({ "idempotency-key": z.string().optional() }).optional();

function idempotencyKey({ headers }: DecodedRequest): string | undefined {
  return withKey.parse(headers)?.["idempotency-key"];
}

/** Reads reject with a store failure only; anything else is a bug. */
function storeFailureReply(error: unknown): ProblemReply {
  if (error instanceof StoreFailure) return problemFromFailure(error.code);
  throw error;
}
