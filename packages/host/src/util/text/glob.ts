/**
 * Patterns for paths: `*` and `?` within a name, `**` across names, `[a-z]`, `[!a]`, `{one,two}`. Matching takes time in
 * proportion to pattern times path, whatever the two are: no pattern can hold anybody up.
 */
export type Glob = (path: string) => boolean;

const longestPattern = 1_000;
const maxAlternatives = 64;
/** Of all alternatives together. */
const maxCharacters = 8_000;

/** `null`: this is no pattern. */
export function compileGlob(pattern: string): Glob | null {
  if (pattern === "" || pattern.length > longestPattern) return null;
  const alternatives = expandBraces(pattern);
  if (alternatives === null || alternatives.join("").length > maxCharacters) return null;
  const compiled: GlobSegment[][] = [];
  for (const each of alternatives) {
    const parts = each.split("/").map(compileName);
    if (!parts.every((part) => part !== null)) return null;
    compiled.push(parts);
  }
  return (path) => {
    const names = path.split("/");
    return compiled.some((parts) => matchParts(parts, names));
  };
}

type GlobToken =
  | { readonly kind: "one"; readonly fits: (character: string) => boolean }
  | { readonly kind: "any" };
type GlobSegment = "**" | readonly GlobToken[];

function compileName(name: string): GlobSegment | null {
  if (name === "**") return "**";
  const characters = Array.from(name);
  const signs: GlobToken[] = [];
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] ?? "";
    if (character === "*") {
      if (signs.at(-1)?.kind !== "any") signs.push({ kind: "any" });
    } else if (character === "?") signs.push({ kind: "one", fits: () => true });
    else if (character === "[") {
      const end = characters.indexOf("]", at + 2);
      if (end === -1) return null;
      signs.push({ kind: "one", fits: classOf(characters.slice(at + 1, end)) });
      at = end;
    } else {
      if (character === "\\") at += 1;
      const plain = characters[at];
      if (plain === undefined) return null;
      signs.push({ kind: "one", fits: (other) => other === plain });
    }
  }
  return signs;
}

function classOf(members: readonly string[]): (character: string) => boolean {
  const isNegated = members[0] === "!" || members[0] === "^";
  const rest = isNegated ? members.slice(1) : members;
  return (character) => {
    let isIn = false;
    for (let at = 0; at < rest.length; at += 1) {
      const [from = "", dash, to] = rest.slice(at, at + 3);
      if (dash === "-" && to !== undefined) {
        isIn ||= from <= character && character <= to;
        at += 2;
      } else isIn ||= from === character;
    }
    return isIn !== isNegated;
  };
}

/** `reachable[i]`: the pattern up to here can end after the first i of what is matched. */
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

function matchName(signs: readonly GlobToken[], name: string): boolean {
  const characters = Array.from(name);
  let reachable = new Set([0]);
  for (const sign of signs) {
    const next = new Set<number>();
    if (sign.kind === "any") {
      const first = Math.min(...reachable);
      for (let at = first; at <= characters.length; at += 1) next.add(at);
    } else
      for (const at of reachable) {
        const character = characters[at];
        if (character !== undefined && sign.fits(character)) next.add(at + 1);
      }
    if (next.size === 0) return false;
    reachable = next;
  }
  return reachable.has(characters.length);
}

/** `{a,b}` is two patterns. They may stand side by side, not inside of each other. */
function expandBraces(pattern: string): readonly string[] | null {
  let expanded = [""];
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern[at] ?? "";
    if (character !== "{") {
      const escaped = character === "\\" ? pattern.slice(at, at + 2) : character;
      if (character === "\\") at += 1;
      expanded = expanded.map((each) => each + escaped);
      continue;
    }
    const end = pattern.indexOf("}", at);
    const inside = end === -1 ? "{" : pattern.slice(at + 1, end);
    if (inside.includes("{")) return null;
    const options = inside.split(",");
    if (expanded.length * options.length > maxAlternatives) return null;
    expanded = expanded.flatMap((each) => options.map((option) => each + option));
    at = end;
  }
  return expanded;
}
