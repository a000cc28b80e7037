import type { Queries } from "./read/index.ts";

/** Results with bytes in them cannot travel as JSON, which is otherwise half the work of a structured clone. */
const binary: ReadonlySet<keyof Queries> = new Set(["blob"]);

export function packed(name: keyof Queries, result: unknown): unknown {
  return binary.has(name) ? result : JSON.stringify(result);
}

export function unpacked(reply: unknown): unknown {
  return typeof reply === "string" ? JSON.parse(reply) : reply;
}
