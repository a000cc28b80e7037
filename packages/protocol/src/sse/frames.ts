/** One block of an event stream. `id` is present only if the block itself carries one. */
export interface SseFrame {
  readonly event: string;
  readonly data: string;
  readonly id?: string;
}

export type SseItem =
  | { readonly kind: "frame"; readonly frame: SseFrame }
  | { readonly kind: "comment"; readonly text: string }
  | { readonly kind: "retry"; readonly ms: number };

const byteOrderMark = "\uFEFF";
const lineEnd = /\r\n|\r|\n/;

export function encodeSseFrame({ event, data, id }: SseFrame): string {
  const lines: string[] = [];
  if (id !== undefined) lines.push(`id: ${oneLine(id)}`);
  if (event !== "message") lines.push(`event: ${oneLine(event)}`);
  for (const line of data.split(lineEnd)) lines.push(`data: ${line}`);
  return `${lines.join("\n")}\n\n`;
}

/** Keeps a quiet connection open and shows that it is alive. */
export function encodeSseComment(text: string): string {
  return `: ${oneLine(text)}\n\n`;
}

export function encodeSseRetry(ms: number): string {
  return `retry: ${ms}\n\n`;
}

function oneLine(text: string): string {
  if (/[\r\n\0]/.test(text)) throw new Error("A field of an SSE frame must be on one line.");
  return text;
}

export interface SseDecoder {
  /** Returns the items these bytes complete. An unfinished block is never reported. */
  push(bytes: Uint8Array): SseItem[];
}

/** Decodes a stream by the rules of the HTML standard, however it is split into pieces. */
export function createSseDecoder(): SseDecoder {
  // Keeps the start of a split character. We strip the BOM ourselves, since platforms differ on a split stream.
  const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
  let hasStarted = false;
  const block = createBlockParser();
  let line = "";
  let endedInReturn = false;
  return {
    push(bytes) {
      const items: SseItem[] = [];
      let text = utf8.decode(bytes, { stream: true });
      if (text === "") return items;
      if (!hasStarted && text.startsWith(byteOrderMark)) text = text.slice(1);
      hasStarted = true;
      // The second half of a CRLF that was split across pieces.
      if (endedInReturn && text.startsWith("\n")) text = text.slice(1);
      endedInReturn = text.endsWith("\r");
      const lines = text.split(lineEnd);
      // Only the last piece is unfinished, so a long line is never scanned twice.
      const rest = lines.pop() ?? "";
      for (const piece of lines) {
        const item = block.take(line + piece);
        line = "";
        if (item !== undefined) items.push(item);
      }
      line += rest;
      return items;
    },
  };
}

/** Collects the lines of one block. */
function createBlockParser(): { take(line: string): SseItem | undefined } {
  let event = "";
  let data: string[] = [];
  let id: string | undefined;
  const finish = (): SseItem | undefined => {
    const frame: SseFrame = {
      event: event === "" ? "message" : event,
      data: data.join("\n"),
      ...(id !== undefined && { id }),
    };
    const empty = data.length === 0;
    event = "";
    data = [];
    id = undefined;
    return empty ? undefined : { kind: "frame", frame };
  };
  return {
    take(line) {
      if (line === "") return finish();
      const { name, value } = splitFieldLine(line);
      if (name === "") return { kind: "comment", text: value };
      if (name === "event") event = value;
      if (name === "data") data.push(value);
      if (name === "id" && !value.includes("\0")) id = value;
      if (name === "retry" && /^\d+$/.test(value)) return { kind: "retry", ms: Number(value) };
      return undefined;
    },
  };
}

function splitFieldLine(line: string): { name: string; value: string } {
  const colon = line.indexOf(":");
  if (colon === -1) return { name: line, value: "" };
  const value = line.slice(colon + 1);
  return { name: line.slice(0, colon), value: value.startsWith(" ") ? value.slice(1) : value };
}
