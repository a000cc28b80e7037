import { type SessionId, sleep } from "@holdfast/protocol";
import type { ReaderPool } from "./read/reader-pool.ts";
import { statement } from "./connection.ts";
import { fits, type SignalConnection, Unsent } from "./signals.ts";
import type { WatchPace } from "@holdfast/engine";
import type { Settings } from "./settings.ts";

const headsOf = statement(
  "poll_heads",
  `SELECT session_id, head FROM heads WHERE session_id = ANY($1)`,
);

interface PolledSession {
  watchers: number;
  /** Unknown at first: a new watcher is woken once, whatever the head is. */
  head: number | undefined;
}

/** Polls the heads of the sessions watched at one pace. Reads nothing when nobody watches. */
export class HeadPoller {
  readonly #pool: ReaderPool;
  readonly #pollMs: number;
  readonly #wake: (session: SessionId) => void;
  readonly #sessions = new Map<SessionId, PolledSession>();
  readonly #closed = new AbortController();
  #state: "idle" | "polling" = "idle";

  constructor(pool: ReaderPool, pollMs: number, wake: (session: SessionId) => void) {
    this.#pool = pool;
    this.#pollMs = pollMs;
    this.#wake = wake;
  }

  add(session: SessionId): () => void {
    const polled = this.#sessions.get(session) ?? { watchers: 0, head: undefined };
    polled.watchers += 1;
    polled.head = undefined;
    this.#sessions.set(session, polled);
    if (this.#state === "idle") void this.#poll();
    let watching = true;
    return () => {
      if (watching) polled.watchers -= 1;
      watching = false;
      if (polled.watchers === 0 && this.#sessions.get(session) === polled) {
        this.#sessions.delete(session);
      }
    };
  }

  close(): void {
    this.#closed.abort();
    this.#sessions.clear();
  }

  async #poll(): Promise<void> {
    const { signal } = this.#closed;
    this.#state = "polling";
    while (this.#sessions.size > 0 && !signal.aborted) {
      await sleep(this.#pollMs, signal);
      if (signal.aborted) return;
      // If the database can't be read, the heads will show the change when it can.
      await this.#compareHeads().catch(() => undefined);
    }
    this.#state = "idle";
  }

  async #compareHeads(): Promise<void> {
    const rows = await this.#pool.rows(headsOf, [[...this.#sessions.keys()]]);
    const headBySession = new Map(rows.map((row) => [row["session_id"], Number(row["head"])]));
    for (const [session, polled] of this.#sessions) {
      const head = headBySession.get(session) ?? -1;
      if (head === polled.head) continue;
      polled.head = head;
      this.#wake(session);
    }
  }
}

const channel = "holdfast";
const anySession = "*";

/**
 * Wakes the watchers of a session when it may have changed. Commits of this process wake them at once; other
 * processes signal theirs with NOTIFY, sent after the commit rather than inside it, because transactions that notify
 * wait for each other's sync. A signal is only a hint: the heads of watched sessions are also polled.
 */
export class CommitNotifier {
  readonly #signals: SignalConnection;
  readonly #watchers = new Map<SessionId, Set<() => void>>();
  readonly #pollers: Record<WatchPace, HeadPoller>;
  readonly #unsent: Unsent<SessionId>;

  constructor(settings: Settings, pool: ReaderPool, signals: SignalConnection) {
    const wake = (session: SessionId): void => this.#wake(session);
    this.#pollers = {
      calm: new HeadPoller(pool, settings.calmPollMs, wake),
      live: new HeadPoller(pool, settings.livePollMs, wake),
    };
    this.#signals = signals;
    this.#unsent = new Unsent(signals, channel, (sessions) => {
      const payload = `${signals.node} ${sessions.join(" ")}`;
      return fits(payload) ? payload : `${signals.node} ${anySession}`;
    });
    signals.subscribe(channel, {
      isNeeded: () => this.#watchers.size > 0 || this.#unsent.size > 0,
      onConnected: () => {
        this.#wakeAll();
        this.#unsent.send();
      },
      onSignal: (payload) => this.#onSignal(payload),
    });
  }

  watch(session: SessionId, pace: WatchPace, wake: () => void): () => void {
    const watchers = this.#watchers.get(session) ?? new Set();
    this.#watchers.set(session, watchers);
    // The same function may watch twice.
    const watcher = (): void => wake();
    watchers.add(watcher);
    const stopPolling = this.#pollers[pace].add(session);
    this.#signals.connect();
    return () => {
      stopPolling();
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(session) === watchers) {
        this.#watchers.delete(session);
      }
    };
  }

  /** Call after a commit of this process. */
  notify(sessions: readonly SessionId[]): void {
    for (const session of sessions) this.#wake(session);
    this.#unsent.add(sessions);
  }

  /** Resolves when what was committed has been signalled, if it could be. */
  async close(): Promise<void> {
    this.#watchers.clear();
    for (const poller of Object.values(this.#pollers)) poller.close();
    await this.#unsent.settled();
  }

  #wake(session: SessionId): void {
    for (const watcher of this.#watchers.get(session) ?? []) watcher();
  }

  #wakeAll(): void {
    for (const session of this.#watchers.keys()) this.#wake(session);
  }

  #onSignal(payload: string): void {
    const [node, ...sessions] = payload.split(" ");
    if (node === this.#signals.node) return;
    if (sessions[0] === anySession) this.#wakeAll();
    else for (const session of sessions) this.#wake(session as SessionId);
  }
}
