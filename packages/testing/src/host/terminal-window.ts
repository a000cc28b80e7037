import { Writable } from "node:stream";

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });
// oxlint-disable-next-line no-control-regex -- what a terminal obeys
const control = /^(?:\u001b\[([?>]?)([\d;]*)([A-Za-z])|\r|\n)/;
// oxlint-disable-next-line no-control-regex -- what a terminal obeys
const supported = /[\u0000-\u001f\u007f-\u009f]/;

/**
 * A terminal window, as far as Holdfast may use one: it renders what is written as a person would see it. It supports
 * few sequences and throws at every other one: output of a model or a tool must never get that far.
 */
export class TerminalWindow extends Writable {
  readonly isTTY = true;
  columns: number;
  rows: number;
  /** Everything that was written, verbatim. */
  raw = "";
  #lines: string[][] = [[]];
  #row = 0;
  #column = 0;
  readonly #watchers = new Set<() => void>();

  constructor(columns = 80, rows = 24) {
    super({ decodeStrings: false });
    this.columns = columns;
    this.rows = rows;
  }

  override _write(chunk: string | Buffer, _: string, done: (error?: Error) => void): void {
    this.raw += chunk.toString();
    this.#execute(chunk.toString());
    for (const look of this.#watchers) look();
    done();
  }

  /** The text in the window and its scrollback. */
  text(): string {
    return this.#lines.map((cells) => cells.join("").trimEnd()).join("\n");
  }

  /** The text left of the cursor in its row. */
  beforeCursor(): string {
    const cells = this.#lines[this.#row] ?? [];
    return Array.from({ length: this.#column }, (_, at) => cells[at] ?? " ").join("");
  }

  /** Resolves as soon as the window shows it. */
  showing(wanted: RegExp): Promise<string> {
    return new Promise((resolve) => {
      const look = (): void => {
        const text = this.text();
        if (!wanted.test(text)) return;
        this.#watchers.delete(look);
        resolve(text);
      };
      this.#watchers.add(look);
      look();
    });
  }

  /** Rows that are too long for a narrower window wrap, as in real terminals. */
  resize(columns: number, rows = this.rows): void {
    let cursor = this.#row;
    this.#lines = this.#lines.flatMap((cells, at) => {
      const height = Math.max(1, Math.ceil(cells.length / columns));
      if (at < this.#row) cursor += height - 1;
      return Array.from({ length: height }, (_, part) =>
        cells.slice(part * columns, (part + 1) * columns),
      );
    });
    this.#row = cursor + Math.floor(this.#column / columns);
    this.#column %= columns;
    this.columns = columns;
    this.rows = rows;
    this.emit("resize");
  }

  #execute(text: string): void {
    let rest = text;
    while (rest !== "") {
      const found = control.exec(rest);
      if (found === null) {
        const [{ segment } = { segment: "" }] = graphemes.segment(rest);
        this.#put(segment);
        rest = rest.slice(segment.length);
        continue;
      }
      rest = rest.slice(found[0].length);
      if (found[0] === "\r") this.#column = 0;
      else if (found[0] === "\n") this.#lineFeed();
      else this.#sequence(found[1] ?? "", found[2] ?? "", found[3] ?? "");
    }
  }

  #sequence(mark: string, numbers: string, name: string): void {
    const count = Number(numbers === "" ? 1 : numbers);
    const top = Math.max(0, this.#lines.length - this.rows);
    switch (mark + name) {
      case "A":
        this.#row = Math.max(top, this.#row - count);
        return;
      case "B":
        this.#row = Math.min(this.#lines.length - 1, this.#row + count);
        return;
      case "C":
        this.#column += count;
        return;
      case "G":
        this.#column = count - 1;
        return;
      case "H":
        if (numbers !== "1;1") throw new Error(`unknown: go to ${numbers}`);
        [this.#row, this.#column] = [top, 0];
        return;
      case "K":
        if (numbers !== "2") throw new Error(`unknown: erase ${numbers}`);
        this.#lines[this.#row] = [];
        return;
      case "J":
        if (numbers !== "") throw new Error(`unknown: erase all ${numbers}`);
        this.#lines.length = this.#row + 1;
        this.#lines[this.#row]?.splice(this.#column);
        return;
      case "m":
      case "?h":
      case "?l":
        return;
      default:
        throw new Error(`unknown: ${JSON.stringify(mark + numbers + name)}`);
    }
  }

  #put(grapheme: string): void {
    if (supported.test(grapheme)) throw new Error(`unknown: ${JSON.stringify(grapheme)}`);
    const wide = /\p{Emoji_Presentation}|[\u3000-\u9fff\uac00-\ud7a3\uff00-\uff60]/u.test(grapheme);
    if (this.#column + (wide ? 2 : 1) > this.columns) this.#lineFeed();
    const cells = this.#lines[this.#row] ?? [];
    while (cells.length < this.#column) cells.push(" ");
    cells.splice(this.#column, wide ? 2 : 1, ...(wide ? [grapheme, ""] : [grapheme]));
    this.#column += wide ? 2 : 1;
  }

  /** A terminal adds the carriage return to a line feed by itself. */
  #lineFeed(): void {
    this.#column = 0;
    this.#row += 1;
    if (this.#row === this.#lines.length) this.#lines.push([]);
  }
}
