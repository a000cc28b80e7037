import type { Failed } from "@holdfast/engine";

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database?sslmode=…` */
  readonly url: string;
  /**
   * The server's own address, if `url` is that of a pooler that shares server connections between transactions. One
   * connection per process goes there, and migrations.
   */
  readonly listenUrl?: string;
  /** Added to the database's clock. For tests. */
  readonly clockOffset?: () => number;
  /** How long a delta waits at most for others to share its sync. */
  readonly tickMs?: number;
  /** The most writes per transaction. */
  readonly maxGroup?: number;
  /** The maximum for reads. Each process has three more connections: for writes, leases and signals. */
  readonly maxReaders?: number;
  /** How long a write waits for a row lock. */
  readonly lockTimeoutMs?: number;
  /**
   * How long a write transaction may sit idle before the server ends it. Until then, a process that freezes or loses
   * power inside one keeps its rows locked for everybody else.
   */
  readonly idleTransactionMs?: number;
  readonly statementTimeoutMs?: number;
  readonly connectTimeoutMs?: number;
  /** How long a write or read keeps trying to reach the database. */
  readonly giveUpMs?: number;
  /** How often the heads of watched sessions are polled, besides signals. */
  readonly calmPollMs?: number;
  readonly livePollMs?: number;
  /** How long search waits before it reads new messages, so that a burst is indexed together. */
  readonly indexAfterMs?: number;
  /** Called with every failed write, except data that the database rejects. */
  readonly onWriteFailed?: (failure: Failed) => void;
}

export type Settings = Required<Omit<PostgresOptions, "listenUrl">> &
  Pick<PostgresOptions, "listenUrl">;

export function withDefaults(options: PostgresOptions): Settings {
  return {
    clockOffset: () => 0,
    tickMs: 25,
    maxGroup: 500,
    maxReaders: 4,
    lockTimeoutMs: 5_000,
    idleTransactionMs: 2_000,
    statementTimeoutMs: 15_000,
    connectTimeoutMs: 5_000,
    giveUpMs: 10_000,
    calmPollMs: 250,
    livePollMs: 50,
    indexAfterMs: 200,
    onWriteFailed: () => undefined,
    ...options,
  };
}
