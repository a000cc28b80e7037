import { randomUUID } from "node:crypto";
import type { Client } from "pg";
import { type SessionId, sleep } from "@holdfast/protocol";
import type { ReaderPool } from "./read/reader-pool.ts";
import { statement, connectListener, runSetup } from "./connection.ts";
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
/** PostgreSQL allows less than 8,000 bytes. */
const maxPayloadBytes = 7_900;
const anySession = "*";

/**
 * Wakes the watchers of a session when it may have changed. Commits of this process wake them at once; other
 * processes signal theirs with NOTIFY, sent after the commit rather than inside it, because transactions that notify
 * wait for each other's sync. A signal is only a hint: the heads of watched sessions are also polled.
 */
export class CommitNotifier {
  readonly #settings: Settings;
  readonly #node = randomUUID();
  readonly #watchers = new Map<SessionId, Set<() => void>>();
  readonly #pollers: Record<WatchPace, HeadPoller>;
  readonly #unsent = new Set<SessionId>();
  readonly #closed = new AbortController();
  #client: Promise<Client> | undefined;
  #sending: Promise<void> | undefined;

  constructor(settings: Settings, pool: ReaderPool) {
    this.#settings = settings;
    const wake = (session: SessionId): void => this.#wake(session);
    this.#pollers = {
      calm: new HeadPoller(pool, settings.calmPollMs, wake),
      live: new HeadPoller(pool, settings.livePollMs, wake),
    };
  }

  watch(session: SessionId, pace: WatchPace, wake: () => void): () => void {
    const watchers = this.#watchers.get(session) ?? new Set();
    this.#watchers.set(session, watchers);
    // The same function may watch twice.
    const watcher = (): void => wake();
    watchers.add(watcher);
    const stopPolling = this.#pollers[pace].add(session);
    this.#listen().catch(() => undefined);
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
    for (const session of sessions) {
      this.#unsent.add(session);
      this.#wake(session);
    }
    this.#startSending();
  }

  async close(): Promise<void> {
    this.#closed.abort();
    this.#watchers.clear();
    for (const poller of Object.values(this.#pollers)) poller.close();
    await this.#sending;
    const client = await this.#client?.catch(() => undefined);
    await client?.end().catch(() => undefined);
  }

  #wake(session: SessionId): void {
    for (const watcher of this.#watchers.get(session) ?? []) watcher();
  }

  #wakeAll(): void {
    for (const session of this.#watchers.keys()) this.#wake(session);
  }

  #startSending(): void {
    this.#sending ??= this.#send().finally(() => (this.#sending = undefined));
  }

  /** While one signal is being sent, the sessions of later commits collect for the next. */
  async #send(): Promise<void> {
    while (this.#unsent.size > 0) {
      const sessions = [...this.#unsent];
      this.#unsent.clear();
      const ids = sessions.join(" ");
      const payload = `${this.#node} ${ids.length < maxPayloadBytes - 40 ? ids : anySession}`;
      try {
        const client = await this.#listen();
        await client.query("SELECT pg_notify($1, $2)", [channel, payload]);
      } catch {
        // Sent again when the connection is back; until then the other processes notice by polling.
        for (const session of sessions) this.#unsent.add(session);
        return;
      }
    }
  }

  /** The connection that listens and signals. Opened on first use, and reopened while anybody watches. */
  #listen(): Promise<Client> {
    if (this.#client !== undefined) return this.#client;
    if (this.#closed.signal.aborted) return Promise.reject(new Error("closed"));
    this.#client = this.#connect();
    return this.#client;
  }

  async #connect(): Promise<Client> {
    try {
      const client = await connectListener(this.#settings);
      client.on("notification", ({ payload = "" }) => this.#onSignal(payload));
      client.once("end", () => void this.#reconnect());
      await runSetup(client, `LISTEN ${channel}`);
      // Signals sent while nobody listened are lost, so wake everyone.
      this.#wakeAll();
      queueMicrotask(() => this.#startSending());
      return client;
    } catch (error) {
      void this.#reconnect();
      throw error;
    }
  }

  async #reconnect(): Promise<void> {
    if (this.#closed.signal.aborted) return;
    const lostClient = this.#client;
    await sleep(100 + Math.random() * 400, this.#closed.signal);
    if (this.#client !== lostClient) return;
    this.#client = undefined;
    if (this.#watchers.size + this.#unsent.size > 0) this.#listen().catch(() => undefined);
  }

  #onSignal(payload: string): void {
    const [node, ...sessions] = payload.split(" ");
    if (node === this.#node) return;
    if (sessions[0] === anySession) this.#wakeAll();
    else for (const session of sessions) this.#wake(session as SessionId);
  }
}
