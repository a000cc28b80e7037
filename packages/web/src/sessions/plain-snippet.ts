/** Marks of Markdown that tell nothing in a line of plain text: headings, quotes, lists, emphasis, code, tables, links. */
const marksOfMarkdown =
  /^#{1,6} |^> ?|^[-*+] (?:\[[ x]\] )?|(?<=\s)#{2,6} (?=\S)|\*\*|__|~~|`+|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])|\|[-: |]+\||(?<=\s)\|(?=\s)|^\||\|$|\]\([^)\s]*\)|!?\[(?=[^\]]*\]\()/g;

interface Snippet {
  readonly snippet: string;
  readonly marks: readonly (readonly [number, number])[];
}

/** The snippet without its Markdown, with the places of the matches moved accordingly. */
export function withoutMarkdown({ snippet, marks }: Snippet): Snippet {
  const removed: (readonly [number, number])[] = [];
  for (const { index, 0: found } of snippet.matchAll(marksOfMarkdown)) {
    const end = index + found.length;
    // What was searched for stays, whatever it is.
    if (marks.some(([from, to]) => from < end && index < to)) continue;
    removed.push([index, end]);
  }
  const moved = (at: number): number =>
    removed.reduce((sum, [from, to]) => sum - Math.max(0, Math.min(to, at) - from), at);
  let plain = "";
  let last = 0;
  for (const [from, to] of removed) {
    plain += snippet.slice(last, from);
    last = to;
  }
  return {
    snippet: plain + snippet.slice(last),
    marks: marks.map(([from, to]) => [moved(from), moved(to)] as const),
  };
}
