import { cleanLine, cleanText } from "../screen/text.ts";
import { fitTo } from "../screen/width.ts";
import { createMarkdown } from "../screen/markdown.ts";
import type { RenderStyle, Style } from "../screen/paint.ts";
import { wrapSpans } from "../screen/wrap.ts";
import { transcriptStrings } from "../strings/transcript.ts";
import { describeCall, describeRunEnd, describeOutcome, resultLines } from "./describe.ts";
import type { TranscriptPiece } from "./pieces.ts";

const maxOutputRows = 8;
const maxCallRows = 12;
const outcomeMarks = { ok: "✓", failed: "✗", cancelled: "■", unknown: "?" } as const;
const texts = transcriptStrings;

/** Renders pieces as terminal rows. */
export interface PieceRows {
  /** Permanent rows. */
  add(piece: TranscriptPiece, style: RenderStyle): string[];
  /** What is being written, as it looks now. */
  openRows(style: RenderStyle): string[];
}

/** One piece below the other. Only a growing answer may still change. */
export class PlainRows implements PieceRows {
  #markdown = createMarkdown();
  #last: TranscriptPiece["kind"] | null = null;

  add(piece: TranscriptPiece, style: RenderStyle): string[] {
    const rows = [...this.#gap(piece), ...this.#draw(piece, style)];
    this.#last = piece.kind;
    return rows;
  }

  openRows(style: RenderStyle): string[] {
    return this.#markdown.open(style);
  }

  #gap(piece: TranscriptPiece): string[] {
    const startsBlock = piece.kind === "userMessage" || (piece.kind === "text" && piece.isNew);
    const followsAnswer = piece.kind === "toolStarted" && this.#last === "textEnd";
    return this.#last !== null && (startsBlock || followsAnswer) ? [""] : [];
  }

  #draw(piece: TranscriptPiece, style: RenderStyle): string[] {
    const { paint } = style;
    switch (piece.kind) {
      case "userMessage": {
        const files = piece.attachments.map((name) => `[${cleanLine(name)}]`).join(" ");
        const text = [piece.text, files].filter((part) => part !== "").join("\n");
        return wrapBlock(text, style, "› ", ["bold"]);
      }
      case "text": {
        if (piece.isNew) this.#markdown = createMarkdown();
        return this.#markdown.push(piece.text, style);
      }
      case "textEnd": {
        const rows = this.#markdown.end(style);
        if (piece.partial === undefined) return rows;
        return [...rows, paint("dim", `(${texts.partial[piece.partial]})`)];
      }
      case "picture":
        return wrapBlock(texts.picture(piece.name, piece.size), style, "", ["accent"]);
      case "thought":
        return [];
      case "toolStarted": {
        const callRows = wrapBlock(describeCall(piece.name, piece.input), style, "⚙ ", ["accent"]);
        const hidden = callRows.length - maxCallRows;
        if (hidden <= 0) return [...this.#markdown.end(style), ...callRows];
        return [...callRows.slice(0, maxCallRows), paint("dim", `  ${texts.moreLines(hidden)}`)];
      }
      case "toolEnded":
        return toolEndRows(piece, style);
      case "notice":
        // What was written before it stays above it.
        return [...this.#markdown.settle(style), ...wrapBlock(piece.text, style, "— ", ["dim"])];
      case "summary":
        return [paint("dim", `— ${texts.summary}`)];
      case "cut":
        return [paint("dim", `— ${texts.undone}`)];
      case "returned":
        return [paint("dim", `— ${texts.redone}`)];
      case "runEnded": {
        if (piece.state === "completed") return [];
        return [...this.#markdown.end(style), paint("bad", `■ ${describeRunEnd(piece)}`)];
      }
    }
  }
}

/** Wraps lines as they are, indented under a mark. */
export function wrapBlock(
  text: string,
  style: RenderStyle,
  mark: string,
  styles: readonly Style[],
): string[] {
  const { width, paint } = style;
  const rest = " ".repeat(mark.length);
  return cleanText(text)
    .split("\n")
    .flatMap((line, index) =>
      wrapSpans([{ text: line.replaceAll("\t", "    "), styles }], paint, {
        width,
        first: index === 0 ? mark : rest,
        rest,
      }),
    );
}

function toolEndRows(
  piece: Extract<TranscriptPiece, { kind: "toolEnded" }>,
  style: RenderStyle,
): string[] {
  const { outcome, output, tookMs } = piece;
  const { width, paint } = style;
  const lines = cleanText(output).trimEnd().split("\n");
  const shown = output.trim() === "" ? [] : lines.slice(0, maxOutputRows);
  const duration = tookMs === null ? "" : ` ${texts.seconds((tookMs / 1000).toFixed(1))}`;
  const hidden = lines.length - shown.length;
  const moreRows = shown.length > 0 && hidden > 0 ? [`    ${texts.moreLines(hidden)}`] : [];
  const head = `  ${outcomeMarks[outcome]} ${describeOutcome(piece)}${duration}`;
  const extras = resultLines(piece).map((line) => fitTo(`    ${cleanLine(line)}`, width));
  return [
    paint(outcome === "ok" ? "good" : "bad", head),
    ...extras.map((line) => paint("dim", line)),
    ...shown.map((line) => paint("dim", fitTo(`    ${line.replaceAll("\t", "    ")}`, width))),
    ...moreRows.map((line) => paint("dim", line)),
  ];
}
