import type { Problem } from "@holdfast/protocol";

/** Why a call was not done. The host's own problems reach the caller unchanged. */
export type ApiError =
  | { readonly kind: "problem"; readonly code: string; readonly problem: Problem }
  /** No answer came: whether the host has done it is not known. */
  | { readonly kind: "network"; readonly code: "network_failed"; readonly message: string }
  /** Something answered, but not as the contract says. */
  | {
      readonly kind: "unexpected";
      readonly code: "unexpected_answer";
      readonly status: number;
      readonly message: string;
    }
  | { readonly kind: "aborted"; readonly code: "aborted" };

export type Result<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: ApiError };

export function failedResult(error: ApiError): { readonly ok: false; readonly error: ApiError } {
  return { ok: false, error };
}

export function problemError(problem: Problem): ApiError {
  return { kind: "problem", code: problem.code, problem };
}

export function networkError(cause: unknown): ApiError {
  const message = cause instanceof Error ? cause.message : String(cause);
  return { kind: "network", code: "network_failed", message };
}

export function unexpectedAnswer(status: number, message: string): ApiError {
  return { kind: "unexpected", code: "unexpected_answer", status, message };
}

export const aborted: ApiError = { kind: "aborted", code: "aborted" };
