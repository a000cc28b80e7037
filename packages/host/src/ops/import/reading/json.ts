import { z } from "zod";

/** Values of another program's files. What has an unexpected type counts as absent: the rest is still worth taking. */
export const text = z.string().nullish().catch(null);
export const number = z.number().nullish().catch(null);
/** Of tokens: what can't be, counts as none. */
export const amount = z.number().nonnegative().max(1e12).catch(0);
export const flag = z.union([z.boolean(), z.number()]).nullish().catch(null).transform(Boolean);
export const list = z.array(z.unknown()).catch([]);
export const record = z.record(z.string(), z.unknown()).catch({});

/** Of a value that should be a text; a number will do. */
export function textIn(value: unknown): string {
  return typeof value === "string" ? value : typeof value === "number" ? `${value}` : "";
}

export function parseJson(source: string): unknown {
  try {
    return JSON.parse(source);
  } catch {
    return undefined;
  }
}

export interface TornJson {
  readonly value: unknown;
  readonly whole: boolean;
}

/** How deep a value may be that was cut off and is left out: a message of a list counts as a whole or not at all. */
const keptDepth = 2;

/** Reads as much of a cut-off document as is whole. `value` is undefined if nothing is. */
export function parseTornJson(bytes: Uint8Array): TornJson {
  const source = new TextDecoder().decode(bytes);
  const value = parseJson(source);
  if (value !== undefined) return { value, whole: true };
  return { value: parseJson(completePrefix(source)), whole: false };
}

function completePrefix(source: string): string {
  const open: string[] = [];
  let end = 0;
  let closers = "";
  let inString = false;
  const keep = (at: number): void => {
    if (open.length > keptDepth) return;
    end = at;
    closers = open.toReversed().join("");
  };
  for (let at = 0; at < source.length; at += 1) {
    const character = source[at];
    if (inString) {
      if (character === "\\") at += 1;
      else if (character === '"') inString = false;
      continue;
    }
    switch (character) {
      case '"':
        inString = true;
        break;
      case "{":
      case "[":
        open.push(character === "{" ? "}" : "]");
        if (open.length <= keptDepth) keep(at + 1);
        break;
      case "}":
      case "]":
        open.pop();
        keep(at + 1);
        break;
      case ",":
        keep(at);
        break;
      default:
        break;
    }
  }
  return source.slice(0, end) + closers;
}
