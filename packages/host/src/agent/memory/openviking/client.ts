import type { Clock } from "@holdfast/engine";
import { withTimeout } from "@holdfast/protocol";
import { z } from "zod";

/** An OpenViking server's address and key. */
export interface OpenVikingServer {
  readonly url: string;
  readonly key: string | undefined;
}

export interface Refusal {
  readonly status: "failed";
  readonly code: string;
  readonly message: string;
  readonly retryAfterMs?: number;
}

export type OpenVikingResult<T> = { readonly status: "ok"; readonly value: T } | Refusal;

export interface OpenVikingCall<T> {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: unknown;
  /** The peer whose memory it concerns. */
  readonly peer: string;
  readonly answer: z.ZodType<T>;
  readonly signal: AbortSignal;
}

export type OpenVikingClient = <T>(call: OpenVikingCall<T>) => Promise<OpenVikingResult<T>>;

const longestMessage = 500;
const longestAnswer = 4 * 1024 * 1024;
const longestPauseMs = 24 * 60 * 60_000;

const refusalBody = z.looseObject({
  error: z.looseObject({ code: z.string(), message: z.string().optional() }),
});

/**
 * One request to the server's HTTP API. The operator configures the address and redirects are not followed, so the key
 * goes nowhere else. Failures are values.
 */
export function createOpenVikingClient(
  { url, key }: OpenVikingServer,
  clock: Clock,
  patienceMs: number,
): OpenVikingClient {
  const base = url.replace(/\/+$/u, "");
  return async ({ method, path, body, peer, answer, signal }) => {
    try {
      const result = await withTimeout({ clock, ms: patienceMs, signal }, async (stop) => {
        const response = await fetch(`${base}${path}`, {
          method,
          headers: {
            accept: "application/json",
            "x-openviking-actor-peer": peer,
            ...(key !== undefined && { "x-api-key": key }),
            ...(body !== undefined && { "content-type": "application/json" }),
          },
          ...(body !== undefined && { body: JSON.stringify(body) }),
          redirect: "error",
          signal: stop,
        });
        const text = await readBounded(response);
        return text === null ? malformed : decodeAnswer(response, text, answer);
      });
      if (result.status === "done") return result.value;
      if (result.status === "late") return fail("late", "The server did not answer in time.");
      return fail("stopped", "It was called off.");
    } catch (error) {
      if (signal.aborted) return fail("stopped", "It was called off.");
      return fail("unreachable", reasonOf(error));
    }
  };
}

function decodeAnswer<T>(
  response: Response,
  text: string,
  answer: z.ZodType<T>,
): OpenVikingResult<T> {
  const json = parse(text);
  if (!response.ok) {
    const refusal = refusalBody.safeParse(json).data?.error;
    const retryAfterMs = parseRetryAfter(response.headers.get("retry-after"));
    return {
      ...fail(refusal?.code.toLowerCase() ?? `http_${response.status}`, refusal?.message ?? ""),
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    };
  }
  const decoded = z.looseObject({ status: z.literal("ok"), result: answer }).safeParse(json);
  return decoded.success ? { status: "ok", value: decoded.data.result } : malformed;
}

function fail(code: string, message: string): Refusal {
  const plain = code.replace(/[^a-z0-9_]/gu, "_").slice(0, 60);
  return {
    status: "failed",
    code: `openviking_${plain}`,
    message: message.slice(0, longestMessage),
  };
}

const malformed = fail("malformed", "The server answered something that is not its API.");

export const isMissing = ({ code }: Refusal): boolean => code === "openviking_not_found";
export const isAlreadyThere = ({ code }: Refusal): boolean => code === "openviking_already_exists";

/** `null` if it exceeds any response of this API. */
async function readBounded(response: Response): Promise<string | null> {
  const decoder = new TextDecoder();
  let [text, bytes] = ["", 0];
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > longestAnswer) return null;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** In seconds, or a date. */
function parseRetryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/u.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), longestPauseMs);
}

/** `fetch` hides the cause behind a generic error. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
