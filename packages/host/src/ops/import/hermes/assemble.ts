import { plural } from "@holdfast/protocol";

import type { HermesDatabase } from "./database.ts";
import type { Report } from "../reading/folder.ts";
import type { RunJournal } from "./journal.ts";
import { mergeMessages } from "./merge.ts";
import type { Message } from "./message.ts";
import type { PageFolder } from "./page-files.ts";
import { readSegment } from "./read-segment.ts";
import { TurnRecovery } from "./recover-turns.ts";
import { type Sidecar, undoneOnPage } from "./sidecar.ts";
import { Timeline } from "./timeline.ts";

/** A message or summary in the order of the conversation. */
export type Line =
  | { readonly kind: "message"; readonly message: Message }
  /** Stands for the messages with the marks from one to the other. */
  | { readonly kind: "summary"; readonly from: number; readonly to: number; readonly text: string };

export interface Assembled {
  readonly lines: readonly Line[];
  readonly sidecar: Sidecar | null;
  readonly runs: readonly RunJournal[];
  readonly isMerged: boolean;
  readonly isRecovered: boolean;
  /** It has content of its own in a damaged file only. */
  readonly isDamaged: boolean;
  /** Emptied by the person. */
  readonly isCleared: boolean;
}

export interface Stores {
  readonly database: HermesDatabase | null;
  readonly page: PageFolder | null;
  /** The agent's own JSON transcript. */
  readonly transcript: (
    id: string,
  ) => Promise<{ readonly path: string; readonly messages: readonly Message[] } | null>;
  readonly report: Report;
}

/** All that the stores have of one conversation, in one order. */
export async function assemble(segments: readonly string[], stores: Stores): Promise<Assembled> {
  return new Assembler(segments, stores).assemble();
}

const countMessages = (count: number): string =>
  plural(count, { one: "# message is", other: "# messages are" });

class Assembler {
  readonly #segments: readonly string[];
  readonly #stores: Stores;
  #messages: Message[] = [];
  #isMerged = false;
  #isRecovered = false;

  constructor(segments: readonly string[], stores: Stores) {
    this.#segments = segments;
    this.#stores = stores;
  }

  async assemble(): Promise<Assembled> {
    const timeline = this.#readRows();
    for (const item of timeline.items)
      if (item.kind === "message") this.#messages.push(item.message);
    const { page } = this.#stores;
    const sidecar = page === null ? null : await this.#readSidecar(page);
    const runs = page === null ? [] : await this.#all((id) => page.readRuns(id));
    const turns = page === null ? [] : await this.#all((id) => page.readTurns(id));
    if (page !== null) await this.#mergePage(page, sidecar, runs);
    const transcript = await this.#mergeTranscript();
    const turnRecovery = new TurnRecovery(this.#messages, sidecar, this.#stores.report);
    const { pending, isRecovered } = turnRecovery.recover(runs, turns, transcript);
    this.#messages = turnRecovery.messages;
    return {
      lines: this.#withSummaries(timeline),
      sidecar,
      runs,
      isMerged: this.#isMerged,
      isRecovered: this.#isRecovered || isRecovered || (transcript !== null && pending !== null),
      isDamaged: sidecar !== null && !sidecar.whole,
      isCleared: sidecar?.watermark === 0,
    };
  }

  async #all<T>(read: (id: string) => Promise<readonly T[]>): Promise<readonly T[]> {
    const found: T[] = [];
    for (const id of this.#segments) found.push(...(await read(id)));
    return found;
  }

  #readRows(): Timeline {
    const timeline = new Timeline();
    const { database, report } = this.#stores;
    let hasEarlier = false;
    for (const id of this.#segments) {
      const stored = database === null ? [] : readSegment(database, id, report);
      timeline.add(id, stored, hasEarlier ? "continuation" : "first");
      hasEarlier ||= stored.length > 0;
    }
    return timeline;
  }

