import { type Route, problem, problemMediaType } from "@holdfast/protocol";
import { backoffMs, type Transport } from "./link.ts";
import { type RouteArguments, type BuiltRequest, buildRequest, sendRequest } from "./request.ts";
import {
  aborted,
  type ApiError,
  failedResult,
  networkError,
  problemError,
  type Result,
  unexpectedAnswer,
} from "./call-route.ts";

export interface CallOptions {
  readonly signal?: AbortSignal;
}

const maxTries = 4;
const neverAborted = new AbortController().signal;

/**
 * One call, repeated after a lost connection where that is safe. A POST keeps its key through its own
 * repetitions, so the host does it once however often it arrives.
 */
export async function callRoute(
  link: Transport,
  route: Route,
  input: RouteArguments,
  { signal = neverAborted }: CallOptions,
): Promise<Result<unknown>> {
  const built = buildRequest(link, route, input);
  if (!built.ok) return built;
  const request = withIdempotencyKey(link, route, built.value);
  for (let failures = 1; ; failures++) {
    const result = await tryOnce(link, route, request, signal);
    const mayRepeat = route.repeat !== "never" && failures < maxTries;
    if (result.ok || result.error.kind !== "network" || !mayRepeat) return result;
    await link.sleep(backoffMs(failures, link.random), signal);
    if (signal.aborted) return failedResult(aborted);
  }
}

function withIdempotencyKey(link: Transport, route: Route, request: BuiltRequest): BuiltRequest {
  if (route.repeat !== "key") return request;
  const headers = { "idempotency-key": link.newKey(), ...request.headers };
  return { ...request, headers };
}

async function tryOnce(
  link: Transport,
  route: Route,
  request: BuiltRequest,
  signal: AbortSignal,
): Promise<Result<unknown>> {
  try {
    const response = await sendRequest(link, request, signal);
    return await readResponse(route, response);
  } catch (cause) {
    return failedResult(signal.aborted ? aborted : networkError(cause));
  }
}

async function readResponse(route: Route, response: Response): Promise<Result<unknown>> {
  const { answer } = route;
  if (!response.ok) return failedResult(await readProblem(response));
  switch (answer.media) {
    case "json": {
      const parsed = answer.schema.safeParse(parseJson(await response.text()));
      if (parsed.success) return { ok: true, value: parsed.data };
      return failedResult(unexpectedAnswer(response.status, parsed.error.message));
    }
    case "text":
      return { ok: true, value: await response.text() };
    case "bytes":
      return { ok: true, value: new Uint8Array(await response.arrayBuffer()) };
    case "none":
      return { ok: true, value: undefined };
    case "events":
      return failedResult(unexpectedAnswer(response.status, "A stream is followed, not called."));
  }
}

export async function readProblem(response: Response): Promise<ApiError> {
  const text = await response.text();
  const isProblem = response.headers.get("content-type")?.startsWith(problemMediaType);
  const parsed = problem.safeParse(isProblem === true ? parseJson(text) : undefined);
  if (parsed.success) return problemError(parsed.data);
  return unexpectedAnswer(response.status, text.slice(0, 200));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
