import {
  decodeEvent,
  dropOldest,
  type OwnerId,
  type Seq,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";
import type { Log } from "../log/log.ts";
import type { Clock } from "../ports/clock.ts";
import type { ListCursor } from "../ports/reads.ts";
import type { SessionRow } from "../ports/rows.ts";
import { StoreFailure } from "../ports/store.ts";
import type { Compactor, ContextFit } from "./compactor.ts";
import { contextTokens } from "./describe-context.ts";
import { readFrame } from "./prefix.ts";
import { readContext } from "./session-context.ts";

export interface IdleCompactionSettings {
  /** How long a session must be idle. */
  readonly restMs: number;
  /** A context that fills more than this share of its model's window is large. */
  readonly fullShare: number;
  /** As for runs by default. `null`: unknown, and the session is left alone. */
  readonly windowOf?: ContextFit["windowOf"];
}

export interface IdleCompactorDeps {
  readonly log: Log;
  readonly clock: Clock;
  readonly compactor: Pick<Compactor, "compactNow" | "windowOf" | "count">;
  readonly settings: IdleCompactionSettings;
  /** Scans cover only this owner's sessions; sessions whose run ended here are examined whoever owns them. */
  readonly owner: OwnerId;
  /** `false`: a spending limit is reached. */
  readonly mayCallModel: (owner: OwnerId, session: SessionId) => Promise<boolean>;
  readonly onError: (error: unknown) => void;
}

const longestSweepMs = 60_000;
const shortestSweepMs = 500;
/** The longest interval between scans for sessions that no run of this process announced. */
const longestScanMs = 60 * 60_000;
/** Per sweep: each summary costs money and model time. */
const maxCompactions = 2;
const maxExamined = 20;
/** A session idle for longer is unlikely to be continued. */
const maxRestMs = 7 * 24 * 60 * 60_000;
const maxRemembered = 5_000;

type Reason = "idle" | "hygiene";

/**
 * Compacts large sessions while nobody uses them, so that the next turn neither waits for a summary nor sends the whole
 * conversation. `idle`: a run ended here and the session has been idle since. `hygiene`: another process, perhaps a dead
 * one, left the session large. The compaction lock keeps two hosts from compacting the same session.
 */
export class IdleCompactor {
  readonly #deps: IdleCompactorDeps;
  readonly #stop = new AbortController();
  /** When each session was last used here, by this process's clock; oldest first. */
  readonly #resting = new Map<SessionId, { readonly owner: OwnerId; readonly since: number }>();
  /** The version at which each session was examined: until it changes, there is no need to look again. */
  readonly #examined = new Map<SessionId, number>();
  /** The last message of a session that was tried in vain: its cost changes the version, but nothing was said since. */
  readonly #triedInVain = new Map<SessionId, Seq | undefined>();
  #current: { readonly session: SessionId; readonly abort: AbortController } | null = null;
  #scan: { readonly after: ListCursor | undefined } | null = null;
  #nextScanAt = 0;
  #loop: Promise<void> = Promise.resolve();

  constructor(deps: IdleCompactorDeps) {
    this.#deps = deps;
  }

  /** Records that a run of the session has ended. */
  notify(owner: OwnerId, session: SessionId): void {
    remember(this.#resting, session, { owner, since: this.#deps.clock.now() });
  }

  /** The session is in use again: aborts a compaction of it. */
  interrupt(session: SessionId): void {
    this.#resting.delete(session);
    if (this.#current?.session === session) this.#current.abort.abort();
  }

  start(): void {
    this.#loop = this.#sweepPeriodically();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#current?.abort.abort();
    await this.#loop;
  }

  /** Compacts large sessions that have been idle long enough, up to the limits per sweep. */
  async sweep(): Promise<void> {
    const budget = { compactions: maxCompactions, examined: maxExamined };
    for (const [session, { owner, since }] of this.#resting) {
      const restedMs = this.#deps.clock.now() - since;
      if (restedMs < this.#deps.settings.restMs || isSpent(budget)) break;
      this.#resting.delete(session);
      const row = await this.#deps.log.store.reads.session(owner, session);
      if (row === null) continue;
      if ((await this.#compactIfLarge(row, "idle", budget)) === "in use")
        this.notify(owner, session);
    }
    await this.#scanOthers(budget);
  }

  async #sweepPeriodically(): Promise<void> {
    const { clock, settings, onError } = this.#deps;
    const sweepMs = Math.min(longestSweepMs, Math.max(shortestSweepMs, settings.restMs / 2));
    while (!this.#stop.signal.aborted) {
      await clock.sleep(sweepMs, this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      await this.sweep().catch((error: unknown) => {
        // The next sweep tries again.
        if (!(error instanceof StoreFailure)) onError(error);
      });
    }
  }

  /** Continues the scan where the last sweep stopped, and periodically starts a new one. */
  async #scanOthers(budget: Budget): Promise<void> {
    const { log, clock, owner, settings } = this.#deps;
    if (this.#scan === null && clock.now() >= this.#nextScanAt) {
      this.#scan = { after: undefined };
      this.#nextScanAt = clock.now() + Math.min(longestScanMs, settings.restMs);
    }
    const now = await log.store.now();
    while (this.#scan !== null && !isSpent(budget) && !this.#stop.signal.aborted) {
      const { after } = this.#scan;
      const query = { limit: maxExamined, ...(after && { after }) };
      const { sessions, next } = await log.store.reads.sessions(owner, query);
      for (const row of sessions) {
        if (isSpent(budget)) return;
        this.#scan = { after: { sortAt: row.sortAt, id: row.id } };
        const isAnnounced = this.#resting.has(row.id);
        const isResting = row.activityAt <= now - settings.restMs;
        if (isResting && !isAnnounced) await this.#compactIfLarge(row, "hygiene", budget);
      }
      const oldest = sessions.at(-1);
      if (next === null || oldest === undefined || oldest.sortAt < now - maxRestMs)
        this.#scan = null;
    }
  }

  async #compactIfLarge(
    row: SessionRow,
    reason: Reason,
    budget: Budget,
  ): Promise<"in use" | "done"> {
    const { compactor, mayCallModel } = this.#deps;
    const { owner, id: session, version } = row;
    const isArchivedOrTrashed = row.trashedAt !== null || row.archived;
    if (isArchivedOrTrashed || this.#examined.get(session) === version) return "done";
    if (!(await this.#isResting(row))) return "in use";
    budget.examined -= 1;
    const large = await this.#findIfLarge(row);
    if (large !== null && !(await mayCallModel(owner, session))) return "done";
    remember(this.#examined, session, version);
    if (large === null) return "done";
    budget.compactions -= 1;
    const abort = new AbortController();
    this.#current = { session, abort };
    try {
      const signal = AbortSignal.any([abort.signal, this.#stop.signal]);
      const target = { owner, session, signal };
      const result = await compactor.compactNow(target, reason, large.window);
      // Somebody else is compacting it, or the store failed: look again in the next scan.
      if (result.status === "deferred" || result.status === "failed")
        this.#examined.delete(session);
      if (result.status === "refused") remember(this.#triedInVain, session, large.last);
      return "done";
    } finally {
      this.#current = null;
    }
  }

  async #isResting({ owner, id }: SessionRow): Promise<boolean> {
    const { log, settings } = this.#deps;
    const snapshot = await log.store.reads.snapshot(owner, id, { limit: 1 });
    if (snapshot === null || snapshot.inbox.length > 0 || snapshot.session.liveRun !== null)
      return false;
    return (await log.store.now()) - snapshot.session.activityAt >= settings.restMs;
  }

  /** If the context fills enough of its model's window: that window in tokens, and the last message. */
  async #findIfLarge({ owner, id, model }: SessionRow): Promise<LargeContext | null> {
    const { log, compactor, settings } = this.#deps;
    const { reads } = log.store;
    const entries = await readContext(reads, owner, id);
    if (entries === null) return null;
    const last = entries.tail.findLast(({ type }) => type.startsWith("message."))?.seq;
    if (this.#triedInVain.has(id) && this.#triedInVain.get(id) === last) return null;
    const name = model ?? lastModelIn(entries.tail) ?? lastModelIn(entries.head);
    const windowOf = settings.windowOf ?? compactor.windowOf;
    const window = name === null ? null : windowOf(name);
    if (window === null) return null;
    const frame = entries.frame && (await readFrame({ reads }, owner, entries.frame));
    const tokens = contextTokens(entries, frame, compactor.count);
    return tokens > window * settings.fullShare ? { window, last } : null;
  }
}

interface LargeContext {
  readonly window: number;
  readonly last: Seq | undefined;
}

interface Budget {
  compactions: number;
  examined: number;
}

function isSpent({ compactions, examined }: Budget): boolean {
  return compactions <= 0 || examined <= 0;
}

/** Adds it as the newest, even if it is known already. */
function remember<T>(map: Map<SessionId, T>, session: SessionId, value: T): void {
  map.delete(session);
  map.set(session, value);
  dropOldest(map, maxRemembered);
}

/** The model that wrote the newest answer. */
function lastModelIn(entries: readonly StoredEvent[]): string | null {
  for (const entry of entries.toReversed()) {
    const decoded = entry.type === "message.assistant" ? decodeEvent(entry) : null;
    if (decoded?.kind !== "known" || decoded.event.type !== "message.assistant") continue;
    return decoded.event.data.model ?? null;
  }
  return null;
}
