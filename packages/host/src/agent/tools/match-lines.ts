const maxLineLength = 4_000;
const shownLength = 300;
/** As much of a file is looked at to tell text from data. */
const headBytes = 8_192;

export interface LinePattern {
  readonly pattern: string;
  readonly flags: string;
}

/** Finds the lines of files that match, as `path:number: line`, up to one more than `maxLines` of each file. */
export function createLineMatcher(
  { pattern, flags }: LinePattern,
  maxLines: number,
): (path: string, bytes: Buffer) => readonly string[] {
  const expression = new RegExp(pattern, flags);
  const literal = flags.includes("i") ? "" : requiredLiteral(pattern);
  const needle = Buffer.from(literal, "latin1");
  return (path, bytes) => {
    if (needle.length > 0 && !bytes.includes(needle)) return [];
    if (bytes.subarray(0, headBytes).includes(0)) return [];
    const text = bytes.toString("utf8");
    const lines: string[] = [];
    let start = 0;
    for (let number = 1; ; number += 1) {
      const newline = text.indexOf("\n", start);
      const end = newline === -1 ? text.length : newline;
      if (expression.test(text.slice(start, Math.min(end, start + maxLineLength)))) {
        const line = text.slice(start, end).trimEnd().slice(0, shownLength).toWellFormed();
        lines.push(`${path}:${number}: ${line}`);
        // One more tells that there are more.
        if (lines.length > maxLines) break;
      }
      if (newline === -1) break;
      start = newline + 1;
    }
    return lines;
  };
}

const closesRun = new Set([".", "^", "$"]);
const repeats = new Set(["*", "?", "{"]);

/**
 * The longest run of ASCII characters that every match has; empty if that is not obvious. It only saves work: a file
 * without it is not looked at line by line.
 */
export function requiredLiteral(pattern: string): string {
  // What is in a group or an alternative need not be there.
  if (/[()|]/u.test(pattern.replaceAll(/\\./gu, ""))) return "";
  let longest = "";
  let run = "";
  const close = (): void => {
    if (run.length > longest.length) longest = run;
    run = "";
  };
  for (let index = 0; index < pattern.length; index += 1) {
    const character = pattern.charAt(index);
    if (repeats.has(character)) {
      // The character before may be missing. A run that was closed has none.
      run = run.slice(0, -1);
      close();
      if (character === "{") {
        const end = pattern.indexOf("}", index);
        if (end === -1) return "";
        index = end;
      }
    } else if (character === "+" || closesRun.has(character)) close();
    else if (character === "[") {
      close();
      index = endOfClass(pattern, index);
      if (index === -1) return "";
    } else if (character === "\\") {
      index += 1;
      const escaped = pattern.charAt(index);
      // Escaped punctuation stands for itself; a letter or digit stands for something else, and may go on.
      if (/[^\w\s]/u.test(escaped) && escaped <= "~") run += escaped;
      else {
        close();
        if (/[xucpPk\d]/u.test(escaped)) return longest;
      }
    } else if (character >= " " && character <= "~") run += character;
    else close();
  }
  close();
  return longest;
}

function endOfClass(pattern: string, start: number): number {
  for (let index = start + 1; index < pattern.length; index += 1) {
    const character = pattern.charAt(index);
    if (character === "\\") index += 1;
    else if (character === "]") return index;
  }
  return -1;
}
