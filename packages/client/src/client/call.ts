import { type Route, problem, problemMediaType } from "@holdfast/protocol";
import { backoffMs, type Link } from "./link.ts";
import { type AnyInput, type BuiltRequest, buildRequest, send } from "./request.ts";
import {
  aborted,
  type ApiError,
  failed,
  networkError,
  problemError,
  type Result,
  unexpectedAnswer,
} from "./call-route.ts";

export interface CallOptions {
  readonly signal?: AbortSignal;
}

const tries = 4;
const never = new AbortController().signal;

/**
 * One call, repeated after a lost connection where that is safe. A POST keeps its key through its own
 * repetitions, so the host does it once however often it arrives.
 */
export async function callRoute(
  link: Link,
  route: Route,
  input: AnyInput,
  { signal = never }: CallOptions,
): Promise<Result<unknown>> {
  const built = buildRequest(link, route, input);
  if (!built.ok) return built;
  const request = withKey(link, route, built.value);
  for (let failures = 1; ; failures++) {
    const result = await tryOnce(link, route, request, signal);
    const mayRepeat = route.repeat !== "never" && failures < tries;
    if (result.ok || result.error.kind !== "network" || !mayRepeat) return result;
    await link.sleep(backoffMs(failures, link.random), signal);
    if (signal.aborted) return failed(aborted);
  }
}

function withKey(link: Link, route: Route, request: BuiltRequest): BuiltRequest {
  if (route.repeat !== "key") return request;
  const headers = { "idempotency-key": link.newKey(), ...request.headers };
  return { ...request, headers };
}

async function tryOnce(
  link: Link,
  route: Route,
  request: BuiltRequest,
  signal: AbortSignal,
): Promise<Result<unknown>> {
  try {
    const response = await send(link, request, signal);
    return await readAnswer(route, response);
  } catch (cause) {
    return failed(signal.aborted ? aborted : networkError(cause));
  }
}

async function readAnswer(route: Route, response: Response): Promise<Result<unknown>> {
  const { answer } = route;
  if (!response.ok) return failed(await readProblem(response));
  switch (answer.media) {
    case "json": {
      const parsed = answer.schema.safeParse(parseJson(await response.text()));
      if (parsed.success) return { ok: true, value: parsed.data };
      return failed(unexpectedAnswer(response.status, parsed.error.message));
    }
    case "text":
      return { ok: true, value: await response.text() };
    case "bytes":
      return { ok: true, value: new Uint8Array(await response.arrayBuffer()) };
    case "none":
      return { ok: true, value: undefined };
    case "events":
      return failed(unexpectedAnswer(response.status, "A stream is followed, not called."));
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
