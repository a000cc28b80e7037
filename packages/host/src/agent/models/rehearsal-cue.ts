import { createHash } from "node:crypto";

import type { ModelMessage } from "@holdfast/engine";

import { type Directive, parseDirectives } from "./rehearsal-script.ts";

export type ToolMessage = Extract<ModelMessage, { role: "tool" }>;

/** What one call of the model has to do, read from the conversation alone. */
export interface ScriptedStep {
  /** The directives from where the turn stands, up to and with the next tool. */
  readonly directives: readonly Directive[];
  /** Whether the turn ends with them. */
  readonly isLast: boolean;
  readonly wordsPerSecond: number;
  /** What the tools answered that the call before this one asked for. */
  readonly results: readonly ToolMessage[];
  /** The same for every attempt at this part of this turn. */
  fingerprint(): string;
}

const defaultWordsPerSecond = 60;

export function findScriptedStep(messages: readonly ModelMessage[]): ScriptedStep {
  const promptAt = messages.findLastIndex((message) => message.role === "user");
  const prompt = messages[promptAt];
  const directives = parseDirectives(prompt?.role === "user" ? prompt.text : "");
  const turn = messages.slice(promptAt + 1);
  const asked = turn.reduce((sum, each) => sum + callsOf(each), 0);

  const tools = directives.flatMap((each, index) => (each.kind === "tool" ? [index] : []));
  const begin = asked === 0 ? 0 : (tools[asked - 1] ?? directives.length - 1) + 1;
  const nextTool = tools[asked];
  const rate = directives.slice(0, begin).findLast((each) => each.kind === "rate");
  return {
    directives: directives.slice(begin, nextTool === undefined ? undefined : nextTool + 1),
    isLast: nextTool === undefined,
    wordsPerSecond: rate?.wordsPerSecond ?? defaultWordsPerSecond,
    results: asked === 0 ? [] : resultsOfLastCalls(turn),
    // Text that a failed attempt left behind in the turn does not make the next attempt a different one.
    fingerprint: () =>
      createHash("sha256")
        .update(JSON.stringify([messages.slice(0, promptAt + 1), asked]))
        .digest("base64"),
  };
}

function callsOf(message: ModelMessage): number {
  if (message.role !== "assistant") return 0;
  return message.parts.filter(({ kind }) => kind === "call").length;
}

function resultsOfLastCalls(turn: readonly ModelMessage[]): readonly ToolMessage[] {
  const askedAt = turn.findLastIndex((each) => callsOf(each) > 0);
  return turn.slice(askedAt + 1).filter((each) => each.role === "tool");
}
