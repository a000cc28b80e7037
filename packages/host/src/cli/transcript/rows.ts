import { cleanLine, cleanText } from "../screen/text.ts";
import { createMarkdown, type Look } from "../screen/markdown.ts";
import { fitTo } from "../screen/width.ts";
import { type Style } from "../screen/paint.ts";
import { wrapSpans } from "../screen/wrap.ts";
import { describeCall } from "./describe.ts";
import { endInWords, outcomeInWords } from "./ends.ts";
import type { Piece } from "./pieces.ts";

const mostOutput = 8;
const mostCall = 12;
const outcomeMarks = { ok: "✓", failed: "✗", cancelled: "■", unknown: "?" } as const;
const partialWords = {
  cancelled: "stopped here",
  interrupted: "broken off here",
  failed: "broken off by a failure",
  limit: "stopped by a limit",
} as const;

/** Pieces as rows of a terminal. */
export interface PieceRows {
  /** Rows that stay. */
  add(piece: Piece, look: Look): string[];
  /** What is being written, as it looks now. */
  open(look: Look): string[];
}

/** One piece below the other, each where it began. An answer that is still growing is the part that may change. */
export class RowMaker implements PieceRows {
  #markdown = createMarkdown();
  #last: Piece["kind"] | null = null;

  add(piece: Piece, look: Look): string[] {
    const rows = [...this.#gap(piece), ...this.#draw(piece, look)];
    this.#last = piece.kind;
    return rows;
  }

  open(look: Look): string[] {
    return this.#markdown.open(look);
  }

  #gap(piece: Piece): string[] {
    const begins = piece.kind === "said" || (piece.kind === "words" && piece.isNew);
    const follows = piece.kind === "toolBegan" && this.#last === "wordsEnd";
    return this.#last !== null && (begins || follows) ? [""] : [];
  }

  #draw(piece: Piece, look: Look): string[] {
    const { paint } = look;
    switch (piece.kind) {
      case "said": {
        const files = piece.attachments.map((name) => `[${cleanLine(name)}]`).join(" ");
        const text = [piece.text, files].filter((part) => part !== "").join("\n");
        return block(text, look, "› ", ["bold"]);
      }
      case "words": {
        if (piece.isNew) this.#markdown = createMarkdown();
        return this.#markdown.push(piece.text, look);
      }
      case "wordsEnd": {
        const rows = this.#markdown.end(look);
        if (piece.partial === undefined) return rows;
        return [...rows, paint("dim", `(${partialWords[piece.partial]})`)];
      }
      case "thought":
        return [];
      case "toolBegan": {
        const called = block(describeCall(piece.name, piece.input), look, "⚙ ", ["accent"]);
        const hidden = called.length - mostCall;
        if (hidden <= 0) return [...this.#markdown.end(look), ...called];
        return [...called.slice(0, mostCall), paint("dim", `  … ${hidden} more lines`)];
      }
      case "toolEnded":
        return endOfTool(piece, look);
      case "notice":
        return block(piece.text, look, "— ", ["dim"]);
      case "summary":
        return [paint("dim", "— The model goes on from a summary of what came before.")];
      case "cut":
        return [paint("dim", "— Taken out of view. /redo brings it back.")];
      case "returned":
        return [paint("dim", "— Back in view.")];
      case "runEnded": {
        if (piece.state === "completed") return [];
        return [...this.#markdown.end(look), paint("bad", `■ ${endInWords(piece)}`)];
      }
    }
  }
}

/** Lines as they are, wrapped under a mark. */
export function block(text: string, look: Look, mark: string, styles: readonly Style[]): string[] {
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

function endOfTool(piece: Extract<Piece, { kind: "toolEnded" }>, look: Look): string[] {
  const { outcome, output, tookMs } = piece;
  const { width, paint } = look;
  const lines = cleanText(output).trimEnd().split("\n");
  const shown = output.trim() === "" ? [] : lines.slice(0, mostOutput);
  const took = tookMs === null ? "" : ` ${(tookMs / 1000).toFixed(1)} s`;
  const hidden = lines.length - shown.length;
  const more = shown.length > 0 && hidden > 0 ? [`    … ${hidden} more lines`] : [];
  const head = `  ${outcomeMarks[outcome]} ${outcomeInWords(piece)}${took}`;
  return [
    paint(outcome === "ok" ? "good" : "bad", head),
    ...shown.map((line) => paint("dim", fitTo(`    ${line.replaceAll("\t", "    ")}`, width))),
    ...more.map((line) => paint("dim", line)),
  ];
}
