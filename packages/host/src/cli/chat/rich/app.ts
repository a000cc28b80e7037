import { Box, Static, Text, useCursor } from "ink";
import { createElement as h, Fragment, type ReactElement } from "react";
import type { ScreenLayout } from "./frame.ts";

export interface ChatScreenProps {
  /** Rows that stand for good, in the order in which they came; each time only what is new is written. */
  readonly settled: string[];
  /** What may still change; nothing once the person has left. */
  readonly layout: ScreenLayout | null;
}

/** What stands goes above, into the terminal's own scroll-back; what may change is drawn anew below it. */
export function ChatScreen({ settled, layout: frame }: ChatScreenProps): ReactElement {
  return h(
    Fragment,
    null,
    h(Static<string>, {
      items: settled,
      children: (rows: string, index: number) => h(Text, { key: index, wrap: "hard" }, rows),
    }),
    frame === null ? null : h(LiveRows, { frame }),
  );
}

function LiveRows({ frame: { rows, cursor } }: { readonly frame: ScreenLayout }): ReactElement {
  useCursor().setCursorPosition({ x: cursor.column, y: cursor.row });
  return h(
    Box,
    { flexDirection: "column" },
    // A row that is empty would have no height.
    rows.map((row, index) => h(Text, { key: index, wrap: "truncate-end" }, row === "" ? " " : row)),
  );
}
