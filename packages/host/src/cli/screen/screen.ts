import { stripVTControlCharacters } from "node:util";
import { widthOf } from "./text.ts";

export type Style = "bold" | "dim" | "italic" | "underline" | "code" | "good" | "bad" | "accent";

/** Puts a style around text. Without colour it gives the text back. */
export type Paint = (style: Style, text: string) => string;

const styleCodes: Record<Style, readonly [number, number]> = {
  bold: [1, 22],
  dim: [2, 22],
  italic: [3, 23],
  underline: [4, 24],
  code: [36, 39],
  good: [32, 39],
  bad: [31, 39],
  accent: [34, 39],
};

export const plainPaint: Paint = (_, text) => text;

const colours: Paint = (style, text) => {
  const [on, off] = styleCodes[style];
  return text === "" ? "" : `\u001b[${on}m${text}\u001b[${off}m`;
};

/** Colour on a terminal only, and not where a person has said no to it (https://no-color.org). */
export function createPaint(
  output: { readonly isTTY?: boolean | undefined },
  environment: Readonly<Record<string, string | undefined>>,
): Paint {
  const wished = environment["FORCE_COLOR"];
  const refused = (environment["NO_COLOR"] ?? "") !== "" || environment["TERM"] === "dumb";
  if (refused || wished === "0") return plainPaint;
  return output.isTTY === true || (wished ?? "") !== "" ? colours : plainPaint;
}

/** The part of a terminal that is written to. */
export interface TerminalOutput {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  on?(event: "resize", listener: () => void): unknown;
  off?(event: "resize", listener: () => void): unknown;
}

/** The rows at the bottom that change: what is being written, and what is being typed. */
export interface LiveRegion {
  readonly rows: readonly string[];
  /** Where the cursor stands; at the end when absent. */
  readonly cursor?: { readonly row: number; readonly column: number };
}

export interface Screen {
  readonly width: number;
  readonly height: number;
  /** Puts finished rows above the region, for good, and draws the region anew. */
  show(finished: readonly string[], region: LiveRegion): void;
  /** Leaves the region where it is and goes below it. */
  close(): void;
}

const csi = "\u001b[";
/** Between these a terminal marks what is pasted, so that it is not taken for what is typed. */
export const bracketedPaste = { on: `${csi}?2004h`, off: `${csi}?2004l` } as const;

/** A terminal that does not know its width says nothing, or that it has no columns at all. */
export function columnsOf(output: TerminalOutput, otherwise: number): number {
  return output.columns === undefined || output.columns === 0 ? otherwise : output.columns;
}

/**
 * A terminal whose scrollback is only ever added to. The region is erased and drawn again in one write, so nothing
 * flickers; how high it stands is counted by the window as it is now, which may have been made narrower.
 */
export function createScreen(output: TerminalOutput): Screen {
  let drawn: LiveRegion = { rows: [] };
  output.write(bracketedPaste.on);

  function heightOf(row: string): number {
    const width = widthOf(stripVTControlCharacters(row));
    return Math.max(1, Math.ceil(width / columnsOf(output, 80)));
  }

  function erase(): string {
    if (drawn.rows.length === 0) return "";
    const cursorRow = drawn.cursor?.row ?? drawn.rows.length - 1;
    let up = 0;
    for (const row of drawn.rows.slice(0, cursorRow)) up += heightOf(row);
    return `${up > 0 ? `${csi}${up}A` : ""}\r${csi}J`;
  }

  function place({ rows, cursor }: LiveRegion): string {
    if (cursor === undefined) return "";
    const up = rows.length - 1 - cursor.row;
    const right = cursor.column > 0 ? `${csi}${cursor.column}C` : "";
    return `${up > 0 ? `${csi}${up}A` : ""}\r${right}`;
  }

  return {
    get width() {
      // The last column is left free: a terminal that has written it stands on neither row.
      return Math.max(10, columnsOf(output, 80) - 1);
    },
    get height() {
      return Math.max(4, output.rows ?? 24);
    },
    show(finished, region) {
      const above = finished.map((row) => `${row}\n`).join("");
      output.write(erase() + above + region.rows.join("\n") + place(region));
      drawn = region;
    },
    close() {
      const below = drawn.rows.length - 1 - (drawn.cursor?.row ?? drawn.rows.length - 1);
      output.write(`${below > 0 ? `${csi}${below}B` : ""}\r\n${bracketedPaste.off}`);
      drawn = { rows: [] };
    },
  };
}
