import { createInterface, emitKeypressEvents } from "node:readline";
import { PassThrough } from "node:stream";
import type { Input } from "../command.ts";
import type { Key } from "../screen/line-editor.ts";

/**
 * How long a lone escape may be the beginning of an arrow key. Node waits for half a second unless told, in which a person
 * who has pressed Esc types on, and loses what they typed.
 */
const escapeMs = 100;

/** Hears single keys until what it answers is called. */
export function listenToKeys(
  input: Input,
  onKey: (typed: string | undefined, key: Key) => void,
): () => void {
  // Only for its patience: it reads nothing.
  const patience = createInterface({ input: new PassThrough(), escapeCodeTimeout: escapeMs });
  emitKeypressEvents(input, patience);
  input.setRawMode?.(true);
  input.on("keypress", onKey);
  input.resume();
  return () => {
    input.off("keypress", onKey);
    input.setRawMode?.(false);
    input.pause();
    patience.close();
  };
}
