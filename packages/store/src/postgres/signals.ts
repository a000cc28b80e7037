import type { WatchPace } from "@holdfast/engine";
import type { SessionId } from "@holdfast/protocol";
import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type { Client } from "pg";

import { connectListener, runSetup } from "./connection.ts";
import { HeadPoller } from "./watch.ts";
import type { ReaderPool } from "./read/reader-pool.ts";
import type { Settings } from "./settings.ts";

const channel = "holdfast";
/** PostgreSQL takes less than 8,000 bytes. */
const payloadLimit = 7_900;
const anySession = "*";

/**
 * Wakes those who watch a session when it may have news. This process's own commits wake at once; those of others
 * are signalled by NOTIFY, sent after the commit and not inside it (a transaction that notifies makes all others that
 * do wait for its sync). A signal is only a hint: the heads of watched sessions are read again and again besides.
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

  constructor(settings: Settings, readers: ReaderPool) {
    this.#settings = settings;
    const wake = (session: SessionId): void => this.#wake(session);
    this.#pollers = {
      calm: new HeadPoller(readers, settings.calmPollMs, wake),
      live: new HeadPoller(readers, settings.livePollMs, wake),
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

  /** Called after a commit of this process. */
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

  /** While one signal is on its way, the sessions of the commits that follow gather for the next. */
  async #send(): Promise<void> {
    while (this.#unsent.size > 0) {
      const sessions = [...this.#unsent];
      this.#unsent.clear();
      const ids = sessions.join(" ");
      const payload = `${this.#node} ${ids.length < payloadLimit - 40 ? ids : anySession}`;
      try {
        const client = await this.#listen();
        await client.query("SELECT pg_notify($1, $2)", [channel, payload]);
      } catch {
        // To be sent when the connection is back; until then the others find out by looking.
        for (const session of sessions) this.#unsent.add(session);
        return;
      }
    }
  }

  /** The connection that listens and signals; made when it is first needed, and again while someone watches. */
  #listen(): Promise<Client> {
    if (this.#client !== undefined) return this.#client;
    if (this.#closed.signal.aborted) return Promise.reject(new Error("closed"));
    this.#client = this.#connect();
    return this.#client;
  }

  async #connect(): Promise<Client> {
    try {
      const client = await connectListener(this.#settings);
      client.on("notification", ({ payload = "" }) => this.#hear(payload));
      client.once("end", () => void this.#reconnect());
      await runSetup(client, `LISTEN ${channel}`);
      // Whatever was signalled while nobody listened is lost: everyone looks again.
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
    const broken = this.#client;
    await wait(100 + Math.random() * 400, undefined, { signal: this.#closed.signal }).catch(
      () => undefined,
    );
    if (this.#client !== broken) return;
    this.#client = undefined;
    if (this.#watchers.size + this.#unsent.size > 0) this.#listen().catch(() => undefined);
  }

  #hear(payload: string): void {
    const [node, ...sessions] = payload.split(" ");
    if (node === this.#node) return;
    if (sessions[0] === anySession) this.#wakeAll();
    else for (const session of sessions) this.#wake(session as SessionId);
  }
}
