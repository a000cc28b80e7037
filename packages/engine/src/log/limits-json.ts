export type JsonSize =
  /** At most so many bytes of JSON; the exact figure is rarely needed and costs much more. */
  | { readonly status: "plain"; readonly atMost: number }
  | { readonly status: "not_json"; readonly reason: string };

/** Deeper than anything that is written on purpose, and far from where a recursive parser gives up. */
const maxDepth = 200;
/** A control character or a lone surrogate becomes `\u00xx`. */
const maxBytesPerUnit = 6;

/** Walks a value once: is it what JSON can carry, and how large can it get? */
export function measureJson(value: unknown, depth = 0): JsonSize {
  if (depth > maxDepth) return notJson(`it is nested deeper than ${maxDepth} levels`);
  switch (typeof value) {
    case "string":
      return plainJson(2 + value.length * maxBytesPerUnit);
    case "boolean":
      return plainJson(5);
    case "number":
      return Number.isFinite(value) ? plainJson(25) : notJson("a number is not finite");
    case "object":
      return value === null ? plainJson(4) : measureObject(value, depth);
    default:
      return notJson(`a value is of the type ${typeof value}`);
  }
}

function measureObject(value: object, depth: number): JsonSize {
  let atMost = 2;
  const isArray = Array.isArray(value);
  if (!isArray && !isPlain(value)) return notJson("an object is not a plain one");
  for (const [key, each] of Object.entries(value)) {
    // Left out of the JSON, as an optional field that was not given.
    if (each === undefined && !isArray) continue;
    const inner = measureJson(each, depth + 1);
    if (inner.status === "not_json") return inner;
    atMost += inner.atMost + 1 + (isArray ? 0 : 3 + key.length * maxBytesPerUnit);
  }
  return plainJson(atMost);
}

export function jsonByteLength(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

const plainJson = (atMost: number): JsonSize => ({ status: "plain", atMost });
const notJson = (reason: string): JsonSize => ({ status: "not_json", reason });
