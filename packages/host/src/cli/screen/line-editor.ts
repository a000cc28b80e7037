import { cleanLine } from "./text.ts";
import { splitGraphemes, widthOf } from "./width.ts";

/** A key as `node:readline` names it. */
export interface Key {
  readonly name?: string | undefined;
  readonly ctrl?: boolean | undefined;
  readonly meta?: boolean | undefined;
  readonly sequence?: string | undefined;
}

/** What the editor's owner has to do after a key. */
export type EditorAction =
  | "changed"
  | "submit"
  | "interrupt"
  | "leave"
  | "complete"
  | "redraw"
  | "nothing";

const maxHistory = 500;

/**
 * The text being typed. Pasted text is only text: its line breaks send nothing. The cursor is always between
 * graphemes.
 */
export class LineEditor {
  #text = "";
  #cursor = 0;
  #history: string[];
  /** Position in the history; 0 is the line being typed. */
  #historyPosition = 0;
  #draft = "";
  #pasting = false;
  #paste = "";
  readonly #onPaste: (text: string) => void;

  constructor(history: readonly string[] = [], onPaste: (text: string) => void = () => {}) {
    this.#history = history.slice(-maxHistory);
    this.#onPaste = onPaste;
  }

  get text(): string {
    return this.#text;
  }

  get cursor(): number {
    return this.#cursor;
  }

  /** Whether the current input is pasted, and thus no key press. */
  get isPasting(): boolean {
    return this.#pasting;
  }

  /** Whether the text comes from the history. */
  get isRecalling(): boolean {
    return this.#historyPosition > 0;
  }

  get history(): readonly string[] {
    return this.#history;
  }

  /** Returns the text, clears it and adds it to the history. */
  take(): string {
    const text = this.#text;
    if (text.trim() !== "" && this.#history.at(-1) !== text)
      this.#history = [...this.#history, text].slice(-maxHistory);
    this.set("");
    return text;
  }

  set(text: string): void {
    this.#text = text;
    this.#cursor = text.length;
    this.#historyPosition = 0;
  }

  /** Replaces the last occurrence of a text, if it is still there. */
  replace(text: string, replacement: string): void {
    const at = this.#text.lastIndexOf(text);
    if (at === -1 || text === "") return;
    this.#text = this.#text.slice(0, at) + replacement + this.#text.slice(at + text.length);
    if (this.#cursor >= at + text.length) this.#cursor += replacement.length - text.length;
    else if (this.#cursor > at) this.#cursor = at + replacement.length;
  }

  press(typed: string | undefined, key: Key): EditorAction {
    if (key.name === "paste-start" || key.name === "paste-end") {
      if (this.#pasting) this.#onPaste(this.#paste);
      this.#paste = "";
      this.#pasting = key.name === "paste-start";
      return "nothing";
    }
    if (this.#pasting) {
      const pasted = pastedText(typed, key);
      this.#paste += pasted;
      return this.#insert(pasted);
    }
    if (key.ctrl === true) return this.#control(key.name ?? "");
    if (key.meta === true) return this.#meta(key.name ?? "");
    return this.#plain(typed, key.name ?? "");
  }

  #plain(typed: string | undefined, name: string): EditorAction {
    switch (name) {
      case "return":
        return "submit";
      case "enter":
        return this.#insert("\n");
      case "tab":
        return "complete";
      case "backspace":
        return this.#remove(this.#previousGrapheme(), this.#cursor);
      case "delete":
        return this.#remove(this.#cursor, this.#nextGrapheme());
      case "left":
        return this.#moveTo(this.#previousGrapheme());
      case "right":
        return this.#moveTo(this.#nextGrapheme());
      case "home":
        return this.#moveTo(this.#lineStart());
      case "end":
        return this.#moveTo(this.#lineEnd());
      case "up":
        return this.#lineStart() > 0 ? this.#moveLine(-1) : this.#recall(1);
      case "down":
        return this.#lineEnd() < this.#text.length ? this.#moveLine(1) : this.#recall(-1);
      default:
        return this.#insert(isPrintable(typed) ? typed : "");
    }
  }

  #control(name: string): EditorAction {
    switch (name) {
      case "c":
        return "interrupt";
      case "d":
        return this.#text === "" ? "leave" : this.#remove(this.#cursor, this.#nextGrapheme());
      case "l":
        return "redraw";
      case "a":
        return this.#moveTo(this.#lineStart());
      case "e":
        return this.#moveTo(this.#lineEnd());
      case "b":
        return this.#moveTo(this.#previousGrapheme());
      case "f":
        return this.#moveTo(this.#nextGrapheme());
      case "h":
        return this.#remove(this.#previousGrapheme(), this.#cursor);
      case "j":
        return this.#insert("\n");
      case "k":
        return this.#remove(this.#cursor, this.#lineEnd());
      case "u":
        return this.#remove(this.#lineStart(), this.#cursor);
      case "w":
        return this.#remove(this.#wordStart(), this.#cursor);
      case "p":
        return this.#recall(1);
      case "n":
        return this.#recall(-1);
      case "left":
        return this.#moveTo(this.#wordStart());
      case "right":
        return this.#moveTo(this.#wordEnd());
      default:
        return "nothing";
    }
  }

  #meta(name: string): EditorAction {
    switch (name) {
      case "return":
      case "enter":
        return this.#insert("\n");
      case "b":
      case "left":
        return this.#moveTo(this.#wordStart());
      case "f":
      case "right":
        return this.#moveTo(this.#wordEnd());
      case "backspace":
        return this.#remove(this.#wordStart(), this.#cursor);
      default:
        return "nothing";
    }
  }

  #insert(text: string): EditorAction {
    if (text === "") return "nothing";
    this.#text = this.#text.slice(0, this.#cursor) + text + this.#text.slice(this.#cursor);
    this.#cursor += text.length;
    return "changed";
  }

