import { setTimeout as sleep } from "node:timers/promises";
import type { Model, ModelMessage } from "@holdfast/engine";

const msPerWord = Number(process.env["MS_PER_WORD"] ?? 150);

/**
 * Stands in for a language model: it answers slowly, one word at a time, and counts the questions. To use a provider,
 * pass it `messages` and `signal`, and yield what it streams in the same way.
 */
export const model: Model = {
  async *stream({ messages }, signal) {
    const rest = answerTo(messages).slice(saidSoFar(messages).length);
    for (const word of rest.match(/\S+\s*/g) ?? []) {
      await sleep(msPerWord);
      if (signal.aborted) return;
      yield { kind: "text", text: word };
    }
  },
};

function answerTo(messages: readonly ModelMessage[]): string {
  const questions = messages.filter(({ role }) => role === "user");
  return (
    `This is answer ${questions.length}. A lighthouse blinks so that sailors can tell it from a star, from a house, ` +
    `and from every other lighthouse: each one has a rhythm of its own, which is printed in the sea charts.`
  );
}

/** After a crash the conversation ends with the stored part of the answer, and the model continues from there. */
function saidSoFar(messages: readonly ModelMessage[]): string {
  const lastQuestion = messages.findLastIndex(({ role }) => role === "user");
  return messages
    .slice(lastQuestion)
    .flatMap((message) => (message.role === "assistant" ? message.parts : []))
    .map((part) => (part.kind === "text" ? part.text : ""))
    .join("");
}
