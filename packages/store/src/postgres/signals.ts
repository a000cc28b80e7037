import { randomUUID } from "node:crypto";
import { sleep } from "@holdfast/protocol";
import type { Client } from "pg";
import { connectListener, runSetup } from "./connection.ts";
import type { Settings } from "./settings.ts";

/** PostgreSQL allows less than 8,000 bytes. */
const maxPayloadBytes = 7_900;

export function fits(payload: string): boolean {
  return Buffer.byteLength(payload) <= maxPayloadBytes;
}

interface Subscriber {
  /** Whether signals are wanted now, or waiting to be sent. */
  readonly isNeeded: () => boolean;
  /** Signals sent while nobody listened are lost. */
  readonly onConnected: () => void;
  readonly onSignal: (payload: string) => void;
}

/**
 * The connection that listens and signals: the only one of a process that holds state in its session. It is opened when
 * somebody needs it, and opened again while somebody does. Signals are hints that may be lost.
 */
export class SignalConnection {
  /** Tells this process from others in signals. */
  readonly node = randomUUID();
  readonly #settings: Settings;
  readonly #subscribers = new Map<string, Subscriber>();
  readonly #closed = new AbortController();
  #client: Promise<Client> | undefined;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Once for each channel, before anything connects. */
  subscribe(channel: string, subscriber: Subscriber): void {
    this.#subscribers.set(channel, subscriber);
  }

  connect(): void {
    this.#listen().catch(() => undefined);
  }

  /** Rejects if it was not sent. */
  async publish(channel: string, payload: string): Promise<void> {
    const client = await this.#listen();
    await client.query("SELECT pg_notify($1, $2)", [channel, payload]);
  }

  async close(): Promise<void> {
    this.#closed.abort();
    const client = await this.#client?.catch(() => undefined);
    await client?.end().catch(() => undefined);
  }

  #listen(): Promise<Client> {
    if (this.#client !== undefined) return this.#client;
    if (this.#closed.signal.aborted) return Promise.reject(new Error("closed"));
    this.#client = this.#connect();
    return this.#client;
  }

  async #connect(): Promise<Client> {
    try {
      const client = await connectListener(this.#settings);
      client.on("notification", ({ channel, payload = "" }) =>
        this.#subscribers.get(channel)?.onSignal(payload),
      );
      client.once("end", () => void this.#reconnect());
      const channels = [...this.#subscribers.keys()];
      await runSetup(client, ...channels.map((channel) => `LISTEN ${channel}`));
      queueMicrotask(() => {
        for (const { onConnected } of this.#subscribers.values()) onConnected();
      });
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
    if ([...this.#subscribers.values()].some(({ isNeeded }) => isNeeded())) this.connect();
  }
}

/** What one channel has yet to send. While one signal is being sent, what is added meanwhile collects for the next. */
export class Unsent<Item extends string> {
  readonly #signals: SignalConnection;
  readonly #channel: string;
  readonly #payloadOf: (items: readonly Item[]) => string;
  readonly #items = new Set<Item>();
  #sending: Promise<void> | undefined;

  constructor(
    signals: SignalConnection,
    channel: string,
    payloadOf: (items: readonly Item[]) => string,
  ) {
    this.#signals = signals;
    this.#channel = channel;
    this.#payloadOf = payloadOf;
  }

  get size(): number {
    return this.#items.size;
  }

  add(items: readonly Item[]): void {
    for (const item of items) this.#items.add(item);
    this.send();
  }

  send(): void {
    if (this.#items.size === 0) return;
    this.#sending ??= this.#send().finally(() => (this.#sending = undefined));
  }

  async settled(): Promise<void> {
    await this.#sending;
  }

  async #send(): Promise<void> {
    while (this.#items.size > 0) {
      const items = [...this.#items];
      this.#items.clear();
      try {
        await this.#signals.publish(this.#channel, this.#payloadOf(items));
      } catch {
        // Sent again when the connection is back; until then the other processes notice by polling.
        for (const item of items) this.#items.add(item);
        return;
      }
    }
  }
}
