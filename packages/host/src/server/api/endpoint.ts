import type { HonoRequest, Context } from "hono";
import { z } from "zod";
import {
  fieldErrors,
  type Route as ContractRoute,
  type IdSource,
  type OwnerId,
  type ProblemCode,
  type ProblemDetails,
  type RouteName,
  type RouteOutput,
  routes,
  type Routes,
} from "@holdfast/protocol";
import { type Failed, type FailureCode, StoreFailure } from "@holdfast/engine";
import { isSignedBody } from "../../hosts/accept-forwarded.ts";
import type { ForwardRequest } from "../../hosts/forward-requests.ts";
import { isForwarded } from "../../hosts/forwarded-routes.ts";
import type { Principal } from "../auth/principal.ts";
import { sendJson } from "../http/send-json.ts";
import { SecretsLocked } from "../../ops/secrets/encrypted-rows.ts";
import { type HostEnv, type Route } from "../http/routing.ts";
import { incompleteBody, sendProblem } from "../http/problem.ts";
import type { KeyedRequest, RunIdempotent } from "./idempotency.ts";
import { readMediaType } from "./media-type.ts";
import { problemCodes, type Refusal } from "./problem-codes.ts";
import { deterministicIds } from "../../util/deterministic-ids.ts";

export interface ProblemReply {
  readonly kind: "problem";
  readonly code: ProblemCode;
  readonly details?: ProblemDetails;
  /** Details for the host's own log: this should not have happened. */
  readonly bug?: string;
}

/** What a handler returns: the route's own answer, or a problem as a value. */
export type Reply<T> = { readonly kind: "answer"; readonly value: T } | ProblemReply;

/** The route's own answer, already serialized by the store. */
export interface SerializedReply {
  readonly kind: "written";
  readonly json: Uint8Array<ArrayBuffer>;
}

export function answer<T>(value: T): Reply<T> {
  return { kind: "answer", value };
}

export function problem(code: ProblemCode, details?: ProblemDetails): ProblemReply {
  return { kind: "problem", code, ...(details && { details }) };
}

/**
 * A refusal concerns the caller's own session and is sent in full; a failure may name files and servers, and is not.
 */
export function problemFrom(result: Refusal | Failed): ProblemReply {
  const code = problemCodes[result.code];
  if (code === "internal")
    return { kind: "problem", code, bug: `${result.code}: ${result.message}` };
  return result.status === "refused" ? problem(code, { detail: result.message }) : problem(code);
}

export function problemFromFailure(code: FailureCode): ProblemReply {
  return problem(problemCodes[code]);
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
  if ("refusal" in mediaType)
    return problem("unsupported_media_type", { detail: mediaType.refusal });
  return answer({ ...mediaType, bytes: new Uint8Array(bytes) });
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
  /** Absent where no other host shares the store. */
  readonly forward?: ForwardRequest | undefined;
}

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
    return sendJson(c, JSON.stringify(reply.value), declared.status);
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
    return sendJson(c, body, 200);
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
  { ids, stopping, report, forward }: MountDeps,
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
    if (principal?.by === "api-key" && !apiKeyRoutes.has(name))
      return problem("forbidden", { detail: "An API key reaches its own sessions only." });
    if (!(await isSignedBody(c)))
      return problem("forbidden", {
        detail: "The body is not the one that the other host signed.",
      });
    const { ownerId: owner } = principal;
    const request = keyedRequest(owner, decoded.value);
    const callIds = request === undefined ? ids : idsOfKeyedRequest(request);
    const call = { owner, principal, ids: callIds, ...decoded.value } as Call<N>;
    const answerOrForward = async () =>
      (await forward?.(name, call, c)) ?? handle(call, c, request);
    return answerOrForward().catch(storeFailureReply);
  }

  return {
    method: route.method,
    path: route.path,
    policy: route.access,
    ...(route.largestBody !== undefined && { largestBody: route.largestBody }),
    ...(route.linked !== undefined && { linked: route.linked }),
    forwarded: isForwarded(name),
    async handle(c) {
      const result = await reply(c);
      if (result instanceof Response) return result;
      if (result.bug !== undefined) report(new Error(`${name}: ${result.bug}`));
      return sendProblem(c, result.code, result.details);
    },
  };
}

/** What a program with an API key may do, with the sessions that were made with it: no settings, secrets or sign-ins. */
const apiKeyRoutes: ReadonlySet<RouteName> = new Set<RouteName>([
  "createSession",
  "listSessions",
  "readSession",
  "changeSession",
  "trashSession",
  "restoreSession",
  "stopWaiting",
  "sendMessage",
  "changeInput",
  "removeInput",
  "exportSession",
  "undo",
  "redo",
  "retry",
  "listAlternatives",
  "switchAlternative",
  "truncate",
  "clear",
  "branch",
  "duplicate",
  "compact",
  "restoreEpoch",
  "readContext",
  "readWorkspace",
  "followSession",
  "watchSessions",
  "readRun",
  "cancelRun",
  "resumeRun",
  "listApprovals",
  "answerApproval",
  "listProcesses",
  "readProcessOutput",
  "stopProcess",
  "importSessions",
  "putBlob",
  "getBlob",
  "search",
  "listModels",
  "estimateAttachments",
  "readUsage",
  "readPrincipal",
  "apiDocs",
  "openapi",
]);

/** Ids are stored, so this text never changes: a request repeated after an upgrade has to give the same ones. */
function idsOfKeyedRequest({ owner, key, requestText }: KeyedRequest): IdSource {
  return deterministicIds(JSON.stringify({ owner, key, asked: requestText }));
}

const withKey = z.object({ "idempotency-key": z.string().optional() }).optional();

function idempotencyKey({ headers }: DecodedRequest): string | undefined {
  return withKey.parse(headers)?.["idempotency-key"];
}

/** Reads reject with a store failure only; anything else is a bug. */
function storeFailureReply(error: unknown): ProblemReply {
  if (error instanceof StoreFailure) return problemFromFailure(error.code);
  if (error instanceof SecretsLocked) return problem("secrets_locked", { detail: error.message });
  throw error;
}

/** Decodes a stored answer with the route's own schema. */
function decodeStoredReply(
  schema: z.ZodType | undefined,
): (stored: unknown) => Reply<unknown> | undefined {
  return (stored) => {
    if (schema === undefined) return answer(undefined);
    const parsed = schema.safeParse(stored);
    return parsed.success ? answer(parsed.data) : undefined;
  };
}
