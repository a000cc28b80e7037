import { chatStrings } from "../strings/chat.ts";
import { transcriptStrings } from "../strings/transcript.ts";
import { formatElapsed } from "./activity.ts";
import { cleanLine, cleanText } from "../screen/text.ts";
import { fitTo, fitEndTo } from "../screen/width.ts";
import { type RenderStyle } from "../screen/paint.ts";
import { wrapBlock, type PieceRows, PlainRows } from "../transcript/rows.ts";
import { describeCall, describeOutcome } from "../transcript/describe.ts";
import { type TranscriptPiece } from "../transcript/pieces.ts";
import type { LiveMessage, LiveTool, Source } from "@holdfast/protocol";
import type { SessionState } from "@holdfast/client";

type ToolEndPiece = Extract<TranscriptPiece, { kind: "toolEnded" }>;

/** Text that is folded away until a person asks for it. */
export interface FoldedText {
  readonly title: string;
  readonly text: string;
}

const texts = chatStrings.cards;
const maxCallRows = 4;
const maxOutputRows = 8;
const maxDiffRows = 24;
const outcomeMarks = { ok: "✓", failed: "✗", cancelled: "■", unknown: "?" } as const;

/** Renders a tool's call and end as one card, and folds thoughts into one line. */
export class CardRows implements PieceRows {
  readonly #plain = new PlainRows();
  readonly #fold: (folded: FoldedText) => void;

  constructor(fold: (folded: FoldedText) => void) {
    this.#fold = fold;
  }

  add(piece: TranscriptPiece, style: RenderStyle): string[] {
    switch (piece.kind) {
      case "thought": {
        this.#fold({ title: texts.thoughts, text: piece.text });
        const words = piece.text.trim().split(/\s+/).length;
        return ["", style.paint("dim", texts.thought(words))];
      }
      case "toolStarted":
        // Shown among the live rows until it ends.
        return [];
      case "toolEnded":
        return this.#card(piece, style);
      default:
        return this.#plain.add(piece, style);
    }
  }

  openRows(style: RenderStyle): string[] {
    return this.#plain.openRows(style);
  }

  #card(piece: ToolEndPiece, style: RenderStyle): string[] {
    const { paint } = style;
    const inner = { ...style, width: style.width - 2 };
    const call = wrapBlock(headOf(piece), inner, "⚙ ", ["accent"]);
    const { changes, sources } = piece;
    const body =
      changes?.flatMap((change) => diffRows(change, inner)) ??
      sources?.flatMap(sourceRows) ??
      outputRows(piece);
    const isList = changes !== undefined || sources !== undefined;
    const maxRows = isList ? maxDiffRows : maxOutputRows;
    const hidden = Math.max(0, call.length - maxCallRows) + Math.max(0, body.length - maxRows);
    if (hidden > 0 || headOf(piece) !== describeCall(piece.name, piece.input))
      this.#fold(unfoldedCard(piece));
    const shown = [
      ...call.slice(0, maxCallRows),
      ...body.slice(0, maxRows).map((row) => row(inner)),
    ];
    const duration =
      piece.tookMs === null
        ? ""
        : ` ${transcriptStrings.seconds((piece.tookMs / 1000).toFixed(1))}`;
    const hiddenText = hidden === 0 ? "" : paint("dim", texts.more(hidden));
    const end = `${outcomeMarks[piece.outcome]} ${describeOutcome(piece)}${duration}`;
    return [
      "",
      ...shown.map((row, index) => paint("dim", index === 0 ? "╭ " : "│ ") + row),
      paint("dim", "╰ ") + paint(piece.outcome === "ok" ? "good" : "bad", end) + hiddenText,
    ];
  }
}

/** What was called. A call that succeeded is shown by what came of it, without long or structured arguments. */
function headOf({ name, input, outcome, changes }: ToolEndPiece): string {
  if (outcome !== "ok" || typeof input !== "object" || input === null || "command" in input)
    return describeCall(name, input);
  if (changes !== undefined || Array.isArray(input)) return name;
  const short = Object.entries(input).filter(
    ([, value]) =>
      typeof value !== "object" && !(typeof value === "string" && value.includes("\n")),
  );
  return describeCall(name, Object.fromEntries(short));
}

type Row = (style: RenderStyle) => string;

function outputRows({ output }: ToolEndPiece): Row[] {
  if (output.trim() === "") return [];
  return linesOf(output).map(
    (line) =>
      ({ width, paint }) =>
        paint("dim", fitTo(line, width)),
  );
}

function sourceRows({ title, url, date }: Source, index: number): Row[] {
  const head = cleanLine(`${index + 1}. ${title}${date === undefined ? "" : ` (${date})`}`);
  const address = cleanLine(url);
  return [
    ({ width }) => fitTo(head, width),
    ({ width, paint }) => paint("dim", fitTo(`   ${address}`, width)),
  ];
}

function diffRows(
  { path, change, diff }: NonNullable<ToolEndPiece["changes"]>[number],
  style: RenderStyle,
): Row[] {
  const head = `${texts.change[change]} ${cleanLine(path)}`;
  const lines = linesOf(diff).filter((line) => !/^(?:---|\+\+\+) /.test(line));
  return [
    () => style.paint("bold", fitTo(head, style.width)),
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

/** All lines, without control characters and trailing blanks. */
function linesOf(text: string): string[] {
  return cleanText(text).replaceAll("\t", "    ").trimEnd().split("\n");
}

const maxLiveOutputRows = 5;

/** What is being thought and run right now. `seconds` tells how long a call has been running. */
export function liveRows(
  state: SessionState | undefined,
  seconds: (tool: LiveTool) => number,
  style: RenderStyle,
): string[] {
  const live = state?.live;
  if (live == null) return [];
  const running = live.tools.filter(({ outcome }) => outcome === null);
  return [
    ...live.messages.flatMap((message) => thoughtRow(message, style)),
    ...running.flatMap((tool) => toolRows(tool, seconds(tool), style)),
  ];
}

/** Whether a tool is running, so that its time is shown. */
export function hasRunningTool(state: SessionState | undefined): boolean {
  return state?.live?.tools.some(({ outcome }) => outcome === null) ?? false;
}

/** The end of a thought in progress. */
function thoughtRow({ parts }: LiveMessage, { width, paint }: RenderStyle): string[] {
  const last = parts.at(-1);
  if (last?.kind !== "reasoning" || last.text.trim() === "") return [];
  const line = cleanLine(last.text.slice(-500)).trim();
  return [paint("dim", `✻ ${fitEndTo(line, width - 2)}`)];
}

function toolRows(tool: LiveTool, seconds: number, { width, paint }: RenderStyle): string[] {
  const call = cleanLine(describeCall(tool.name, tool.input));
  const time = ` ${formatElapsed(seconds * 1000)}`;
  const tail =
    tool.output === "" ? [] : linesOf(tool.output.slice(-8_000)).slice(-maxLiveOutputRows);
  return [
    paint("dim", "╭ ") +
      paint("accent", fitTo(`⚙ ${call}`, Math.max(8, width - 2 - time.length))) +
      paint("dim", time),
    ...tail.map((line) => paint("dim", fitTo(`│ ${line}`, width))),
  ];
}
