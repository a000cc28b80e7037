import type { EntryView, Part, Seq } from "@holdfast/protocol";
import { type MessageRow, type Row, rowsOf, seqOf } from "../transcript/rows.ts";
import { toolHeadline } from "../transcript/tool-details.tsx";

/** A row of the transcript with all that can be found in it. */
export interface FindableRow {
  readonly seq: Seq;
  readonly text: string;
}

export function findableRows(entries: readonly EntryView[]): readonly FindableRow[] {
  return rowsOf(entries).flatMap((row) => {
    const seq = seqOf(row);
    return seq === null ? [] : [{ seq, text: textOfRow(row) }];
  });
}

/** The rows that contain the text, whatever its case. */
export function findRows(rows: readonly FindableRow[], text: string): readonly FindableRow[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  return rows.filter((row) => row.text.toLowerCase().includes(wanted));
}

function textOfRow(row: Row): string {
  switch (row.kind) {
    case "message":
      return textOfMessage(row);
    case "notice":
      return row.entry.text;
    case "compaction":
      return row.entry.summary;
    default:
      return "";
  }
}

function textOfMessage({ entry, results }: MessageRow): string {
  return entry.parts
    .flatMap((part, index) => [textOfPart(part), results[index]?.output ?? ""])
    .join("\n");
}

function textOfPart(part: Part): string {
  switch (part.type) {
    case "text":
    case "notice":
    case "reasoning":
      return part.text;
    case "tool_call":
      return toolHeadline(part.input);
    case "tool_result":
      return part.output;
    case "file":
      return part.name;
    default:
      return "";
  }
}
