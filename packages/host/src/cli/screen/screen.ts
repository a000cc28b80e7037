import { fitTo, widthOf } from "./width.ts";

/** The writable part of a terminal. */
export interface TerminalOutput {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  on?(event: "resize", listener: () => void): unknown;
  off?(event: "resize", listener: () => void): unknown;
}

/** The changing rows at the bottom: what is being written, and what is being typed. */
export interface LiveRegion {
  readonly rows: readonly string[];
  /** The cursor's position; at the end if absent. */
  readonly cursor?: { readonly row: number; readonly column: number };
}

export interface Screen {
  readonly width: number;
  readonly height: number;
  /** Writes permanent rows above the region and redraws the region. Rows of the region are cut at the width. */
  show(finished: readonly string[], region: LiveRegion): void;
  /** Leaves the region as it is and moves below it. */
  close(): void;
}

const csi = "\u001b[";
/** A terminal marks pasted text with these, so that it is not taken for typing. */
const bracketedPaste = { on: `${csi}?2004h`, off: `${csi}?2004l` } as const;

/** A terminal of unknown width reports nothing, or zero columns. */
export function columnsOf(output: TerminalOutput, fallback: number): number {
  return output.columns === undefined || output.columns === 0 ? fallback : output.columns;
}

/**
 * A terminal whose scrollback only grows. The region is erased and redrawn in one write, so that nothing flickers.
 * Its height is computed for the window's current width, which may have shrunk.
 */
export function createScreen(output: TerminalOutput): Screen {
  let drawn: LiveRegion = { rows: [] };
  output.write(bracketedPaste.on);

  function heightOf(row: string): number {
    return Math.max(1, Math.ceil(widthOf(row) / columnsOf(output, 80)));
  }

  function erase(): string {
    if (drawn.rows.length === 0) return "";
    const cursorRow = drawn.cursor?.row ?? drawn.rows.length - 1;
    const cursorColumn = drawn.cursor?.column ?? widthOf(drawn.rows.at(-1) ?? "");
    let rowsUp = Math.floor(cursorColumn / columnsOf(output, 80));
    for (const row of drawn.rows.slice(0, cursorRow)) rowsUp += heightOf(row);
    return `${rowsUp > 0 ? `${csi}${rowsUp}A` : ""}\r${csi}J`;
  }

  function moveCursor({ rows, cursor }: LiveRegion): string {
    if (cursor === undefined) return "";
    const rowsUp = rows.length - 1 - cursor.row;
    const moveRight = cursor.column > 0 ? `${csi}${cursor.column}C` : "";
    return `${rowsUp > 0 ? `${csi}${rowsUp}A` : ""}\r${moveRight}`;
  }

  // The last column stays free: after writing it, a terminal's cursor is on neither row.
  const currentWidth = (): number => Math.max(10, columnsOf(output, 80) - 1);

  return {
    get width() {
      return currentWidth();
    },
    get height() {
      return Math.max(4, output.rows ?? 24);
    },
    show(finished, region) {
      const above = finished.map((row) => `${row}\n`).join("");
      const fitted = { ...region, rows: region.rows.map((row) => fitTo(row, currentWidth())) };
      output.write(erase() + above + fitted.rows.join("\n") + moveCursor(fitted));
      drawn = fitted;
    },
    close() {
      const below = drawn.rows.length - 1 - (drawn.cursor?.row ?? drawn.rows.length - 1);
      const lineBreak = drawn.rows.length === 0 ? "" : "\r\n";
      output.write(`${below > 0 ? `${csi}${below}B` : ""}${lineBreak}${bracketedPaste.off}`);
      drawn = { rows: [] };
    },
  };
}
