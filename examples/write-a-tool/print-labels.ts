import { appendFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Tool } from "@holdfast/engine";
import type { Json } from "@holdfast/protocol";

const maxCopies = 50;
/** A person has to approve more than this. */
const copiesWithoutAsking = 3;

/** Prints labels, one after the other. The printer is a file: each line is a label. */
export function createPrintLabels(printer: string, msPerLabel: number): Tool {
  return {
    name: "print_labels",
    description: "Prints a text on labels.",
    // The model receives this JSON schema but may ignore it, so `run` validates its input.
    input: {
      type: "object",
      properties: {
        text: { type: "string" },
        copies: { type: "integer", minimum: 1, maximum: maxCopies },
      },
      required: ["text", "copies"],
      additionalProperties: false,
    },
    timeLimitMs: 60_000,

    // Printing a label twice wastes it. If the process dies during a call, the engine does not run the call again but
    // tells the model that the outcome is unknown. A tool that only reads would say "safe".
    replay: "never",

    approval: (input) => ((readOrder(input)?.copies ?? 0) > copiesWithoutAsking ? "ask" : "none"),

    async run({ input }, { signal, write }) {
      const order = readOrder(input);
      if (order === null)
        return { outcome: "failed", output: `Give a text, and copies from 1 to ${maxCopies}.` };
      const { text, copies } = order;
      for (let printed = 0; printed < copies; printed += 1) {
        // After a cancel or the time limit a tool must stop. Its result is still shown.
        if (signal.aborted)
          return { outcome: "cancelled", output: `Stopped after ${printed} of ${copies} labels.` };
        await appendFile(printer, `${text}\n`);
        write(`Label ${printed + 1} of ${copies}\n`);
        await sleep(msPerLabel);
      }
      return { outcome: "ok", output: `Printed ${copies} labels.` };
    },
  };
}

/** `null` if the input does not match the schema. */
function readOrder(input: Json): { readonly text: string; readonly copies: number } | null {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return null;
  const { text, copies } = input;
  if (typeof text !== "string" || typeof copies !== "number") return null;
  if (!Number.isInteger(copies) || copies < 1 || copies > maxCopies) return null;
  return { text, copies };
}
