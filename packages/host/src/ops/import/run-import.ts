import {
  reportFormat,
  type ReportItem,
  type ReportTotals,
  reportVersion,
  ReportWriter,
} from "./report.ts";
import { SourceFailed } from "./child-source.ts";
import type { ImportSource } from "./source.ts";
import { ItemTaker } from "./take-item.ts";
import type { TakerDeps } from "./taker.ts";

export interface ImportRun {
  readonly id: string;
  readonly source: ImportSource;
  readonly path: string;
  /** Where the report goes. */
  readonly folder: string;
  readonly startedAt: number;
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** `expected`: how many sessions there are, once the source knows. */
  readonly onProgress: (totals: ReportTotals, expected: number | null) => void;
}

export interface FinishedImport {
  readonly reportPath: string;
  readonly totals: ReportTotals;
  /** Why it stopped early; everything before was taken, and a repetition goes on. */
  readonly failure: string | null;
}

/** Takes all that a source yields, and writes the report. */
export async function runImport(
  deps: Omit<TakerDeps, "source">,
  { id, source, path, folder, startedAt, now, signal, onProgress }: ImportRun,
): Promise<FinishedImport> {
  const report = await ReportWriter.create(folder, {
    format: reportFormat,
    version: reportVersion,
    id,
    source: source.name,
    path,
    dryRun: deps.mode === "dry",
    startedAt,
  });
  const taker = new ItemTaker({ ...deps, source: source.name });
  let failure: string | null = null;
  let expected: number | null = null;
  try {
    for await (const item of source.items()) {
      signal.throwIfAborted();
      if (item.kind === "plan") {
        expected = (expected ?? 0) + item.sessions;
        continue;
      }
      const taken: ReportItem = await taker.take(item);
      await report.add(taken);
      onProgress(report.tally.totals, expected);
    }
  } catch (error) {
    if (signal.aborted) failure = "It was stopped.";
    else if (error instanceof SourceFailed) failure = error.message;
    else {
      await report.abandon();
      throw error;
    }
  }
  const state = failure === null ? "done" : "failed";
  await report.finish({ endedAt: now(), state, failure });
  return { reportPath: report.path, totals: report.tally.totals, failure };
}
