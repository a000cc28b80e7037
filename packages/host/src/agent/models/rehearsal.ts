import type { Clock, ModelEvent, Random } from "@holdfast/engine";

export interface PacedWriter {
  /** Each is a paragraph of its own. Both end at once when the signal is aborted. */
  writeText(words: Iterable<string>): AsyncGenerator<ModelEvent>;
  writeReasoning(words: Iterable<string>): AsyncGenerator<ModelEvent>;
  /** Silence, which an abort ends too. */
  pause(seconds: number): Promise<void>;
  setRate(wordsPerSecond: number): void;
  hasText(): boolean;
  wordCount(): number;
}

export interface PacedWriterDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly wordsPerSecond: number;
}

/** However fast it speaks: more pieces a second would cost events and show nothing more. */
const maxPiecesPerSecond = 100;
/** A reader that was slower than this does not get what it missed in one burst. */
const maxLagMs = 100;

/** Says words a few at a time, at a given rate. A word comes with the blank before it. */
export function createPacedWriter(options: PacedWriterDeps): PacedWriter {
  const { clock, random, signal } = options;
  const begun = new Set<"text" | "reasoning">();
  let rate = options.wordsPerSecond;
  let due = clock.now();
  let uttered = 0;

  async function* utter(
    kind: "text" | "reasoning",
    words: Iterable<string>,
  ): AsyncGenerator<ModelEvent> {
    const separator = begun.has(kind) ? "\n\n" : "";
    let isFirst = true;
    for (const piece of piecesOf(words)) {
      // By due times, not by pauses: what a timer is late by does not add up.
      due = Math.max(due, clock.now() - maxLagMs) + (piece.length / rate) * 1000;
      await clock.sleep(Math.max(0, due - clock.now()), signal);
      if (signal.aborted) return;
      begun.add(kind);
      uttered += piece.length;
      yield { kind, text: (isFirst ? separator : "") + piece.join("") };
      isFirst = false;
    }
  }

  function* piecesOf(words: Iterable<string>): Generator<string[]> {
    let piece: string[] = [];
    let size = pieceSize();
    for (const word of words) {
      piece.push(word);
      if (piece.length < size) continue;
      yield piece;
      piece = [];
      size = pieceSize();
    }
    if (piece.length > 0) yield piece;
  }

  function pieceSize(): number {
    return Math.max(1 + Math.floor(random() * 3), Math.ceil(rate / maxPiecesPerSecond));
  }

  return {
    writeText: (words) => utter("text", words),
    writeReasoning: (words) => utter("reasoning", words),
    async pause(seconds) {
      await clock.sleep(seconds * 1000, signal);
      due = clock.now();
    },
    setRate: (wordsPerSecond) => void (rate = wordsPerSecond),
    hasText: () => begun.has("text"),
    wordCount: () => uttered,
  };
}
