import type { ApiError } from "@holdfast/client";
import { isProblemCode, type Problem } from "@holdfast/protocol";
import type { ProtocolError, ProtocolProblem } from "../http/protocol.ts";

/** `useChat` shows the body of a refusal as it is, so it is a sentence. */
export function encodeProblem({ title, detail, next, errors = [], code }: Problem): ProtocolError {
  const fields = errors.map(
    ({ path, message }) => `${path === "" ? "The body" : path}: ${message}.`,
  );
  // The fields are named here: what to do next would only point at them.
  const sentence = [detail ?? title, ...fields, fields.length === 0 ? next : undefined]
    .filter((text) => text !== undefined)
    .join(" ");
  return { body: `${sentence} (${code})`, mediaType: "text/plain; charset=utf-8" };
}

export function invalid(path: string, message: string): { readonly problem: ProtocolProblem } {
  return { problem: { code: "invalid_request", details: { errors: [{ path, message }] } } };
}

export function problemOf(error: ApiError): { readonly problem: ProtocolProblem } {
  if (error.kind !== "problem" || !isProblemCode(error.code))
    return { problem: { code: "internal", bug: error.code } };
  const { detail, errors } = error.problem;
  return {
    problem: {
      code: error.code,
      details: { ...(detail !== undefined && { detail }), ...(errors && { errors }) },
    },
  };
}
