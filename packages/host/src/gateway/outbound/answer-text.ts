/** A line that opens or closes a block of code. */
const fenceLine = /^ {0,3}(`{3,}|~{3,})([^`\n]*)$/;

interface CodeFence {
  readonly mark: string;
  readonly info: string;
}

/** The block of code that is open at the end of a text, by the line that opened it. */
function openFence(text: string): CodeFence | null {
  let open: CodeFence | null = null;
  for (const line of text.split("\n")) {
    const [, mark, info = ""] = fenceLine.exec(line) ?? [];
    if (mark === undefined) continue;
    if (open === null) open = { mark, info: info.trim() };
    else if (mark.startsWith(open.mark) && info.trim() === "") open = null;
  }
  return open;
}

/** Room for what is added where a block of code is taken apart: it is closed above, and opened again below. */
const fenceReserve = 80;
const maxInfoLength = 20;

/**
 * Where the chunk that begins at `from` ends, if it can hold no more. It follows from what stands before that end alone, so
 * a text that grows leaves the chunks that are full as they are. `null`: all of it fits.
 */
export function chunkEnd(text: string, from: number, limit: number): number | null {
  const room = limit - fenceReserve;
  if (text.length - from <= room) return null;
  const window = text.slice(from, from + room);
  // In the second half, at the best place that there is: between paragraphs, lines, words.
  for (const place of ["\n\n", "\n", " "]) {
    const at = window.lastIndexOf(place);
    if (at >= room / 2) return from + at + place.length;
  }
  const isInPair = /[\uD800-\uDBFF]/.test(window.at(-1) ?? "");
  return from + room - (isInPair ? 1 : 0);
}

/** A stretch of a text as a message of its own: a block of code that it cuts through is closed, and opened again. */
export function chunkText(text: string, from: number, to: number): string {
  const above = openFence(text.slice(0, from));
  const below = openFence(text.slice(0, to));
  const body = text.slice(from, to).replace(/\n+$/, "");
  const head = above === null ? "" : `${above.mark}${above.info.slice(0, maxInfoLength)}\n`;
  const tail = below === null ? "" : `\n${below.mark}`;
  return above === null ? `${body.replace(/^\n+/, "")}${tail}` : `${head}${body}${tail}`;
}
