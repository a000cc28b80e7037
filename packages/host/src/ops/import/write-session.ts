import { type Log, type SessionRow, StoreFailure } from "@holdfast/engine";
import {
  clipRanges,
  type EventId,
  idFromBytes,
  type NewEvent,
  newEvent,
  type OwnerId,
  type Seq,
  type SeqRange,
  type SessionId,
} from "@holdfast/protocol";

import { type DeriveId, digestOf } from "./derive-id.ts";
import { EntryEvents } from "./entry-events.ts";
import { EntryTree } from "./entry-tree.ts";
import { readStoredLog, type StoredLog } from "./proof.ts";
import { EventMaker } from "./session-events.ts";
import { textForId } from "./entry-text.ts";
import { createdEvent, usageEvents } from "./session-facts.ts";
import { countMessages, type SessionOrigin, SessionView } from "./session-view.ts";
import type { ImportedEntry, ImportedSession } from "./source.ts";

/** What later items need of a session that was taken. */
export interface TakenOrigin {
  readonly session: SessionId;
  /** Of its entries, by their positions. */
  readonly seqs: readonly Seq[];
}

export interface SessionWriterDeps {
  readonly log: Log;
  readonly owner: OwnerId;
  readonly derive: DeriveId;
  /** Part of each entry's id. */
  readonly source: string;
  readonly mode: "write" | "dry";
  /** The name that a project has here. */
  readonly projectName: (name: string) => string;
  readonly originOf: (key: string) => TakenOrigin | undefined;
}

export type WrittenSession =
  | {
      readonly status: "written";
      readonly session: SessionId;
      readonly seqs: readonly Seq[];
      /** How many entries it had before. */
      readonly known: number;
      readonly written: number;
      readonly isNew: boolean;
      /** The store's log after it; absent in a dry run. */
      readonly stored: StoredLog | null;
      readonly ranges: readonly SeqRange[];
    }
  | {
      readonly status: "skipped";
      readonly session: SessionId;
      readonly reason:
        | "in_trash"
        | "deleted_here"
        | "changed_here"
        | "busy"
        | "origin_missing"
        | "not_storable";
      /** Why the store refuses it. */
      readonly message?: string;
    };

type SkippedSession = Extract<WrittenSession, { status: "skipped" }>;

const zero = 0 as Seq;
/** Well below the limits of one commit. */
const eventsPerCommit = 1_000;
const charactersPerCommit = 2 * 1024 * 1024;
const maxTries = 10;

/**
 * Brings one session's log to where the source's conversation is. Entries that are there are recognised by their ids,
 * each of which is derived from all entries before it; what follows is appended. If the source has another continuation
 * by now, and nobody went on here, the old one is cut, as an undo would.
 */
export async function writeSession(
  deps: SessionWriterDeps,
  session: ImportedSession,
): Promise<WrittenSession> {
  for (let attempt = 1; ; attempt += 1) {
    const written = await new SessionWriter(deps, session).write();
    if (written !== "moved") return written;
    if (attempt === maxTries)
      return { status: "skipped", session: deps.derive("session", session.key), reason: "busy" };
  }
}

class SessionWriter {
  readonly #deps: SessionWriterDeps;
  readonly #session: ImportedSession;
  readonly #id: SessionId;
  readonly #maker: EventMaker;
  readonly #seqs: Seq[] = [];
  #batch: NewEvent[] = [];
  #batchLength = 0;
  #head = zero;
  readonly #view = new SessionView();
  readonly #tree: EntryTree | null;
  readonly #events: EntryEvents;
  #origin: SessionOrigin | null = null;
  /** `new`: the first commit creates it. */
  #state: "new" | "stored" = "new";
  #isNew = true;
  #isSplit = false;
  #wasUnfinished = false;
  #isChangedHere = false;
  #known = 0;
  #written = 0;

