import {
  type LeaseRef,
  type LeaseRequest,
  type LeaseResult,
  type RenewResult,
  renewalTimeoutMs,
} from "@holdfast/engine";
import { sleep } from "@holdfast/protocol";
import type { Client } from "pg";

import {
  asConnection,
  awaitAll,
  beginForSingle,
  connectForLeases,
  statement,
} from "../connection.ts";
import { classifyError, failureOf, retryDelayMs, storeClosed } from "../errors.ts";
import type { Settings } from "../settings.ts";
import { acquireJob } from "./jobs.ts";
import type { Writer } from "./writer.ts";

/** Retries until the session is free, while other writes go on. */
export async function acquireLease(
  writer: Writer,
  { lockTimeoutMs, onWriteFailed }: Settings,
  request: LeaseRequest,
): Promise<LeaseResult> {
  const startedAt = performance.now();
  for (let tries = 0; ; tries += 1) {
    const result = await writer.submit(acquireJob(request));
    if (result !== "locked") return result;
    if (performance.now() - startedAt >= lockTimeoutMs) {
      const message = "Someone has held the session for too long. Try again.";
      const failure = { status: "failed", code: "store_busy", message } as const;
      onWriteFailed(failure);
      return failure;
    }
    await sleep(retryDelayMs(tries));
  }
}

// In the order in which an acquisition locks them. `clock_timestamp()` is later than the time the holder counts from.
const extendLeases = statement(
  "extend_leases",
  `WITH held AS (
     SELECT l.session_id, l.kind, l.fence
       FROM leases l JOIN json_populate_recordset(null::leases, $1) x
         ON l.session_id = x.session_id AND l.kind = x.kind AND l.fence = x.fence
      ORDER BY l.session_id, l.kind FOR UPDATE OF l)
   UPDATE leases l
      SET expires_at = greatest(l.expires_at, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + $2::bigint)
     FROM held h
    WHERE l.session_id = h.session_id AND l.kind = h.kind AND l.fence = h.fence
   RETURNING l.session_id, l.kind`,
);

/** With a shorter timeout, a merely slow server would cost the connection. */
const shortestTimeoutMs = 2_000;

/**
 * Renews leases on a dedicated connection, so that neither a slow write nor a row that stays locked costs a live holder
 * its lease. Locks only rows in `leases`.
 */
export class LeaseConnection {
  readonly #settings: Settings;
  #client: Promise<Client> | undefined;
  #state: "open" | "closed" = "open";

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  async renew(refs: readonly LeaseRef[], ttlMs: number): Promise<RenewResult> {
    if (refs.length === 0) return { status: "renewed", lost: [] };
    for (let tries = 0; ; tries += 1) {
      if (this.#state === "closed") return storeClosed;
      const client = (this.#client ??= connectForLeases(this.#settings));
      try {
        return await this.#renewOn(await client, refs, ttlMs);
      } catch (error) {
        const errorClass = classifyError(error);
        if (errorClass !== "retry" && errorClass !== "busy") this.#disconnect(client);
        // An idle connection may have been cut unnoticed. Further retries are up to the holder, which knows its deadline.
        if (tries === 0 && (errorClass === "lost" || errorClass === "retry")) continue;
        const failure = failureOf(error);
        this.#settings.onWriteFailed(failure);
        return failure;
      }
    }
  }

  async #renewOn(client: Client, refs: readonly LeaseRef[], ttlMs: number): Promise<RenewResult> {
    const rows = refs.map(({ session, kind, fence }) => ({ session_id: session, kind, fence }));
    const limit = {
      query_timeout: Math.max(shortestTimeoutMs, renewalTimeoutMs(ttlMs)),
    };
    const connection = asConnection(client, this.#settings);
    const extend = {
      ...extendLeases,
      ...limit,
      values: [JSON.stringify(rows), ttlMs + this.#settings.clockOffset()],
    };
    const begin = beginForSingle(this.#settings);
    const results = await awaitAll([
      ...(begin === undefined ? [] : [connection.query({ text: begin, ...limit })]),
      connection.query(extend),
      ...(begin === undefined ? [] : [connection.query({ text: "COMMIT", ...limit })]),
    ]);
    const renewed = results.flatMap(({ rows: extended }) => extended ?? []);
    const held = new Set(
      renewed.map(({ session_id, kind }) => `${String(session_id)} ${String(kind)}`),
    );
    const lost = refs.filter(({ session, kind }) => !held.has(`${session} ${kind}`));
    return { status: "renewed", lost };
  }

  async close(): Promise<void> {
    this.#state = "closed";
    const client = await this.#client?.catch(() => undefined);
    await client?.end().catch(() => undefined);
  }

  /** Not awaited: the other end may never answer. */
  #disconnect(client: Promise<Client>): void {
    if (this.#client === client) this.#client = undefined;
    void client.then((connected) => connected.end()).catch(() => undefined);
  }
}
