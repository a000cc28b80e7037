import {
  makeProblem,
  type ProblemCode,
  type ProblemDetails,
  problemKinds,
  problemMediaType,
} from "@holdfast/protocol";
import type { Context } from "hono";

export function refuse(c: Context, code: ProblemCode, details?: ProblemDetails): Response {
  const { status } = problemKinds[code];
  const headers: Record<string, string> = {
    "content-type": problemMediaType,
    "cache-control": "no-store",
  };
  if (status === 401) headers["www-authenticate"] = "Bearer";
  return c.body(JSON.stringify(makeProblem(code, details)), status, headers);
}
