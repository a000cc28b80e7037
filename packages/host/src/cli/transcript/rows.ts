import { cleanLine, cleanText, fitTo } from "../screen/text.ts";
import { createMarkdown, type RenderStyle } from "../screen/markdown.ts";
import { type Style } from "../screen/screen.ts";
import { wrapSpans } from "../screen/wrap.ts";
import { describeCall, describeRunEnd, describeOutcome } from "./describe.ts";
import type { TranscriptPiece } from "./pieces.ts";

const maxOutputRows = 8;
const maxCallRows = 12;
const outcomeMarks = { ok: "✓", failed: "✗", cancelled: "■", unknown: "?" } as const;
const partialTexts = {
  cancelled: "stopped here",
  interrupted: "broken off here",
  failed: "broken off by a failure",
  limit: "stopped by a limit",
} as const;

/** Pieces as rows of a terminal. */
export interface PieceRows {
  /** Rows that stay. */
  add(piece: TranscriptPiece, look: RenderStyle): string[];
  /** What is being written, as it looks now. */
  openRows(look: RenderStyle): string[];
}

/** One piece below the other, each where it began. An answer that is still growing is the part that may change. */
export class PlainRows implements PieceRows {
  #markdown = createMarkdown();
  #last: TranscriptPiece["kind"] | null = null;

  add(piece: TranscriptPiece, look: RenderStyle): string[] {
    const rows = [...this.#gap(piece), ...this.#draw(piece, look)];
    this.#last = piece.kind;
    return rows;
  }

  openRows(look: RenderStyle): string[] {
    return this.#markdown.open(look);
  }

  #gap(piece: TranscriptPiece): string[] {
    const begins = piece.kind === "said" || (piece.kind === "words" && piece.isNew);
    const follows = piece.kind === "toolBegan" && this.#last === "wordsEnd";
    return this.#last !== null && (begins || follows) ? [""] : [];
  }

  #draw(piece: TranscriptPiece, look: RenderStyle): string[] {
    const { paint } = look;
    switch (piece.kind) {
      case "said": {
        const files = piece.attachments.map((name) => `[${cleanLine(name)}]`).join(" ");
        const text = [piece.text, files].filter((part) => part !== "").join("\n");
        return wrapBlock(text, look, "› ", ["bold"]);
      }
      case "words": {
        if (piece.isNew) this.#markdown = createMarkdown();
        return this.#markdown.push(piece.text, look);
      }
      case "wordsEnd": {
        const rows = this.#markdown.end(look);
        if (piece.partial === undefined) return rows;
        return [...rows, paint("dim", `(${partialTexts[piece.partial]})`)];
      }
      case "thought":
        return [];
      case "toolBegan": {
        const called = wrapBlock(describeCall(piece.name, piece.input), look, "⚙ ", ["accent"]);
        const hidden = called.length - maxCallRows;
        if (hidden <= 0) return [...this.#markdown.end(look), ...called];
        return [...called.slice(0, maxCallRows), paint("dim", `  … ${hidden} more lines`)];
      }
      case "toolEnded":
        return toolEndRows(piece, look);
      case "notice":
        return wrapBlock(piece.text, look, "— ", ["dim"]);
      case "summary":
        return [paint("dim", "— The model goes on from a summary of what came before.")];
      case "cut":
        return [paint("dim", "— Taken out of view. /redo brings it back.")];
      case "returned":
        return [paint("dim", "— Back in view.")];
      case "runEnded": {
        if (piece.state === "completed") return [];
        return [...this.#markdown.end(look), paint("bad", `■ ${describeRunEnd(piece)}`)];
      }
    }
  }
}

/** Lines as they are, wrapped under a mark. */
export function wrapBlock(
  text: string,
  look: RenderStyle,
  mark: string,
  styles: readonly Style[],
): string[] {
  const { width, paint } = look;
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
  look: RenderStyle,
): string[] {
  const { outcome, output, tookMs } = piece;
  const { width, paint } = look;
  const lines = cleanText(output).trimEnd().split("\n");
  const shown = output.trim() === "" ? [] : lines.slice(0, maxOutputRows);
  const took = tookMs === null ? "" : ` ${(tookMs / 1000).toFixed(1)} s`;
  const hidden = lines.length - shown.length;
  const more = shown.length > 0 && hidden > 0 ? [`    … ${hidden} more lines`] : [];
  const head = `  ${outcomeMarks[outcome]} ${describeOutcome(piece)}${took}`;
  return [
    paint(outcome === "ok" ? "good" : "bad", head),
    ...shown.map((line) => paint("dim", fitTo(`    ${line.replaceAll("\t", "    ")}`, width))),
    ...more.map((line) => paint("dim", line)),
  ];
}
