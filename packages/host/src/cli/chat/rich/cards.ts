import { cleanLine, cleanText } from "../../screen/text.ts";
import { fitTo } from "../../screen/width.ts";
import { type RenderStyle } from "../../screen/markdown.ts";
import { wrapBlock, type PieceRows, PlainRows } from "../../transcript/rows.ts";
import { describeCall } from "../../transcript/describe.ts";
import { describeOutcome } from "../../transcript/ends.ts";
import { type TranscriptPiece } from "../../transcript/pieces.ts";

type ToolEndPiece = Extract<TranscriptPiece, { kind: "toolEnded" }>;

/** What is not shown whole, to be shown when a person asks for it. */
export interface FoldedText {
  readonly title: string;
  readonly text: string;
}

const maxCallRows = 4;
const maxOutputRows = 8;
const maxDiffRows = 24;
const outcomeMarks = { ok: "✓", failed: "✗", cancelled: "■", unknown: "?" } as const;

/** Pieces as rows in which a tool's call and its end are one card, and a thought is a word about it. */
export class CardRows implements PieceRows {
  readonly #plain = new PlainRows();
  readonly #fold: (folded: FoldedText) => void;

  constructor(fold: (folded: FoldedText) => void) {
    this.#fold = fold;
  }

  add(piece: TranscriptPiece, look: RenderStyle): string[] {
    switch (piece.kind) {
      case "thought": {
        this.#fold({ title: "What it thought", text: piece.text });
        const words = piece.text.trim().split(/\s+/).length;
        return [
          "",
          look.paint("dim", `✻ thought, ${words} ${words === 1 ? "word" : "words"}: Ctrl-O`),
        ];
      }
      case "toolBegan":
        // It is among what changes until it has ended.
        return [];
      case "toolEnded":
        return this.#card(piece, look);
      default:
        return this.#plain.add(piece, look);
    }
  }

  openRows(look: RenderStyle): string[] {
    return this.#plain.openRows(look);
  }

  #card(piece: ToolEndPiece, look: RenderStyle): string[] {
    const { paint } = look;
    const inner = { ...look, width: look.width - 2 };
    const call = wrapBlock(describeCall(piece.name, piece.input), inner, "⚙ ", ["accent"]);
    const body = piece.changes?.flatMap((change) => diffRows(change, inner)) ?? outputRows(piece);
    const most = piece.changes === undefined ? maxOutputRows : maxDiffRows;
    const hidden = Math.max(0, call.length - maxCallRows) + Math.max(0, body.length - most);
    if (hidden > 0) this.#fold(unfoldedCard(piece));
    const shown = [...call.slice(0, maxCallRows), ...body.slice(0, most).map((row) => row(inner))];
    const took = piece.tookMs === null ? "" : ` ${(piece.tookMs / 1000).toFixed(1)} s`;
    const more =
      hidden === 0
        ? ""
        : paint("dim", ` · ${hidden} more ${hidden === 1 ? "line" : "lines"}: Ctrl-O`);
    const end = `${outcomeMarks[piece.outcome]} ${describeOutcome(piece)}${took}`;
    return [
      "",
      ...shown.map((row, index) => paint("dim", index === 0 ? "╭ " : "│ ") + row),
      paint("dim", "╰ ") + paint(piece.outcome === "ok" ? "good" : "bad", end) + more,
    ];
  }
}

type Row = (look: RenderStyle) => string;

function outputRows({ output }: ToolEndPiece): Row[] {
  if (output.trim() === "") return [];
  return linesOf(output).map(
    (line) =>
      ({ width, paint }) =>
        paint("dim", fitTo(line, width)),
  );
}

function diffRows(
  { path, change, diff }: NonNullable<ToolEndPiece["changes"]>[number],
  look: RenderStyle,
): Row[] {
  const head = `${change} ${cleanLine(path)}`;
  const lines = linesOf(diff).filter((line) => !/^(?:---|\+\+\+) /.test(line));
  return [
    () => look.paint("bold", fitTo(head, look.width)),
    ...lines.map((line): Row => ({ width, paint }) => {
      const row = fitTo(line, width);
      if (line.startsWith("+")) return paint("good", row);
      return paint(line.startsWith("-") ? "bad" : "dim", row);
    }),
  ];
}

function unfoldedCard({ name, input, output, changes }: ToolEndPiece): FoldedText {
  const diffs = changes?.map(({ diff }) => diff).join("\n");
  return { title: describeCall(name, input), text: diffs ?? output };
}

/** Every line of it, clean, without the blanks at its end. */
export function linesOf(text: string): string[] {
  return cleanText(text).replaceAll("\t", "    ").trimEnd().split("\n");
}
