import { decodeEvent, type Part, type StoredEvent } from "@holdfast/protocol";

import type { ModelMessage, Tool, ToolResult } from "@holdfast/engine";
import { nextTurn } from "../fakes/manual-clock.ts";
import type { RunRig } from "./run-rig.ts";

/** The conversation in short: role and text, tools with their outcome. How the context begins is no part of it. */
export function transcriptLines(entries: readonly StoredEvent[]): string[] {
  const shown = entries.filter(({ type }) => type !== "context.framed");
  return shown.map((entry) => {
    const decoded = decodeEvent(entry);
    if (decoded.kind !== "known") return entry.type;
    const { event } = decoded;
    switch (event.type) {
      case "notice.added":
        return `notice: ${event.data.kind}`;
      case "message.user":
      case "message.assistant":
      case "message.tool":
        return `${event.type.replace("message.", "")}: ${event.data.parts.map(partLine).join("|")}`;
      default:
        return event.type;
    }
  });
}

function partLine(part: Part): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "tool_call":
      return `calls ${part.name}`;
    case "tool_result":
      return `${part.outcome} ${part.output}`;
    default:
      return part.type;
  }
}

/** A message of a request in short: who says it, and its words. */
export function modelMessageLine(message: ModelMessage): string {
  return `${message.role}: ${modelMessageText(message)}`;
}

export function modelMessageText(message: ModelMessage): string {
  if (message.role === "tool") return message.output;
  if (message.role !== "assistant") return message.text;
  return message.parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
}

/** A promise that the test keeps. */
export function createGate(): { readonly promise: Promise<void>; readonly open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { promise, open: resolve };
}

/** Looks again and again, and the more seldom the longer it takes. Said aloud before the test's own time is over. */
export async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = performance.now() + 40_000;
  for (let looks = 0; !(await condition()); looks += 1) {
    if (performance.now() > deadline) throw new Error("It did not come to that.");
    await (looks < 100 ? nextTurn() : new Promise((resolve) => setTimeout(resolve, 5)));
  }
}

/** Resolves when so much text is durable. */
export async function untilStreamed({ chat }: Pick<RunRig, "chat">, text: string): Promise<void> {
  await until(async () => JSON.stringify(await chat.events()).includes(text));
}

/** Resolves when an event of that type is durable. */
export async function untilRecorded({ chat }: Pick<RunRig, "chat">, type: string): Promise<void> {
  await until(async () => (await chat.events()).some((event) => event.type === type));
}

export function createTool(name: string, run: Tool["run"], rest: Partial<Tool> = {}): Tool {
  return { name, description: name, input: {}, replay: "never", timeLimitMs: 60_000, run, ...rest };
}

export function okResult(output: string): ToolResult {
  return { outcome: "ok", output };
}
