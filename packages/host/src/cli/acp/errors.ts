import { RequestError } from "@agentclientprotocol/sdk";
import { type ApiError, describeError } from "@holdfast/client";
import { acpStrings } from "../strings/acp.ts";

const notFoundCodes: ReadonlySet<string> = new Set(["session_not_found", "session_trashed"]);
const notFound = -32_002;
const authenticationRequired = -32_000;
const invalidParams = -32_602;
const internalError = -32_603;

/** What the editor is told when the host refuses: the protocol's code, and the host's own sentence. */
export function requestErrorFrom(error: ApiError): RequestError {
  return new RequestError(codeOf(error), describeError(error), { code: error.code });
}

function codeOf(error: ApiError): number {
  if (notFoundCodes.has(error.code)) return notFound;
  const status = error.kind === "problem" ? error.problem.status : 500;
  if (status === 401 || status === 403) return authenticationRequired;
  return status < 500 ? invalidParams : internalError;
}

export function unknownSession(sessionId: string): RequestError {
  return new RequestError(notFound, acpStrings.unknownSession, { sessionId });
}

export function invalidRequest(sentence: string, data?: unknown): RequestError {
  return new RequestError(invalidParams, sentence, data);
}

export function failedRequest(sentence: string, data?: unknown): RequestError {
  return new RequestError(internalError, sentence, data);
}
