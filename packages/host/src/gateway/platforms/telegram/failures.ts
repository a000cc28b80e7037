import type { PlatformFailure } from "../../adapter.ts";

/** The connection was never established, so nothing was sent. */
const connectErrorCodes: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

const outageRetryMs = 2_000;

/** A response that is not from the Bot API itself, such as a proxy's error page. */
export class HttpStatusError extends Error {
  readonly status: number;
  constructor(status: number) {
    super(`Telegram answered ${status}.`);
    this.status = status;
  }
}

interface ApiFailure {
  readonly error_code: number;
  readonly description: string;
  readonly parameters?: { readonly retry_after?: number | undefined };
}

function isApiFailure(error: unknown): error is Error & ApiFailure {
  return error instanceof Error && "error_code" in error && "description" in error;
}

export function errorCodeOf(error: unknown): number | null {
  return isApiFailure(error) ? error.error_code : null;
}

/** Classifies a failed call. Only a call that may have had an effect is `unknown`. */
export function failureOf(error: unknown): PlatformFailure {
  if (isApiFailure(error))
    return failureOfStatus(error.error_code, error.description, error.parameters?.retry_after);
  const cause = rootCause(error);
  if (cause instanceof HttpStatusError)
    return failureOfStatus(cause.status, cause.message, undefined);
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  // Error messages may contain the URL, which contains the token.
  if (connectErrorCodes.has(code))
    return {
      status: "later",
      afterMs: outageRetryMs,
      isAway: true,
      code: "unreachable",
      message: `Telegram cannot be reached (${code}).`,
    };
  return {
    status: "unknown",
    code: "connection_lost",
    message: "The connection to Telegram broke.",
  };
}

function failureOfStatus(
  code: number,
  message: string,
  retryAfter: number | undefined,
): PlatformFailure {
  const later = { status: "later", isAway: false, message } as const;
  if (code === 429) return { ...later, afterMs: (retryAfter ?? 1) * 1_000, code: "rate_limited" };
  // The proxy may have passed the request on and given up waiting.
  if (code === 504) return { status: "unknown", code: "gateway_timeout", message };
  if (code >= 500) return { ...later, isAway: true, afterMs: outageRetryMs, code: "platform_down" };
  if (code === 401 || code === 404) return { ...later, afterMs: 60_000, code: "token_refused" };
  return { status: "refused", code: `telegram_${code}`, message };
}

/** The error inside the libraries' wrappers. */
function rootCause(error: unknown): unknown {
  let current = error;
  for (let depth = 0; depth < 8; depth += 1) {
    if (!(current instanceof Error)) return current;
    const inner: unknown = "error" in current ? current.error : current.cause;
    if (!(inner instanceof Error)) return current;
    current = inner;
  }
  return current;
}
