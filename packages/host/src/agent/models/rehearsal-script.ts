import { type Json, json } from "@holdfast/protocol";

/** What a prompt tells the rehearsal model to do. */
export type Directive =
  | { readonly kind: "words"; readonly count: number }
  | { readonly kind: "rate"; readonly wordsPerSecond: number }
  | { readonly kind: "think"; readonly count: number }
  | { readonly kind: "tool"; readonly name: string; readonly input: Json }
  | { readonly kind: "fail"; readonly status: number; readonly when: "first" | "always" }
  | { readonly kind: "stall"; readonly seconds: number }
  | { readonly kind: "echo" }
  /** It looks like a directive and is none; the reason completes "…, but". */
  | { readonly kind: "misread"; readonly source: string; readonly reason: string };

/** A brace with a letter right behind it begins a directive; `{ "a": 1 }` and `{ return }` are plain text. */
const opening = /\{([a-z]+)/gi;
const maxWords = 1_000_000;
const longestStall = 86_400;

/** The directives of a text in their order. Any text is fine; the work grows with its length alone. */
export function parseDirectives(text: string): readonly Directive[] {
  const found: Directive[] = [];
  let position = 0;
  while (true) {
    opening.lastIndex = position;
    const match = opening.exec(text);
    if (match === null) return found;
    const name = (match[1] ?? "").toLowerCase();
    const from = match.index;
    const inside = opening.lastIndex;
    const end = name === "tool" ? endOfJson(text, inside) : endOfWord(text, inside);
    const isClosed = text[end] === "}";
    position = isClosed ? end + 1 : end;
    const source = text.slice(from, position);
    const read = isClosed
      ? readDirective(name, text.slice(inside, end))
      : "it has no closing brace";
    found.push(typeof read === "string" ? { kind: "misread", source, reason: read } : read);
  }
}

/** Where a directive without braces inside it ends: at its own closing brace, or where another one opens. */
function endOfWord(text: string, from: number): number {
  for (let at = from; at < text.length; at++) if (text[at] === "}" || text[at] === "{") return at;
  return text.length;
}

/** Where the brace stands that closes what was opened before `from`; braces within strings count for nothing. */
function endOfJson(text: string, from: number): number {
  let depth = 0;
  let inString = false;
  for (let at = from; at < text.length; at++) {
    const character = text[at];
    if (inString) {
      if (character === "\\") at++;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === "{") depth++;
    else if (character === "}" && depth-- === 0) return at;
  }
  return text.length;
}

/** The directive, or why it is none. `rest` is what stands between the name and the closing brace. */
function readDirective(name: string, rest: string): Directive | string {
  const argument = rest.startsWith(":") ? rest.slice(1).trim() : undefined;
  switch (name) {
    case "words":
    case "think": {
      const count = readNumber(argument, /^\d{1,7}$/, maxWords);
      return count === undefined
        ? `it takes a whole number up to ${maxWords}, like {${name}:50}`
        : { kind: name, count };
    }
    case "rate": {
      const wordsPerSecond = readNumber(argument, /^\d{1,7}(\.\d{1,3})?$/, maxWords);
      return wordsPerSecond === undefined || wordsPerSecond < 0.1
        ? `it takes words a second, from 0.1 to ${maxWords}, like {rate:100}`
        : { kind: name, wordsPerSecond };
    }
    case "stall": {
      const seconds = readNumber(argument, /^\d{1,5}(\.\d{1,3})?$/, longestStall);
      return seconds === undefined
        ? `it takes seconds, up to ${longestStall}, like {stall:10}`
        : { kind: name, seconds };
    }
    case "fail":
      return readFail(argument);
    case "tool":
      return readTool(argument);
    case "echo":
      return rest.trim() === "" ? { kind: name } : "it takes nothing: {echo}";
    default:
      return "there is no directive of that name";
  }
}

function readNumber(argument = "", form: RegExp, most: number): number | undefined {
  const number = form.test(argument) ? Number(argument) : Infinity;
  return number <= most ? number : undefined;
}

function readFail(argument = ""): Directive | string {
  const match = /^([45]\d\d)(!?)$/.exec(argument);
  if (match === null)
    return "it takes an HTTP status from 400 to 599, like {fail:429} or {fail:500!}";
  return { kind: "fail", status: Number(match[1]), when: match[2] === "!" ? "always" : "first" };
}

function readTool(argument = ""): Directive | string {
  const match = /^([\w.:/-]+)(?:\s+|(?=[{["])|$)/.exec(argument);
  if (match === null) return 'it takes a tool and its input, like {tool:terminal {"command":"ls"}}';
  const written = argument.slice(match[0].length);
  const input = written === "" ? {} : readJson(written);
  return input === undefined
    ? "its input is not JSON"
    : { kind: "tool", name: match[1] ?? "", input };
}

function readJson(written: string): Json | undefined {
  try {
    const read = json.safeParse(JSON.parse(written));
    return read.success ? read.data : undefined;
  } catch {
    return undefined;
  }
}
