import { redactSecrets } from "@holdfast/engine";
import type { Json } from "@holdfast/protocol";

/** Removes secrets from text that leaves the host: known ones, and anything that looks like one. */
export type Redact = (text: string) => string;

const shortestKnown = 8;

/** `known` is called each time, since a key may be set while the host runs. */
export function createRedactor(known: () => Iterable<string> = () => []): Redact {
  return (text) => {
    let left = text;
    for (const secret of known())
      if (secret.length >= shortestKnown) left = left.replaceAll(secret, "[redacted]");
    return redactSecrets(left);
  };
}

/** The same for every string inside plain data. */
export function redactJson(value: Json, redact: Redact): Json {
  if (typeof value === "string") return redact(value);
  if (Array.isArray(value)) return value.map((item) => redactJson(item, redact));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, redactJson(item, redact)]),
  );
}
