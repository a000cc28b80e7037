/**
 * What one message, one tool's output and one call may grow to, so that every settlement fits into an event with room to
 * spare. Counted as the JSON text that is stored, in bytes.
 */
export const sizeLimits = {
  /** Its calls included. */
  message: 768 * 1024,
  toolOutput: 512 * 1024,
  /** All calls of a step settle in one commit, with their outputs. */
  toolDetails: 12 * 1024,
  /** What all tools of a step had said that its runner did not live to settle. */
  leftovers: 6 * 1024 * 1024,
  callInput: 128 * 1024,
  calls: 100,
  input: 768 * 1024,
} as const;

/** Characters that stand for themselves in JSON, in one byte each. */
const plainAscii = /^[ !#-[\]-~]*$/;

export function jsonSize(value: unknown): number {
  if (typeof value === "string" && plainAscii.test(value)) return value.length + 2;
  return Buffer.byteLength(JSON.stringify(value) ?? "");
}

/** The beginning that fits, cut between characters. */
export function truncateToBytes(text: string, bytes: number): string {
  if (jsonSize(text) <= bytes) return text;
  let end = Math.min(text.length, bytes);
  while (end > 0 && jsonSize(text.slice(0, end)) > bytes) end = Math.floor(end * 0.8);
  return text.slice(0, end).toWellFormed();
}
