import { cleanLine, cleanText, fitTo, fitEndTo } from "../../screen/text.ts";
import { type RenderStyle } from "../../screen/markdown.ts";
import { wrapBlock, type PieceRows, PlainRows } from "../../transcript/rows.ts";
import { describeCall, describeOutcome } from "../../transcript/describe.ts";
import { type TranscriptPiece } from "../../transcript/pieces.ts";
import type { LiveMessage, LiveTool } from "@holdfast/protocol";
import type { SessionState } from "@holdfast/client";

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
function linesOf(text: string): string[] {
  return cleanText(text).replaceAll("\t", "    ").trimEnd().split("\n");
}

const maxLiveOutputRows = 5;

/** What is being thought and run, as it is now. `seconds` says for how long a call has been running. */
export function liveRows(
  state: SessionState | undefined,
  seconds: (tool: LiveTool) => number,
  look: RenderStyle,
): string[] {
  const live = state?.live;
  if (live == null) return [];
  const running = live.tools.filter(({ outcome }) => outcome === null);
  return [
    ...live.messages.flatMap((message) => thoughtRow(message, look)),
    ...running.flatMap((tool) => toolRows(tool, seconds(tool), look)),
  ];
}

/** Whether something is under way whose time is shown. */
export function hasRunningTool(state: SessionState | undefined): boolean {
  return state?.live?.tools.some(({ outcome }) => outcome === null) ?? false;
}

/** The end of a thought that is not at its end yet. */
function thoughtRow({ parts }: LiveMessage, { width, paint }: RenderStyle): string[] {
  const last = parts.at(-1);
  if (last?.kind !== "reasoning" || last.text.trim() === "") return [];
  const line = cleanLine(last.text.slice(-500)).trim();
  return [paint("dim", `✻ ${fitEndTo(line, width - 2)}`)];
}

function toolRows(tool: LiveTool, seconds: number, { width, paint }: RenderStyle): string[] {
  const call = cleanLine(describeCall(tool.name, tool.input));
  const time = ` ${seconds} s`;
  const tail =
    tool.output === "" ? [] : linesOf(tool.output.slice(-8_000)).slice(-maxLiveOutputRows);
  return [
    paint("dim", "╭ ") +
      paint("accent", fitTo(`⚙ ${call}`, Math.max(8, width - 2 - time.length))) +
      paint("dim", time),
    ...tail.map((line) => paint("dim", fitTo(`│ ${line}`, width))),
  ];
}
