import type { ToolResult } from "@holdfast/engine";

import { ConnectionRefusal } from "./http-transport.ts";
import { streamLost } from "./http.ts";
import type { Sdk } from "./connect.ts";

const maxMessageLength = 2_000;

/** Why a call has no result, and whether it can have been done. */
export interface CallFailure {
  readonly outcome: Extract<ToolResult["outcome"], "failed" | "unknown">;
  readonly message: string;
  /** The connection is not what it was. */
  readonly isLost: boolean;
}

const notSentCodes: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);

/**
 * P7: the protocol delivers nothing twice and answers nothing late. A call that was sent and not answered may have been
 * done: nobody can say, and it is not sent again.
 */
export function classifyCallFailure(
  { ProtocolError, SdkError, SdkErrorCode, SdkHttpError }: Sdk,
  error: unknown,
): CallFailure {
  const words = (error instanceof Error ? error.message : String(error)).slice(0, maxMessageLength);
  if (error instanceof ProtocolError) {
    if (error.code === streamLost) return { outcome: "unknown", message: words, isLost: true };
    return { outcome: "failed", message: words, isLost: false };
  }
  if (error instanceof ConnectionRefusal)
    return { outcome: "failed", message: words, isLost: true };
  if (error instanceof SdkHttpError) {
    const { status } = error;
    const isRefused = status >= 400 && status < 500 && status !== 408;
    return { outcome: isRefused ? "failed" : "unknown", message: words, isLost: true };
  }
  if (error instanceof SdkError) {
    switch (error.code) {
      case SdkErrorCode.NotConnected:
        return { outcome: "failed", message: words, isLost: true };
      case SdkErrorCode.UnsupportedResultType:
        return { outcome: "failed", message: inputNotSupported, isLost: false };
      case SdkErrorCode.InvalidResult:
        return { outcome: "unknown", message: "The answer is no result.", isLost: false };
      default:
        return {
          outcome: "unknown",
          message: words,
          isLost: error.code !== SdkErrorCode.RequestTimeout,
        };
    }
  }
  const isUnsent = notSentCodes.has(causeOf(error)) || words === "Not connected";
  return { outcome: isUnsent ? "failed" : "unknown", message: words, isLost: true };
}

const inputNotSupported = "The server asks for something in return, which it is not given here.";

function causeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  return typeof code === "string" ? code : "";
}
