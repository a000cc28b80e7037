import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";

import {
  type Model,
  type ModelEvent,
  type ModelMessage,
  type Tool,
  systemClock,
} from "@holdfast/engine";

import type { Effect } from "./protocol.ts";
import type { SeededRandom } from "@holdfast/testing/simulator/scheduler";

/** What a message asks for, in directives that the host's own rehearsal model understands too. */
export function writeScript(chance: SeededRandom): string {
  const parts = [`{rate:${chance.pick([150, 400, 1_000])}}`];
  for (let left = chance.between(1, 2); left > 0; left -= 1) {
    parts.push(`{words:${chance.between(5, 80)}}`);
    if (chance.next() < 0.5)
      parts.push(`{tool:${chance.pick(["effect", "effect", "effect", "look", "dare"])}}`);
  }
  parts.push(`{words:${chance.between(3, 30)}}`);
  return parts.join(" ");
}

const directive = /\{(rate|words|tool):([a-z0-9]+)\}/g;

/** Follows the directives of the newest message; the conversation shows how far it has got. */
export function scriptedTurns(name: string): Model {
  return { stream: (request, signal) => perform(request.messages, name, signal) };
}

async function* perform(
  messages: readonly ModelMessage[],
  name: string,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  const from = messages.findLastIndex(({ role }) => role === "user");
  const prompt = messages[from];
  const script = [...(prompt?.role === "user" ? prompt.text : "").matchAll(directive)];
  let done = messages
    .slice(from + 1)
    .flatMap((message) => (message.role === "assistant" ? message.parts : []))
    .filter(({ kind }) => kind === "call").length;
  let rate = 100;
  for (const [, word, value = ""] of script) {
    if (word === "rate") rate = Number(value);
    if (word === "tool" && done === 0) {
      yield { kind: "call", name: value, input: {} };
      return;
    }
    if (word === "tool") done -= 1;
    if (word === "words" && done === 0) yield* sayWords(Number(value), rate, name, signal);
    if (signal.aborted) return;
  }
  yield { kind: "usage", usage: { input: messages.length, output: 1 } };
}

let uttered = 0;

/** No word appears twice in a whole chaos run, so that a misplaced one is noticed. */
async function* sayWords(
  count: number,
  rate: number,
  name: string,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  for (let left = count; left > 0 && !signal.aborted; left -= 1) {
    uttered += 1;
    yield { kind: "text", text: `${name}.${uttered} ` };
    await systemClock.sleep(1_000 / rate, signal);
  }
}

/** Tools that leave a synced line per run, outside of the store: a repeated run is noticed. */
export function toolsWithEffects(file: string, by: string, chance: SeededRandom): readonly Tool[] {
  const make = (name: string, replay: Tool["replay"], asks: "none" | "ask" = "none"): Tool => ({
    name,
    description: "Leaves a line behind.",
    input: {},
    replay,
    timeLimitMs: 20_000,
    approval: () => asks,
    async run({ callId }, { signal, write }) {
      await systemClock.sleep(chance.between(0, 80), signal);
      if (signal.aborted) return { outcome: "failed", output: "" };
      leaveEffect(file, { callId, by, replay });
      const output = `${by} did ${callId}`;
      write(output);
      // Long enough for somebody to be killed between an effect and its record.
      await systemClock.sleep(chance.between(0, 400), signal);
      return { outcome: "ok", output };
    },
  });
  return [make("effect", "never"), make("look", "safe"), make("dare", "never", "ask")];
}

function leaveEffect(file: string, effect: Effect): void {
  const descriptor = openSync(file, "a");
  try {
    writeSync(descriptor, `${JSON.stringify(effect)}\n`);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
