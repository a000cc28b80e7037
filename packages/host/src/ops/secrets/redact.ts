import { redactSecrets } from "@holdfast/engine";
import type { Json } from "@holdfast/protocol";

/** Takes secrets out of text before it leaves: those that this host knows, and whatever has the form of one. */
export type Redact = (text: string) => string;

const shortestKnown = 8;

/** `known` is asked each time: a key may be set while the host runs. */
export function createRedactor(known: () => Iterable<string> = () => []): Redact {
  return (text) => {
    let left = text;
    for (const secret of known())
      if (secret.length >= shortestKnown) left = left.replaceAll(secret, "[redacted]");
    return redactSecrets(left);
  };
}

/** The same for every text inside of plain data. */
export function redactJson(value: Json, redact: Redact): Json {
  if (typeof value === "string") return redact(value);
  if (Array.isArray(value)) return value.map((each) => redactJson(each, redact));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, redactJson(each, redact)]),
  );
}
