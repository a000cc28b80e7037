export interface PostgresOptions {
  /** `postgres://user:password@host:port/database?sslmode=…` */
  readonly url: string;
  /** Added to the database's clock. For tests of time. */
  readonly clockOffset?: () => number;
  /** How long a delta waits for others to share its sync, at most. */
  readonly tickMs?: number;
  /** How many writes share one transaction, at most. */
  readonly maxGroup?: number;
  /** Connections for reads, at most. Beside them a process holds one writer and one for signals. */
  readonly maxReaders?: number;
  /** How long a write waits for a row that someone else has locked. */
  readonly lockTimeoutMs?: number;
  readonly statementTimeoutMs?: number;
  readonly connectTimeoutMs?: number;
  /** How long a write or a read tries to reach the database before it gives up. */
  readonly giveUpMs?: number;
  /** How often the heads of watched sessions are read, whatever is signalled. */
  readonly calmPollMs?: number;
  readonly livePollMs?: number;
  /** A moment for more to come before search reads what is new, so that a burst of messages is indexed together. */
  readonly indexAfterMs?: number;
}

export type Settings = Required<PostgresOptions>;

export function withDefaults(options: PostgresOptions): Settings {
  return {
    clockOffset: () => 0,
    tickMs: 25,
    maxGroup: 500,
    maxReaders: 4,
    lockTimeoutMs: 5_000,
    statementTimeoutMs: 15_000,
    connectTimeoutMs: 5_000,
    giveUpMs: 10_000,
    calmPollMs: 250,
    livePollMs: 50,
    indexAfterMs: 200,
    ...options,
  };
}
