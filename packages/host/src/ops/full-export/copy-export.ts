import {
  type CopiedFrom,
  type Finding,
  type Refused,
  runFsck,
  type Store,
  StoreFailure,
} from "@holdfast/engine";
import {
  type NewEvent,
  newEvent,
  type OwnerId,
  type Seq,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";

import { CopiedIds } from "./copied-ids.ts";
import { isLeftOut, type LogLine, type UsageLine } from "./format.ts";
import { setUnfinishedCopy, unfinishedCopy } from "./unfinished-copy.ts";
import { takeHomeFile } from "./home-files.ts";
import { CopyPlanner, deletedSessionIds, type LogPlan } from "./plan-copy.ts";
import { ExportFault, type PlacedItem, readExport } from "./read-export.ts";

export interface CopyDeps {
  readonly store: Store;
  readonly home: string;
  /** The file from its beginning; read twice. */
  readonly open: () => AsyncIterable<Uint8Array>;
  readonly onProgress?: (progress: CopyProgress) => void;
}

export interface CopyProgress {
  readonly phase: "checking" | "copying" | "proving";
  readonly logs: number;
  readonly events: number;
}

export interface CopyReport {
  /** Sessions that were not here, that were continued, that were all here, and that got new ids. */
  readonly sessions: Readonly<Record<LogPlan, number>>;
  /** The sessions that got new ids, because other ones here have theirs. */
  readonly copies: readonly { readonly from: SessionId; readonly to: SessionId }[];
  readonly events: number;
  readonly blobs: number;
  readonly settings: { readonly taken: number; readonly known: number; readonly kept: number };
  /** What is different here and was left as it is. */
  readonly keptHere: readonly string[];
  /** What no file gives: keys, sign-ins and secrets. */
  readonly leftOut: readonly string[];
  /** Sessions that end before an event here, because the store refused it: the file was not made by a host. */
  readonly refused: readonly RefusedEvent[];
  /** Events that could not be read when the file was written. */
  readonly damaged: readonly { readonly session: SessionId; readonly seq: number }[];
  readonly findings: readonly Finding[];
}

export interface RefusedEvent {
  readonly session: SessionId;
  readonly seq: number;
  readonly message: string;
}

export type CopyRefusal =
  | { readonly status: "fault"; readonly fault: ExportFault }
  | { readonly status: "other_unfinished"; readonly sha256: string };

/**
 * Copies a full export into a store that no host works on. The whole file is checked before anything is written; what is
 * here is never overwritten. Stopped at any instant, the same file again goes on from there.
 */
export async function copyExport(
  deps: CopyDeps,
): Promise<{ readonly status: "copied"; readonly report: CopyReport } | CopyRefusal> {
  try {
    const unfinished = await unfinishedCopy(deps.store);
    const checked = await checkFile(deps, unfinished?.deleting ?? null);
    const { sha256 } = checked;
    if (unfinished !== null && unfinished.sha256 !== sha256)
      return { status: "other_unfinished", sha256: unfinished.sha256 };
    if (unfinished === null) await setUnfinishedCopy(deps.store, { sha256, deleting: null });
    const copier = new Copier(deps, checked);
    for await (const item of readExport(deps.open())) await copier.add(item);
    const report = await copier.finish();
    await setUnfinishedCopy(deps.store, null);
    return { status: "copied", report };
  } catch (error) {
    if (error instanceof ExportFault) return { status: "fault", fault: error };
    throw error;
  }
}

interface CheckedFile {
  readonly plans: ReadonlyMap<SessionId, LogPlan>;
  /** Deleted here for good. */
  readonly isPurged: (session: SessionId) => boolean;
  readonly sha256: string;
}

async function checkFile(
  { store, open, onProgress }: CopyDeps,
  deleting: SessionId | null,
): Promise<CheckedFile> {
  const planner = await CopyPlanner.open(store, deleting);
  let [logs, events] = [0, 0];
  let sha256 = "";
  for await (const item of readExport(open())) {
    await planner.add(item);
    if (item.kind === "event") events += 1;
    if (item.kind === "end") ({ sha256 } = item.end);
    if (item.kind !== "logEnd") continue;
    logs += 1;
    onProgress?.({ phase: "checking", logs, events });
  }
  return { plans: planner.plans, isPurged: (session) => planner.isPurged(session), sha256 };
}

/** Well below the limits of one transaction. */
const eventsPerCommit = 500;
const charactersPerCommit = 1024 * 1024;

interface OpenLog {
  readonly line: LogLine;
  readonly plan: LogPlan;
  readonly session: SessionId;
  /** Up to here it is in the store. */
  readonly head: number;
  last: number;
  events: NewEvent[];
  copied: CopiedFrom[];
  characters: number;
  isBegun: boolean;
  /** The store refused an event of it, and takes none that follow. */
  isRefused: boolean;
}

class Copier {
  readonly #deps: CopyDeps;
  readonly #plans: ReadonlyMap<SessionId, LogPlan>;
  readonly #isPurged: CheckedFile["isPurged"];
  readonly #ids: CopiedIds;
  readonly #sha256: string;
  readonly #counts = { new: 0, continue: 0, known: 0, copy: 0, deleted: 0 };
  readonly #copies: { from: SessionId; to: SessionId }[] = [];
  readonly #damaged: { session: SessionId; seq: number }[] = [];
  readonly #keptHere: string[] = [];
  readonly #leftOut: string[] = [];
  readonly #refused: RefusedEvent[] = [];
  readonly #settings = { taken: 0, known: 0, kept: 0 };
  readonly #purged: { owner: OwnerId; session: SessionId }[] = [];
  #log: OpenLog | null = null;
  #logs = 0;
  #events = 0;
  #blobs = 0;

  constructor(deps: CopyDeps, { plans, isPurged, sha256 }: CheckedFile) {
    this.#deps = deps;
    this.#plans = plans;
    this.#isPurged = isPurged;
    this.#sha256 = sha256;
    this.#ids = new CopiedIds(sha256, (session) => plans.get(session) === "copy");
  }

  async add(item: PlacedItem): Promise<void> {
    switch (item.kind) {
      case "header":
        return;
      case "log":
        return this.#begin(item.log);
      case "event":
        return this.#addEvent(item.event, item.link);
      case "damaged":
        this.#damaged.push({ session: item.log.session, seq: item.seq });
        return;
      case "usage":
        return this.#addUsage(item.usage);
      case "logEnd":
        return this.#end();
      case "blob":
        return this.#addBlob(item);
      case "register":
        return this.#addRegister(item.row);
      case "file":
        return this.#addFile(item);
      case "end":
        if (item.end.sha256 !== this.#sha256)
          throw new ExportFault(
            "file_changed",
            item.line,
            "The file was changed while it was read.",
          );
    }
  }

  async finish(): Promise<CopyReport> {
    const { store } = this.#deps;
    this.#report("proving");
    for (const { owner, session } of this.#purged) await this.#purge(owner, session);
    const { found } = await runFsck(store.audit, { mode: "rebuild", now: await store.now() });
    // Which session holds a lane is known only once all of them are there.
    const findings = found.filter(
      ({ code, repair }) => code !== "lane_differs" || repair !== "done",
    );
    return {
      sessions: this.#counts,
      copies: this.#copies,
      events: this.#events,
      blobs: this.#blobs,
      settings: this.#settings,
      keptHere: this.#keptHere,
      leftOut: this.#leftOut,
      refused: this.#refused,
      damaged: this.#damaged,
      findings,
    };
  }

  #report(phase: CopyProgress["phase"]): void {
    this.#deps.onProgress?.({ phase, logs: this.#logs, events: this.#events });
  }

  async #begin(line: LogLine): Promise<void> {
    const found = this.#plans.get(line.session) ?? "new";
    const session = found === "copy" ? this.#ids.of(line.session) : line.session;
    const plan = found === "copy" && this.#isPurged(session) ? "known" : found;
    const row = await this.#deps.store.reads.session(line.owner, session);
    const head = row?.head ?? 0;
    const empty = {
      events: [],
      copied: [],
      characters: 0,
      isBegun: row !== null,
      isRefused: false,
    };
    this.#log = { line, plan, session, head, last: head, ...empty };
    if (line.purged !== null && plan === "new")
      await setUnfinishedCopy(this.#deps.store, { sha256: this.#sha256, deleting: session });
  }

  async #addEvent(event: StoredEvent, link: string | null): Promise<void> {
    const log = this.#log!;
    if (log.plan === "known" || log.plan === "deleted" || event.seq <= log.head) return;
    // Without its first event a log cannot be copied; the damage is in the report.
    if (!log.isBegun && event.type !== "session.created") return;
    log.isBegun = true;
    const {
      seq,
      at,
      quiet = false,
      ...written
    } = log.plan === "copy" ? this.#ids.event(event) : event;
    const isLinked = log.plan !== "copy";
    await this.#push(written, { seq, at, quiet, ...(isLinked && { link }) });
  }

  async #push(event: NewEvent, from: CopiedFrom): Promise<void> {
    const log = this.#log!;
    if (log.isRefused) return;
    log.events.push(event);
    log.copied.push(from);
    log.last = from.seq;
    log.characters += JSON.stringify(event.data).length;
    if (log.events.length === eventsPerCommit || log.characters > charactersPerCommit)
      await this.#commit();
  }

  async #commit(): Promise<void> {
    const log = this.#log!;
    const { events, copied } = log;
    Object.assign(log, { events: [], copied: [], characters: 0 });
    if (events.length === 0) return;
    const refused = await this.#write(events, copied);
    // One by one, so that what stands before it is there.
    if (refused !== null && events.length > 1)
      for (const [index, event] of events.entries())
        if (!log.isRefused) await this.#write([event], copied.slice(index, index + 1));
    this.#report("copying");
  }

  /**
   * Whoever forged a file can make it whole: its hosts would refuse to start as long as the import has not ended, so it
   * ends, and says what isn't there.
   */
  async #write(
    events: readonly NewEvent[],
    copied: readonly CopiedFrom[],
  ): Promise<Refused | null> {
    const log = this.#log!;
    const { session, line } = log;
    const result = await this.#deps.store.commit({ owner: line.owner, session, events, copied });
    if (result.status === "failed") throw new StoreFailure(result.code, result.message);
    if (result.status === "committed") {
      this.#events += events.length;
      return null;
    }
    const [first] = copied;
    if (events.length === 1 && first !== undefined) {
      log.isRefused = true;
      this.#refused.push({ session, seq: first.seq, message: result.message });
    }
    return result;
  }

  /** What a deleted session has used outlives it: it is written with the session, which is then deleted again. */
  async #addUsage(usage: UsageLine): Promise<void> {
    const log = this.#log!;
    if (!isCopied(log.plan) || usage.seq <= log.head) return;
    await this.#createDeleted();
    const { kind: _, seq, runId, at, profile, ...used } = usage;
    const data = { ...used, usedAt: at, ...(profile !== null && { profile }) };
    const id = deletedSessionIds.usage(log.session, seq);
    await this.#push(newEvent(id, "usage.recorded", data, runId ?? undefined), {
      seq,
      at,
      quiet: true,
    });
  }

  async #createDeleted(): Promise<void> {
    const log = this.#log!;
    if (log.isBegun) return;
    log.isBegun = true;
    const id = deletedSessionIds.created(log.session);
    const from = { seq: 1 as Seq, at: log.line.purged?.at ?? 0, quiet: true };
    await this.#push(newEvent(id, "session.created", {}), from);
  }

  async #end(): Promise<void> {
    const log = this.#log!;
    const { purged, owner } = log.line;
    if (purged !== null && !log.isRefused && (isCopied(log.plan) || log.plan === "copy")) {
      await this.#trash();
      this.#purged.push({ owner, session: log.session });
    }
    await this.#commit();
    if (purged === null) this.#counts[log.plan] += 1;
    if (log.plan === "copy") this.#copies.push({ from: log.line.session, to: log.session });
    this.#logs += 1;
    this.#log = null;
    this.#report("copying");
  }

  /** Deleted for good at the end, once all branches that read it are here. */
  async #trash(): Promise<void> {
    const log = this.#log!;
    await this.#createDeleted();
    const { owner, purged } = log.line;
    const row = await this.#deps.store.reads.session(owner, log.session);
    if (row?.trashedAt != null && row.head === log.last) return;
    const from = { seq: (log.last + 1) as Seq, at: purged?.at ?? 0, quiet: true };
    const id = deletedSessionIds.trashed(log.session);
    await this.#push(newEvent(id, "session.trashed", {}), from);
  }

  async #addBlob({ owner, id, bytes, mediaType }: Extract<PlacedItem, { kind: "blob" }>) {
    const put = await this.#deps.store.putBlob(owner, bytes, mediaType);
    if (put.status === "failed") throw new StoreFailure(put.code, put.message);
    if (put.id !== id) throw new Error("A blob is named by its bytes.");
    this.#blobs += 1;
  }

  async #addRegister({ owner, key, value }: Extract<PlacedItem, { kind: "register" }>["row"]) {
    if (isLeftOut({ owner, key })) {
      if (this.#leftOut.length < maxKeptShown) this.#leftOut.push(key);
      return;
    }
    const { register } = this.#deps.store;
    const put = await register.put({ owner, key, value, expect: 0 });
    if (put.status === "failed") throw new StoreFailure(put.code, put.message);
    if (put.status === "put") this.#settings.taken += 1;
    else if (put.row?.value === value || key.startsWith("signed-head/")) this.#settings.known += 1;
    else this.#keep(key);
  }

  async #addFile({ path, bytes }: Extract<PlacedItem, { kind: "file" }>): Promise<void> {
    const taken = await takeHomeFile(this.#deps.home, { path, bytes });
    if (taken === "kept") this.#keep(path);
    else this.#settings[taken] += 1;
  }

  #keep(what: string): void {
    this.#settings.kept += 1;
    if (this.#keptHere.length < maxKeptShown) this.#keptHere.push(what);
  }

  async #purge(owner: OwnerId, session: SessionId): Promise<void> {
    const purged = await this.#deps.store.purge(owner, session);
    if (purged.status === "failed") throw new StoreFailure(purged.code, purged.message);
  }
}

function isCopied(plan: LogPlan): boolean {
  return plan === "new" || plan === "continue";
}

const maxKeptShown = 100;
