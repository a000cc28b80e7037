import { setTimeout as sleep } from "node:timers/promises";
import type { Model, ModelMessage } from "@holdfast/engine";

const msPerWord = Number(process.env["MS_PER_WORD"] ?? 100);

/** Stands in for a language model: it answers slowly, and after a crash continues where it stopped. */
export const model: Model = {
  async *stream({ messages }, signal) {
    const at = messages.findLastIndex(({ role }) => role === "user");
    const question = messages[at];
    const text = question?.role === "user" ? question.text : "";
    const answer = `You said "${text}", and I have thought about it for quite a while before I answered.`;
    const rest = answer.slice(messages.slice(at).map(textOf).join("").length);
    for (const word of rest.match(/\S+\s*/g) ?? []) {
      await sleep(msPerWord);
      if (signal.aborted) return;
      console.log(`thinking: ${word.trim()}`);
      yield { kind: "text", text: word };
    }
  },
};

function textOf(message: ModelMessage): string {
  if (message.role !== "assistant") return "";
  return message.parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
}
