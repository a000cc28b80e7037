import { Box, Static, Text, useCursor } from "ink";
import { createElement as h, Fragment, type ReactElement } from "react";
import type { Frame } from "./frame.ts";

export interface View {
  /** Rows that stand for good, in the order in which they came; each time only what is new is written. */
  readonly settled: string[];
  /** What may still change; nothing once the person has left. */
  readonly frame: Frame | null;
}

/** What stands goes above, into the terminal's own scroll-back; what may change is drawn anew below it. */
export function App({ settled, frame }: View): ReactElement {
  return h(
    Fragment,
    null,
    h(Static<string>, {
      items: settled,
      children: (rows: string, index: number) => h(Text, { key: index, wrap: "hard" }, rows),
    }),
    frame === null ? null : h(Live, { frame }),
  );
}

function Live({ frame: { rows, cursor } }: { readonly frame: Frame }): ReactElement {
  useCursor().setCursorPosition({ x: cursor.column, y: cursor.row });
  return h(
    Box,
    { flexDirection: "column" },
    // A row that is empty would have no height.
    rows.map((row, index) => h(Text, { key: index, wrap: "truncate-end" }, row === "" ? " " : row)),
  );
}
