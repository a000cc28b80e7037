/**
 * Characters that nobody sees or that change how others look: controls, unassigned and private ones, separators other
 * than the space, joiners, direction marks, tags, fillers, and the blank Braille pattern and note head. Line breaks and
 * tabs are kept.
 */
const invisible = String.raw`(?![\n\t ])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\u{1D159}]`;

const invisibleCharacters = new RegExp(invisible, "gu");

/** Makes invisible characters visible, so that a person sees what will really run. */
export function showControls(text: string): string {
  return text.replace(invisibleCharacters, (character) => escapeOf(character, 1));
}

export function escapeOf(character: string, count: number): string {
  const code = (character.codePointAt(0) ?? 0).toString(16).padStart(4, "0").toUpperCase();
  return count === 1 ? `\\u{${code}}` : `\\u{${code} ×${count.toLocaleString("en")}}`;
}

/** What would be drawn like something else: accents, conjoining letters, and letters that stand for others. */
const lookAlikes = String.raw`[\u1100-\u11FF]|\P{M}?\p{M}+|[^\x00-\x7F]`;
const maxAccents = 2;

/** As it is, if it is the one way to write what it looks like and its accents do not cover their neighbours. */
function showLookAlike(found: string): string {
  const characters = Array.from(found);
  const isPlain = found.normalize("NFC") === found && !/^[\p{M}\u1100-\u11FF]/u.test(found);
  if (isPlain && characters.length <= maxAccents + 1) return found;
  return characters
    .map((character) =>
      /\p{M}/u.test(character) ||
      character.normalize("NFC") !== character ||
      characters.length === 1
        ? escapeOf(character, 1)
        : character,
    )
    .join("");
}

/**
 * What is written as an escape, first match first: what already looks like one, runs of invisible characters, and
 * blanks that would push the rest out of sight or end a line unseen.
 */
const escaped = new RegExp(
  [
    String.raw`(?<escape>\\(?=u\{))`,
    String.raw`(?<run>${invisible})\k<run>*`,
    String.raw`(?<blank>[ \t])\k<blank>{39,}`,
    String.raw`(?<last>[ \t])\k<last>*$`,
    lookAlikes,
  ].join("|"),
  "gu",
);

/** One line, so that it can be read back exactly from what is shown: no two lines are shown alike. */
function showLine(line: string): string {
  return line.replace(escaped, (found, escape, run, blank, last) => {
    if ([escape, run, blank, last].every((group) => group === undefined))
      return showLookAlike(found);
    const first = String.fromCodePoint(found.codePointAt(0) ?? 0);
    return escapeOf(first, found.length / first.length);
  });
}

const emptyLinesKept = 2;
const sameLinesKept = 4;

/**
 * Lines as a person can check them, each after `gutter`; a remark in brackets has no gutter, so that no line can pass
 * for one. Repeated lines are counted, so that nothing is pushed out of sight.
 */
export function showLines(lines: readonly string[], gutter: string): readonly string[] {
  const shown: string[] = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? "";
    let end = at + 1;
    while (end < lines.length && lines[end] === line) end += 1;
    const count = end - at;
    const isAtEdge = at === 0 || end === lines.length;
    if (line === "" && (count > emptyLinesKept || isAtEdge))
      shown.push(`[${count.toLocaleString("en")} empty line${count === 1 ? "" : "s"}]`);
    else if (line !== "" && count > sameLinesKept)
      shown.push(
        `${gutter}${showLine(line)}`,
        `[the line above ${(count - 1).toLocaleString("en")} more times]`,
      );
    else for (let n = 0; n < count; n += 1) shown.push(`${gutter}${showLine(line)}`);
    at = end;
  }
  return shown;
}

const quotedCharacters: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\t": "\\t",
};

/** A text on one line and in quotes, which can be read back exactly. Runs of line breaks are counted. */
export function quote(text: string): string {
  const inside = text.replace(quoted, (found, run, blank) => {
    const first = String.fromCodePoint(found.codePointAt(0) ?? 0);
    const count = found.length / first.length;
    if (first === "\n") return count < 4 ? "\\n".repeat(count) : escapeOf(first, count);
    const isEscaped = run !== undefined || blank !== undefined;
    return quotedCharacters[found] ?? (isEscaped ? escapeOf(first, count) : showLookAlike(found));
  });
  return `"${inside}"`;
}

const quoted = new RegExp(
  [
    String.raw`["\\\t]`,
    String.raw`\n+`,
    String.raw`(?<run>${invisible})\k<run>*`,
    String.raw`(?<blank> )\k<blank>{39,}`,
    lookAlikes,
  ].join("|"),
  "gu",
);