  constructor(deps: SessionWriterDeps, session: ImportedSession) {
    this.#deps = deps;
    this.#session = session;
    this.#id = deps.derive("session", session.key);
    this.#maker = new EventMaker(deps.log, deps.owner, (kind, ...names) =>
      deps.derive(kind, session.key, ...names),
    );
    this.#tree = EntryTree.of(session);
    this.#events = new EntryEvents({
      maker: this.#maker,
      view: this.#view,
      derive: deps.derive,
      seqs: this.#seqs,
      tree: this.#tree,
      key: session.key,
    });
  }

  async write(): Promise<WrittenSession | "moved"> {
    const { log, owner } = this.#deps;
    const { reads } = log.store;
    const row = await reads.session(owner, this.#id);
    if (row?.trashedAt != null) return this.#skipped("in_trash");
    const isPlaced = await this.#placeOrigin(row);
    if (!isPlaced) return this.#skipped("origin_missing");
    const from = this.#origin?.seq ?? zero;
    const before = row === null ? null : await readStoredLog(reads, owner, this.#id, from);
    // The first event creates it.
    this.#head = row?.head ?? ((from + 1) as Seq);
    this.#isNew = row === null;
    this.#wasUnfinished = before?.isUnfinished ?? false;
    this.#isChangedHere = before?.isChangedHere ?? false;
    this.#view.begin(this.#origin?.seq ?? zero);
    const result = await this.#walk(row, before);
    if (result !== undefined) return result;
    if (this.#deps.mode === "dry") return this.#done(before, row?.ranges ?? this.#view.ranges);
    const after =
      this.#written === 0 && before !== null
        ? before
        : await readStoredLog(reads, owner, this.#id, from);
    const now = await reads.session(owner, this.#id);
    return this.#done(after, now?.ranges ?? []);
  }

  #done(stored: StoredLog | null, ranges: readonly SeqRange[]): WrittenSession {
    return {
      status: "written",
      session: this.#id,
      seqs: this.#seqs,
      known: this.#known,
      written: this.#written,
      isNew: this.#isNew,
      stored,
      ranges,
    };
  }

  #skipped(reason: SkippedSession["reason"]): SkippedSession {
    return { status: "skipped", session: this.#id, reason };
  }

  /** A branch reads its beginning from the log that it left. Returns whether that is there. */
  async #placeOrigin(row: SessionRow | null): Promise<boolean> {
    const { branchOf } = this.#session;
    const { originOf, log, owner } = this.#deps;
    if (row?.origin != null) this.#origin = row.origin;
    if (branchOf === undefined) return true;
    const origin = originOf(branchOf.key);
    const seq = origin?.seqs[branchOf.upTo];
    if (origin === undefined || seq === undefined) return row !== null;
    this.#origin ??= { sessionId: origin.session, seq };
    const from = await log.store.reads.session(owner, origin.session);
    if (from === null || this.#deps.mode === "dry") return true;
    const at = this.#origin.seq;
    this.#view.ranges = clipRanges(from.ranges, at).map((range) => ({
      ...range,
      log: range.log ?? origin.session,
    }));
    this.#view.shared = await countMessages(log.store.reads, owner, origin.session, at);
    return true;
  }

  /** Goes through the entries: those that are stored, then those to write. */
  async #walk(
    row: SessionRow | null,
    before: StoredLog | null,
  ): Promise<WrittenSession | "moved" | undefined> {
    if (row !== null) this.#state = "stored";
    const { entries } = this.#session;
    let digest = digestOf("import", this.#deps.source, this.#deps.owner, this.#session.key);
    let isStored = before !== null;
    let last = this.#origin?.seq ?? zero;
    for (const [index, entry] of entries.entries()) {
      if (entry.type === "usage") {
        this.#seqs.push(zero);
        continue;
      }
      const next = digestOf(digest.toString("hex"), textForId(entry));
      const id = idFromBytes("event", next);
      const seq = isStored ? before?.seqs.get(id) : undefined;
      if (seq !== undefined) {
        this.#events.learnTurns(index, id, seq);
        this.#seqs.push(seq);
        this.#events.learn(entry, id, seq);
        this.#events.said(index, id);
        last = seq;
        this.#known += 1;
      } else {
        if (isStored && before !== null) {
          const cut = this.#continueFrom(before, last, digest) ?? this.#returnTo(row);
          if (cut !== undefined) return cut;
        }
        isStored = false;
        const sent = await this.#append(entry, { id, index });
        if (sent !== undefined) return sent;
      }
      digest = next;
    }
    if (isStored && before !== null) {
      const cut = this.#continueFrom(before, last, digest);
      if (cut !== undefined) return cut;
    }
    this.#showInTheEnd(isStored ? row : null);
    const { derive } = this.#deps;
    for (const event of usageEvents(this.#session, before?.used, derive)) this.#push(event);
    this.#pushChange(before);
    return this.#flush("end");
  }

  /** Nothing more of the source is stored behind `last`. What is stored there is another continuation. */
  #continueFrom(before: StoredLog, last: Seq, digest: Buffer): WrittenSession | undefined {
    if (before.lastImported <= last) return undefined;
    const id = this.#deps.derive("event", this.#session.key, "diverged", digest.toString("hex"));
    const cutBefore = before.seqs.get(id);
    if (cutBefore !== undefined && cutBefore >= before.lastImported) return undefined;
    if (before.isChangedHere) return this.#skipped("changed_here");
    const seq = (this.#head + 1) as Seq;
    const ranges = [...this.#view.hide(seq, seq)];
    this.#push(newEvent(id, "history.cut", { reason: "undo", ranges, ...this.#view.counts() }));
    return undefined;
  }

  /** More versions follow: they are said where the earlier ones ended, whatever was shown in the end. */
  #returnTo(row: SessionRow | null): WrittenSession | undefined {
    const tip = this.#tree?.tip;
    if (tip === undefined || row === null) return undefined;
    if (this.#isChangedHere) return this.#skipped("changed_here");
    if (!this.#events.endsWith(row.ranges, tip)) this.#show(tip, row);
    return undefined;
  }

  /** `row`: nothing was written. */
  #showInTheEnd(row: SessionRow | null): void {
    const last = this.#tree?.shown;
    if (last === undefined || this.#isChangedHere) return;
    const isInView =
      row === null ? this.#tree?.tip === last : this.#events.endsWith(row.ranges, last);
    if (isInView) return;
    this.#written += 1;
    this.#show(last, row);
  }

  #show(last: number, row: SessionRow | null): void {
    const { ranges, messageCount, preview } = row ?? {
      ranges: this.#view.ranges,
      ...this.#view.counts(),
    };
    const before = { ranges: [...ranges], messageCount, preview };
    this.#push(this.#events.showInstead(last, { head: this.#head, before }));
  }

  async #append(
    entry: ImportedEntry,
    { id, index }: { readonly id: EventId; readonly index: number },
  ): Promise<WrittenSession | "moved" | undefined> {
    if (this.#isChangedHere && entry.type === "undo") return this.#skipped("changed_here");
    if (this.#deps.mode === "dry") {
      this.#head = (this.#head + 1) as Seq;
      this.#seqs.push(this.#head);
      this.#events.said(index, id);
      this.#written += 1;
      return undefined;
    }
    for (const event of this.#events.turnsTo(index, id, this.#head)) this.#push(event);
    const seq = (this.#head + 1) as Seq;
    const isChangedHere = this.#isChangedHere;
    const event = await this.#events.make(entry, { id, seq, isChangedHere });
    if (event === null) return undefined;
    this.#seqs.push(seq);
    this.#events.said(index, id);
    this.#written += 1;
    this.#push(event);
    // What shows a version and the version itself are one commit.
    const isFull =
      this.#batch.length >= eventsPerCommit || this.#batchLength >= charactersPerCommit;
    return isFull ? this.#flush("more") : undefined;
  }

  #push(event: NewEvent): void {
    this.#batch.push(event);
    this.#batchLength += JSON.stringify(event.data).length;
    this.#head = (this.#head + 1) as Seq;
  }

  /** A session that got more shows when that was said. */
  #pushChange(before: StoredLog | null): void {
    if (this.#state === "new" || before === null || this.#written === 0 || before.isUnfinished)
      return;
    const { key, to } = this.#session;
    const id = this.#deps.derive("event", key, "more", `${this.#seqs.length}`, `${to}`);
    if (!before.seqs.has(id)) this.#push(newEvent(id, "session.changed", { imported: { to } }));
  }

  async #flush(at: "more" | "end"): Promise<WrittenSession | "moved" | undefined> {
    const isFirst = this.#state === "new";
    if (at === "more" && isFirst) this.#isSplit = true;
    const events = isFirst ? [this.#created(), ...this.#batch] : this.#batch;
    this.#batch = [];
    this.#batchLength = 0;
    if (this.#deps.mode === "dry") return undefined;
    if (events.length > 0) {
      const refused = await this.#commit(events);
      if (refused !== undefined) return refused;
    }
    this.#state = "stored";
    return at === "end" ? this.#finish() : undefined;
  }

  #created(): NewEvent {
    const from = { origin: this.#origin, view: this.#view, isSplit: this.#isSplit };
    return createdEvent(this.#deps, this.#session, from);
  }

  async #commit(events: readonly NewEvent[]): Promise<WrittenSession | "moved" | undefined> {
    const { log, owner } = this.#deps;
    const isNew = this.#state === "new";
    const head = (this.#head - events.length) as Seq;
    const result = await log.commit({
      owner,
      session: this.#id,
      events,
      touch: "quiet",
      ...(!isNew && { expect: { head, idle: true } }),
    });
    if (result.status === "committed") return undefined;
    if (result.status === "failed") throw new StoreFailure(result.code, result.message);
    switch (result.code) {
      case "session_exists": {
        const row = await log.store.reads.session(owner, this.#id);
        return row === null ? this.#skipped("deleted_here") : "moved";
      }
      case "head_moved":
        return "moved";
      case "session_trashed":
        return this.#skipped("in_trash");
      case "run_live":
      case "compaction_live":
        return this.#skipped("busy");
      case "session_not_found":
        return this.#skipped(isNew ? "origin_missing" : "deleted_here");
      // One that fits nowhere must not keep the others from arriving.
      default:
        return { ...this.#skipped("not_storable"), message: result.message };
    }
  }

  /** A session of several commits isn't listed before the last one. */
  async #finish(): Promise<WrittenSession | "moved" | undefined> {
    const { log, owner, derive } = this.#deps;
    const { key, archived } = this.#session;
    const id = derive("event", key, "finished");
    const isWaiting = this.#isSplit || this.#wasUnfinished;
    if (!isWaiting || (await log.store.reads.event(owner, this.#id, id)) !== null) return undefined;
    const isPutAway = archived || this.#session.childOf !== undefined;
    const finished = newEvent(id, "session.changed", { archived: isPutAway });
    this.#head = (this.#head + 1) as Seq;
    return this.#commit([finished]);
  }
}