  #remove(from: number, to: number): EditorAction {
    this.#text = this.#text.slice(0, from) + this.#text.slice(to);
    return this.#moveTo(from);
  }

  #moveTo(position: number): EditorAction {
    this.#cursor = Math.max(0, Math.min(this.#text.length, position));
    return "changed";
  }

  #moveLine(lines: 1 | -1): EditorAction {
    const start = this.#lineStart();
    const column = this.#cursor - start;
    if (lines === 1) {
      const next = this.#lineEnd() + 1;
      const end = this.#text.indexOf("\n", next);
      return this.#moveTo(Math.min(next + column, end === -1 ? this.#text.length : end));
    }
    const above = this.#text.lastIndexOf("\n", start - 2) + 1;
    return this.#moveTo(Math.min(above + column, start - 1));
  }

  #recall(steps: 1 | -1): EditorAction {
    const position = this.#historyPosition + steps;
    if (position < 0 || position > this.#history.length) return "nothing";
    if (this.#historyPosition === 0) this.#draft = this.#text;
    const text = position === 0 ? this.#draft : (this.#history.at(-position) ?? "");
    this.set(text);
    this.#historyPosition = position;
    return "changed";
  }

  #previousGrapheme(): number {
    const last = splitGraphemes(this.#text.slice(0, this.#cursor)).at(-1);
    return this.#cursor - (last?.length ?? 0);
  }

  #nextGrapheme(): number {
    const [first] = splitGraphemes(this.#text.slice(this.#cursor));
    return this.#cursor + (first?.length ?? 0);
  }

  #lineStart(): number {
    return this.#cursor === 0 ? 0 : this.#text.lastIndexOf("\n", this.#cursor - 1) + 1;
  }

  #lineEnd(): number {
    const end = this.#text.indexOf("\n", this.#cursor);
    return end === -1 ? this.#text.length : end;
  }

  #wordStart(): number {
    const text = this.#text.slice(0, this.#cursor);
    const word = text.trimEnd();
    return word.length - (word.split(/\s/u).at(-1)?.length ?? 0);
  }

  #wordEnd(): number {
    const ahead = /^\s*\S+/u.exec(this.#text.slice(this.#cursor))?.[0] ?? "";
    return this.#cursor + ahead.length;
  }
}

function pastedText(typed: string | undefined, key: Key): string {
  if (key.name === "return" || key.name === "enter") return "\n";
  if (key.name === "tab") return "\t";
  return isPrintable(typed) ? typed : "";
}

function isPrintable(typed: string | undefined): typed is string {
  return typed !== undefined && typed !== "" && !/\p{Cc}/u.test(typed);
}

export interface DrawnPrompt {
  readonly rows: readonly string[];
  /** The cursor's position among these rows. */
  readonly row: number;
  readonly column: number;
}

/** Renders the input and its cursor as rows that fit the width. */
export function drawPrompt(
  mark: string,
  { text, cursor }: { readonly text: string; readonly cursor: number },
  width: number,
): DrawnPrompt {
  const indent = " ".repeat(widthOf(mark));
  const room = Math.max(2, width - indent.length);
  const rows: string[] = [];
  let row = "";
  let rowWidth = 0;
  let at = 0;
  let cursorPosition: { row: number; column: number } | undefined;
  const recordCursor = (): void => {
    if (cursorPosition === undefined && at >= cursor)
      cursorPosition = { row: rows.length, column: indent.length + rowWidth };
  };
  const endRow = (): void => {
    rows.push(row);
    row = "";
    rowWidth = 0;
  };
  for (const grapheme of splitGraphemes(text)) {
    const shown = grapheme === "\n" ? "" : cleanLine(grapheme);
    const columns = widthOf(shown);
    if (rowWidth + columns > room) endRow();
    recordCursor();
    at += grapheme.length;
    row += shown;
    rowWidth += columns;
    if (grapheme === "\n") endRow();
  }
  recordCursor();
  const end = { row: rows.length, column: indent.length + rowWidth };
  endRow();
  const prefix = (index: number): string => (index === 0 ? mark : indent);
  return {
    rows: rows.map((line, index) => prefix(index) + line),
    ...(cursorPosition ?? end),
  };
}
