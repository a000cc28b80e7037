export type Measured =
  /** At most so many bytes of JSON; the exact figure is rarely needed and costs much more. */
  | { readonly status: "plain"; readonly atMost: number }
  | { readonly status: "not_json"; readonly reason: string };

/** Deeper than anything that is written on purpose, and far from where a recursive parser gives up. */
const maxDepth = 200;
/** A control character or a lone surrogate becomes `\u00xx`. */
const bytesPerUnit = 6;

/** Walks a value once: is it what JSON can carry, and how large can it get? */
export function measureJson(value: unknown, depth = 0): Measured {
  if (depth > maxDepth) return notJson(`it is nested deeper than ${maxDepth} levels`);
  switch (typeof value) {
    case "string":
      return plain(2 + value.length * bytesPerUnit);
    case "boolean":
      return plain(5);
    case "number":
      return Number.isFinite(value) ? plain(25) : notJson("a number is not finite");
    case "object":
      return value === null ? plain(4) : measureObject(value, depth);
    default:
      return notJson(`a value is of the type ${typeof value}`);
  }
}

function measureObject(value: object, depth: number): Measured {
  let atMost = 2;
  const isArray = Array.isArray(value);
  if (!isArray && !isPlain(value)) return notJson("an object is not a plain one");
  for (const [key, each] of Object.entries(value)) {
    // Left out of the JSON, as an optional field that was not given.
    if (each === undefined && !isArray) continue;
    const inner = measureJson(each, depth + 1);
    if (inner.status === "not_json") return inner;
    atMost += inner.atMost + 1 + (isArray ? 0 : 3 + key.length * bytesPerUnit);
  }
  return plain(atMost);
}

export function byteLength(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

const plain = (atMost: number): Measured => ({ status: "plain", atMost });
const notJson = (reason: string): Measured => ({ status: "not_json", reason });
