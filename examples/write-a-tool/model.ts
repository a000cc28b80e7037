import type { Model } from "@holdfast/engine";

/** Stands in for a language model: it calls the tool with the number in the message, then repeats the tool's output. */
export const model: Model = {
  async *stream({ messages }) {
    const last = messages.findLast(({ role }) => role === "user" || role === "tool");
    if (last?.role === "user") {
      const copies = Number(/\d+/.exec(last.text)?.[0] ?? 1);
      yield { kind: "call", name: "print_labels", input: { text: "Plum jam", copies } };
    }
    if (last?.role === "tool") yield { kind: "text", text: `The tool says: ${last.output}` };
  },
};