  /** The newest segment's sidecar: its messages repeat those of the earlier ones. */
  async #readSidecar(page: PageFolder): Promise<Sidecar | null> {
    let found: Sidecar | null = null;
    for (const id of this.#segments.toReversed()) {
      if (page.files.get(id)?.sidecar !== true && (page.files.get(id)?.tmp.length ?? 0) === 0)
        continue;
      const sidecar = await page.readSidecar(id);
      found ??= sidecar;
      if (sidecar?.whole && sidecar.messages.length > 0)
        return found?.whole === true ? found : sidecar;
    }
    return found;
  }

  async #mergePage(
    page: PageFolder,
    sidecar: Sidecar | null,
    runs: readonly RunJournal[],
  ): Promise<void> {
    if (sidecar !== null && (sidecar.messages.length > 0 || sidecar.watermark !== null))
      this.#mergeSidecar(sidecar, "sidecar");
    if (sidecar?.whole === true) return;
    // What the page knew is damaged or gone: its backup and its journals have the rest.
    for (const id of this.#segments) {
      const backup = await page.readBackup(id);
      if (backup === null) continue;
      const { watermark, boundary } = sidecar ?? backup;
      const isCut = ({ at }: Message): boolean =>
        watermark !== null && boundary !== null && at !== null && at > boundary && at <= watermark;
      this.#merge(
        backup.messages.filter((message) => !isCut(message)),
        backup.path,
      );
    }
    const last = runs.findLast(({ end }) => end === "completed");
    if (last === undefined) return;
    const settled = last.settled();
    const had = this.#messages.length;
    this.#mergeSettled(settled, last.path);
    if (this.#messages.length > had) this.#isRecovered = true;
    if (had === 0 && settled.length > 0) {
      this.#stores.report({
        code: "orphan_journal",
        outcome: "note",
        path: last.path.slice(0, last.path.lastIndexOf("/")),
        session: last.session,
        text: "Its messages were only in the page's run journals, and were recovered from there.",
      });
    }
  }

  #mergeSidecar(sidecar: Sidecar, where: string): void {
    const had = this.#messages.length > 0;
    const { messages, added, onlyFirst, lastShared } = mergeMessages(
      this.#messages,
      sidecar.messages,
    );
    this.#messages = [...messages];
    if (had) this.#isMerged = true;
    const only = onlyFirst.flatMap((index) => {
      const message = this.#messages[index];
      return message === undefined || message.undone !== null ? [] : [{ index, message }];
    });
    const undone = undoneOnPage(sidecar, only, lastShared);
    for (const [index, reason] of undone) {
      const message = this.#messages[index];
      if (message !== undefined) message.undone = reason;
    }
    const session = this.#segments.at(-1);
    if (undone.size > 0)
      this.#stores.report({
        code: "undone",
        outcome: "note",
        path: sidecar.path,
        session,
        text: `${plural(undone.size, { one: "# message was", other: "# messages were" })} undone on the page but are still in the database. They stay hidden.`,
      });
    if (had && added > 0)
      this.#stores.report({
        code: "merged_by_text",
        outcome: "guess",
        path: sidecar.path,
        session,
        text: `${countMessages(added)} only in the ${where}, and placed in the same position.`,
      });
  }

  #merge(others: readonly Message[], path: string): void {
    const { messages, added } = mergeMessages(this.#messages, others);
    this.#messages = [...messages];
    if (added > 0)
      this.#stores.report({
        code: "merged_by_text",
        outcome: "guess",
        path,
        session: this.#segments.at(-1),
        text: `${countMessages(added)} only in this file, and placed in the same position.`,
      });
  }

  /** A journal's copy has its secrets redacted: where both have the same turns, the other one counts. */
  #mergeSettled(settled: readonly Message[], path: string): void {
    const known = this.#messages.filter(({ undone }) => undone === null);
    const roles = (messages: readonly Message[]): string =>
      messages.map(({ role }) => role).join(" ");
    if (known.length > 0 && roles(known).startsWith(roles(settled))) return;
    this.#merge(settled, path);
  }

  async #mergeTranscript(): Promise<string | null> {
    let used: string | null = null;
    for (const id of this.#segments) {
      const found = await this.#stores.transcript(id);
      if (found === null) continue;
      const { path, messages } = found;
      if (this.#messages.length === 0 && messages.length > 0) {
        this.#messages = [...messages];
        used = path;
        continue;
      }
      const { added } = mergeMessages(this.#messages, messages);
      if (added > 0)
        this.#stores.report({
          code: "merged_by_text",
          outcome: "skipped",
          path,
          session: id,
          text: `${countMessages(added)} only in this transcript, and left out because the other stores are newer.`,
        });
    }
    return used;
  }

  /** Summaries stand where they were written: behind all the messages before them. */
  #withSummaries(timeline: Timeline): readonly Line[] {
    const summaries = timeline.items.flatMap((item, at) =>
      item.kind === "summary" ? [{ ...item, at }] : [],
    );
    const lines: Line[] = [];
    let next = 0;
    for (const message of this.#messages) {
      const { mark } = message;
      for (let summary = summaries[next]; summary !== undefined; summary = summaries[next]) {
        if (mark === null || summary.at > mark) break;
        lines.push(summary);
        next += 1;
      }
      lines.push({ kind: "message", message });
    }
    lines.push(...summaries.slice(next));
    return lines;
  }
}
