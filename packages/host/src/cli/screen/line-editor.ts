import { splitGraphemes, cleanLine, widthOf } from "./text.ts";

/** A key as `node:readline` names it. */
export interface Key {
  readonly name?: string | undefined;
  readonly ctrl?: boolean | undefined;
  readonly meta?: boolean | undefined;
  readonly sequence?: string | undefined;
}

/** What a key asks of whoever holds the editor. */
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
 * The text that a person is typing. A paste is text whatever it holds: its line feeds send nothing. The cursor stands
 * between characters as people see them, never inside one.
 */
export class LineEditor {
  #text = "";
  #cursor = 0;
  #history: string[];
  /** How far back in the history; 0 is what is being typed. */
  #back = 0;
  #draft = "";
  #pasting = false;

  constructor(history: readonly string[] = []) {
    this.#history = history.slice(-maxHistory);
  }

  get text(): string {
    return this.#text;
  }

  get cursor(): number {
    return this.#cursor;
  }

  /** Whether what comes now was pasted, and so is no key that a person has pressed. */
  get isPasting(): boolean {
    return this.#pasting;
  }

  get history(): readonly string[] {
    return this.#history;
  }

  /** Takes the text out, and keeps it in the history. */
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
    this.#back = 0;
  }

  press(typed: string | undefined, key: Key): EditorAction {
    if (key.name === "paste-start" || key.name === "paste-end") {
      this.#pasting = key.name === "paste-start";
      return "nothing";
    }
    if (this.#pasting) return this.#insert(pasted(typed, key));
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
        return this.#remove(this.#before(), this.#cursor);
      case "delete":
        return this.#remove(this.#cursor, this.#after());
      case "left":
        return this.#moveTo(this.#before());
      case "right":
        return this.#moveTo(this.#after());
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
        return this.#text === "" ? "leave" : this.#remove(this.#cursor, this.#after());
      case "l":
        return "redraw";
      case "a":
        return this.#moveTo(this.#lineStart());
      case "e":
        return this.#moveTo(this.#lineEnd());
      case "b":
        return this.#moveTo(this.#before());
      case "f":
        return this.#moveTo(this.#after());
      case "h":
        return this.#remove(this.#before(), this.#cursor);
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

  #moveTo(place: number): EditorAction {
    this.#cursor = Math.max(0, Math.min(this.#text.length, place));
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
    const back = this.#back + steps;
    if (back < 0 || back > this.#history.length) return "nothing";
    if (this.#back === 0) this.#draft = this.#text;
    const text = back === 0 ? this.#draft : (this.#history.at(-back) ?? "");
    this.set(text);
    this.#back = back;
    return "changed";
  }

  #before(): number {
    const last = splitGraphemes(this.#text.slice(0, this.#cursor)).at(-1);
    return this.#cursor - (last?.length ?? 0);
  }

  #after(): number {
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
    const before = this.#text.slice(0, this.#cursor);
    const word = before.trimEnd();
    return word.length - (word.split(/\s/u).at(-1)?.length ?? 0);
  }

  #wordEnd(): number {
    const ahead = /^\s*\S+/u.exec(this.#text.slice(this.#cursor))?.[0] ?? "";
    return this.#cursor + ahead.length;
  }
}

function pasted(typed: string | undefined, key: Key): string {
  if (key.name === "return" || key.name === "enter") return "\n";
  if (key.name === "tab") return "\t";
  return isPrintable(typed) ? typed : "";
}

function isPrintable(typed: string | undefined): typed is string {
  return typed !== undefined && typed !== "" && !/\p{Cc}/u.test(typed);
}

export interface DrawnPrompt {
  readonly rows: readonly string[];
  /** Where the cursor stands among these rows. */
  readonly row: number;
  readonly column: number;
}

/** What is typed, row by row, with its cursor. Rows are as wide as the window allows, and no wider. */
export function drawPrompt(
  mark: string,
  { text, cursor }: { readonly text: string; readonly cursor: number },
  width: number,
): DrawnPrompt {
  const indent = " ".repeat(widthOf(mark));
  const room = Math.max(2, width - indent.length);
  const rows: string[] = [];
  let row = "";
  let at = 0;
  let place: { row: number; column: number } | undefined;
  const notice = (): void => {
    if (place === undefined && at >= cursor)
      place = { row: rows.length, column: indent.length + widthOf(row) };
  };
  for (const grapheme of splitGraphemes(text)) {
    const shown = grapheme === "\n" ? "" : cleanLine(grapheme);
    if (grapheme !== "\n" && widthOf(row) + widthOf(shown) > room) {
      rows.push(row);
      row = "";
    }
    notice();
    at += grapheme.length;
    if (grapheme === "\n") {
      rows.push(row);
      row = "";
    } else row += shown;
  }
  notice();
  rows.push(row);
  const lead = (index: number): string => (index === 0 ? mark : indent);
  return {
    rows: rows.map((each, index) => lead(index) + each),
    ...(place ?? { row: rows.length - 1, column: indent.length + widthOf(row) }),
  };
}
