import { type Reads, taintOf } from "@holdfast/engine";
import {
  decodeEvent,
  isNothingNew,
  nothingNew,
  type OwnerId,
  type Part,
  type RunId,
  type ScheduleId,
  type SessionId,
  type TaintSource,
} from "@holdfast/protocol";

const request = `[Report only what has changed since your last report. If nothing has changed in substance, answer with exactly “${nothingNew}” and nothing else: then nobody is notified.]`;
const lastReportHeading = "[Your last report:]";
const noLastReport = "[There is no earlier report, so report in full.]";
/** A longer report is cut, and no answer counts as its repetition. */
const maxReportLength = 4_000;
const cutMark = "\n[The rest was left out.]";

/** A prompt whose answer is delivered only if it says something new. */
export function askForChanges(prompt: string, lastReport: string | null): string {
  const text = lastReport?.trim() ?? "";
  const shown = text.length <= maxReportLength ? text : text.slice(0, maxReportLength) + cutMark;
  const last = text === "" ? noLastReport : `${lastReportHeading}\n${shown}`;
  return `${prompt}\n\n${request}\n\n${last}`;
}

/** What a message asked for changes compares with; `undefined` if it did not ask for them. */
export function comparedReport(message: string): string | null | undefined {
  const start = message.lastIndexOf(`\n\n${request}\n\n`);
  if (start === -1) return undefined;
  const last = message.slice(start + request.length + 4);
  const isReport = last.startsWith(`${lastReportHeading}\n`) && !last.endsWith(cutMark);
  return isReport ? last.slice(lastReportHeading.length + 1) : null;
}

/** The model says that nothing is new, or says the same again. */
export function isUnchanged(answer: string, lastReport: string | null): boolean {
  return isNothingNew(answer) || (lastReport !== null && squeezed(answer) === squeezed(lastReport));
}

function squeezed(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

const searchedEntries = 300;

export interface LastReport {
  readonly text: string;
  /** What a stranger may have written of it: it may be sent to a session that has read nothing of theirs. */
  readonly taint: readonly TaintSource[];
}

/** The newest answer to this schedule in a session that said something new. */
export async function readLastReport(
  reads: Pick<Reads, "entries">,
  owner: OwnerId,
  session: SessionId,
  schedule: ScheduleId,
): Promise<LastReport | null> {
  const page = await reads.entries(owner, session, { limit: searchedEntries });
  /** By run, what it compares with, and its last words. */
  const reports = new Map<RunId, { readonly last: string | null; text: string }>();
  for (const stored of page?.entries ?? []) {
    const decoded = decodeEvent(stored);
    if (decoded.kind !== "known" || stored.runId === undefined) continue;
    const { event } = decoded;
    if (event.type === "message.user") {
      if (event.data.clientId?.startsWith(`schedule:${schedule}:`) !== true) continue;
      const last = comparedReport(textOf(event.data.parts)) ?? null;
      reports.set(stored.runId, { last, text: "" });
    } else if (event.type === "message.assistant" && event.data.partial === undefined) {
      const report = reports.get(stored.runId);
      const text = textOf(event.data.parts).trim();
      if (report !== undefined && text !== "") report.text = text;
    }
  }
  const newest = [...reports.values()].findLast(
    ({ text, last }) => text !== "" && !isUnchanged(text, last),
  );
  if (newest === undefined) return null;
  const taint = taintOf({ head: page?.entries ?? [], epoch: null, tail: [] });
  return { text: newest.text, taint };
}

/**
 * When something new was last said in a session whose newest runs were reports without any; `null` if the newest one
 * was none of these. 0: nothing new in all that was looked at.
 */
export async function readNewsAt(
  reads: Pick<Reads, "entries">,
  owner: OwnerId,
  session: SessionId,
): Promise<number | null> {
  const page = await reads.entries(owner, session, { limit: searchedEntries });
  let newsAt = 0;
  let run: { readonly compared: string | null | undefined; answer: string; at: number } | null =
    null;
  const isQuiet = (): boolean =>
    run?.compared !== undefined && isUnchanged(run.answer, run.compared);
  for (const stored of page?.entries ?? []) {
    const decoded = decodeEvent(stored);
    if (decoded.kind !== "known") continue;
    const { event } = decoded;
    if (event.type === "message.user") {
      if (run !== null && !isQuiet()) newsAt = run.at;
      const isScheduled = event.data.clientId?.startsWith("schedule:") === true;
      const compared = isScheduled ? comparedReport(textOf(event.data.parts)) : undefined;
      run = { compared, answer: "", at: stored.at };
    } else if (run !== null) {
      if (event.type === "message.assistant")
        run.answer = textOf(event.data.parts).trim() || run.answer;
      run.at = stored.at;
    }
  }
  return isQuiet() ? newsAt : null;
}

export function textOf(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
}
