/**
 * Patterns for paths: `*` and `?` within a name, `**` across names, `[a-z]`, `[!a]`, `{one,two}`. Matching takes
 * time proportional to pattern times path, so no pattern can hang the host.
 */
export type Glob = (path: string) => boolean;

const maxPatternLength = 1_000;
const maxAlternatives = 64;
/** Of all alternatives together. */
const maxCharacters = 8_000;

/** `null`: not a valid pattern. */
export function compileGlob(pattern: string): Glob | null {
  if (pattern === "" || pattern.length > maxPatternLength) return null;
  const alternatives = expandBraces(pattern);
  if (alternatives === null || alternatives.join("").length > maxCharacters) return null;
  const compiled: GlobSegment[][] = [];
  for (const alternative of alternatives) {
    const parts = alternative.split("/").map(compileName);
    if (!parts.every((part) => part !== null)) return null;
    compiled.push(parts);
  }
  return (path) => {
    const names = path.split("/");
    return compiled.some((parts) => matchParts(parts, names));
  };
}

type GlobToken =
  | { readonly kind: "one"; readonly matches: (character: string) => boolean }
  | { readonly kind: "any" };
type GlobSegment = "**" | readonly GlobToken[];

function compileName(name: string): GlobSegment | null {
  if (name === "**") return "**";
  const characters = Array.from(name);
  const tokens: GlobToken[] = [];
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] ?? "";
    if (character === "*") {
      if (tokens.at(-1)?.kind !== "any") tokens.push({ kind: "any" });
    } else if (character === "?") tokens.push({ kind: "one", matches: () => true });
    else if (character === "[") {
      const end = characters.indexOf("]", at + 2);
      if (end === -1) return null;
      tokens.push({ kind: "one", matches: classOf(characters.slice(at + 1, end)) });
      at = end;
    } else {
      if (character === "\\") at += 1;
      const literal = characters[at];
      if (literal === undefined) return null;
      tokens.push({ kind: "one", matches: (other) => other === literal });
    }
  }
  return tokens;
}

function classOf(members: readonly string[]): (character: string) => boolean {
  const isNegated = members[0] === "!" || members[0] === "^";
  const rest = isNegated ? members.slice(1) : members;
  return (character) => {
    let isMember = false;
    for (let at = 0; at < rest.length; at += 1) {
      const [from = "", dash, to] = rest.slice(at, at + 3);
      if (dash === "-" && to !== undefined) {
        isMember ||= from <= character && character <= to;
        at += 2;
      } else isMember ||= from === character;
    }
    return isMember !== isNegated;
  };
}

/** `reachable[i]`: the pattern so far can match exactly the first i items. */
function matchParts(parts: readonly GlobSegment[], names: readonly string[]): boolean {
  let reachable = new Set([0]);
  for (const part of parts) {
    const next = new Set<number>();
    if (part === "**") {
      const first = Math.min(...reachable);
      for (let at = first; at <= names.length; at += 1) next.add(at);
    } else
      for (const at of reachable) {
        const name = names[at];
        if (name !== undefined && matchName(part, name)) next.add(at + 1);
      }
    if (next.size === 0) return false;
    reachable = next;
  }
  return reachable.has(names.length);
}

function matchName(tokens: readonly GlobToken[], name: string): boolean {
  const characters = Array.from(name);
  let reachable = new Set([0]);
  for (const token of tokens) {
    const next = new Set<number>();
    if (token.kind === "any") {
      const first = Math.min(...reachable);
      for (let at = first; at <= characters.length; at += 1) next.add(at);
    } else
      for (const at of reachable) {
        const character = characters[at];
        if (character !== undefined && token.matches(character)) next.add(at + 1);
      }
    if (next.size === 0) return false;
    reachable = next;
  }
  return reachable.has(characters.length);
}

/** `{a,b}` expands to two patterns. Groups may be adjacent, not nested. */
function expandBraces(pattern: string): readonly string[] | null {
  let expanded = [""];
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern[at] ?? "";
    if (character !== "{") {
      const escaped = character === "\\" ? pattern.slice(at, at + 2) : character;
      if (character === "\\") at += 1;
      expanded = expanded.map((prefix) => prefix + escaped);
      continue;
    }
    const end = pattern.indexOf("}", at);
    const inside = end === -1 ? "{" : pattern.slice(at + 1, end);
    if (inside.includes("{")) return null;
    const options = inside.split(",");
    if (expanded.length * options.length > maxAlternatives) return null;
    expanded = expanded.flatMap((prefix) => options.map((option) => prefix + option));
    at = end;
  }
  return expanded;
}
