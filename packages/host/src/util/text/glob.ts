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
  const compiled: Step[][] = [];
  for (const alternative of alternatives) {
    const steps = alternative.split("/").map(compileName);
    if (!steps.every((step) => step !== null)) return null;
    compiled.push(steps);
  }
  return (path) => {
    const names = path.split("/");
    return compiled.some((steps) => matchAll(steps, names));
  };
}

/** A step matches names in a path, or characters in a name. `any` matches any number of them. */
type Step = "any" | ((item: string) => boolean);

function compileName(name: string): Step | null {
  if (name === "**") return "any";
  const characters = Array.from(name);
  const steps: Step[] = [];
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] ?? "";
    if (character === "*") steps.push("any");
    else if (character === "?") steps.push(() => true);
    else if (character === "[") {
      const end = characters.indexOf("]", at + 2);
      if (end === -1) return null;
      steps.push(classOf(characters.slice(at + 1, end)));
      at = end;
    } else {
      if (character === "\\") at += 1;
      const literal = characters[at];
      if (literal === undefined) return null;
      steps.push((other) => other === literal);
    }
  }
  return (other) => matchAll(steps, Array.from(other));
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

/** Backtracks only into the last `any`, which is sufficient and bounds the time. */
function matchAll(steps: readonly Step[], items: readonly string[]): boolean {
  let [step, item] = [0, 0];
  let [lastAny, itemAfterAny] = [-1, 0];
  for (let next = items[item]; next !== undefined; next = items[item]) {
    const wanted = steps[step];
    if (wanted === "any") {
      [lastAny, itemAfterAny] = [step, item];
      step += 1;
    } else if (wanted?.(next) === true) {
      step += 1;
      item += 1;
    } else if (lastAny === -1) return false;
    else {
      itemAfterAny += 1;
      [step, item] = [lastAny + 1, itemAfterAny];
    }
  }
  return steps.slice(step).every((rest) => rest === "any");
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
