import {
  type ContextFrame,
  type EventData,
  type OwnerId,
  type ToolSpec,
  toolSpec,
} from "@holdfast/protocol";

import type { Failed } from "../ports/commit.ts";
import type { Store } from "../ports/store.ts";
import type { FrameBytes } from "./build-context.ts";

/** The renderer of `messages.ts`. A change of what it writes is a new number beside the old one, not in its place. */
const rendering = 2;

/** How a context would begin if it began today. */
export interface FrameSource {
  /** Of what both are made from, but for what is frozen at a session's beginning (its notes). */
  readonly signature: string;
  readonly tools: readonly ToolSpec[];
  system(): Promise<string>;
}

export type Framed =
  | {
      readonly status: "framed";
      readonly frame: ContextFrame;
      readonly bytes: FrameBytes;
      /** To be committed before the frame is used: the session has had another one until now, or none. */
      readonly event?: EventData<"context.framed">;
    }
  | Failed;

/**
 * P9: a session keeps the system prompt and the tools that it began with, byte by byte, as long as what they are made from
 * is the same. They are stored by their content: a thousand sessions that begin alike store them once.
 */
export async function frameContext(
  store: Pick<Store, "reads" | "putBlob">,
  owner: OwnerId,
  known: ContextFrame | null,
  source: FrameSource,
): Promise<Framed> {
  const isCurrent = known?.signature === source.signature && known.rendering === rendering;
  const kept = known !== null && isCurrent ? await readFrame(store, owner, known) : null;
  if (known !== null && kept !== null) return { status: "framed", frame: known, bytes: kept };
  const bytes = { system: await source.system(), tools: source.tools };
  const system = await store.putBlob(owner, encode(bytes.system), "text/plain");
  if (system.status === "failed") return system;
  const tools = await store.putBlob(owner, encode(JSON.stringify(bytes.tools)), "application/json");
  if (tools.status === "failed") return tools;
  const { signature } = source;
  const frame = { system: system.id, tools: tools.id, signature, rendering };
  return { status: "framed", frame, bytes, event: { frame, cause: causeOf(known, signature) } };
}

const longestCause = 100;

/** P9: a change says what has changed, where the two signatures name their parts alike. */
function causeOf(known: ContextFrame | null, signature: string): string {
  if (known === null) return "first";
  if (known.rendering !== rendering) return "rendering";
  if (known.signature === signature) return "lost";
  const before = new Set(known.signature.split(" "));
  const names = signature.split(" ").map((part) => (before.has(part) ? "" : partName(part)));
  const changed = names.filter((name) => name !== "");
  const isNamed = changed.length > 0 && !changed.includes(unnamedPart);
  return isNamed ? changed.join(" ").slice(0, longestCause) : "configuration";
}

const unnamedPart = "?";

function partName(part: string): string {
  return /^(?<name>[a-z]+)=/u.exec(part)?.groups?.["name"] ?? unnamedPart;
}

/** How a context begins, as it was stored. `null`: the bytes are gone, or are not what they were. */
export async function readFrame(
  { reads }: Pick<Store, "reads">,
  owner: OwnerId,
  { system, tools }: ContextFrame,
): Promise<FrameBytes | null> {
  const [text, specs] = await Promise.all([reads.blob(owner, system), reads.blob(owner, tools)]);
  if (text === null || specs === null) return null;
  const stored = toolsIn(decode(specs.bytes));
  return stored && { system: decode(text.bytes), tools: stored };
}

function toolsIn(text: string): readonly ToolSpec[] | null {
  try {
    const decoded = toolSpec.array().safeParse(JSON.parse(text));
    return decoded.success ? decoded.data : null;
  } catch {
    return null;
  }
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
