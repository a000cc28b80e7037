import { appendFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Tool } from "@holdfast/engine";
import type { Json } from "@holdfast/protocol";

const maxCopies = 50;
/** More than these are worth a person's look before they are printed. */
const copiesWithoutAsking = 3;

/** Prints labels, one after the other. The printer is a file: each line is a label. */
export function createPrintLabels(printer: string, msPerLabel: number): Tool {
  return {
    name: "print_labels",
    description: "Prints a text on labels.",
    // A JSON schema, as the model gets it. A model may ignore it, so `run` checks what it is given.
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

    // A label that is printed twice is a wasted label. If the process dies while this runs, it is not started again:
    // the model is told that the outcome is unknown. A tool that only reads would say "safe".
    replay: "never",

    approval: (input) => ((readOrder(input)?.copies ?? 0) > copiesWithoutAsking ? "ask" : "none"),

    async run({ input }, { signal, write }) {
      const order = readOrder(input);
      if (order === null)
        return { outcome: "failed", output: `Give a text, and copies from 1 to ${maxCopies}.` };
      const { text, copies } = order;
      for (let printed = 0; printed < copies; printed += 1) {
        // After a cancel or the time limit nothing more may happen. What is returned then is still shown.
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

/** `null` if the model has given something else. */
function readOrder(input: Json): { readonly text: string; readonly copies: number } | null {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return null;
  const { text, copies } = input;
  if (typeof text !== "string" || typeof copies !== "number") return null;
  if (!Number.isInteger(copies) || copies < 1 || copies > maxCopies) return null;
  return { text, copies };
}
