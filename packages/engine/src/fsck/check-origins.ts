import { decodeEvent, deltasSettledBy, type SessionId } from "@holdfast/protocol";

import type { Audit } from "../ports/audit.ts";
import { SeqLedger } from "./derive-session.ts";
import type { Finding } from "./findings.ts";

/** How far each branch reads each log that isn't its own. */
export class OriginReads {
  readonly #logs = new Map<SessionId, Map<SessionId, number>>();

  get logs(): Iterable<SessionId> {
    return this.#logs.keys();
  }

  add(branch: SessionId, origins: ReadonlyMap<SessionId, number>): void {
    for (const [log, upTo] of origins) {
      const readers = this.#logs.get(log) ?? new Map<SessionId, number>();
      this.#logs.set(log, readers.set(branch, upTo));
    }
  }

  async *check(audit: Audit): AsyncIterable<Finding> {
    for (const [log, readers] of this.#logs) {
      const intactUpTo = await lastIntactSeq(audit, log);
      for (const [branch, upTo] of readers) {
        if (upTo <= intactUpTo) continue;
        // The branch was purged after it was read, and its origin's rows with it.
        if ((await audit.derived(branch)) === null) continue;
        yield {
          code: "origin_missing",
          table: "events",
          session: branch,
          key: `${branch} ${log}`,
          message:
            `The branch reads ${log} up to ${upTo}, but its rows are missing from ${intactUpTo + 1} on. ` +
            "Restore a backup that has them, or delete the branch; its own messages are intact.",
        };
      }
    }
  }
}

/** A log whose session exists is checked elsewhere. A purged session keeps only the rows that branches read. */
async function lastIntactSeq(audit: Audit, log: SessionId): Promise<number> {
  const existing = await audit.derived(log);
  if (existing !== null) return existing.session.head;
  let ledger: SeqLedger | undefined;
  let settledUpTo = 0;
  for await (const { seq, place, event } of audit.events(log)) {
    if (ledger === undefined && event?.type !== "session.created") return 0;
    ledger ??= new SeqLedger(seq);
    ledger.see({ seq, place });
    const decoded = event && decodeEvent(event);
    const spans = decoded?.kind === "known" ? (deltasSettledBy(decoded.event) ?? []) : [];
    for (const span of spans) ledger.settle(span);
    if (spans.length > 0) settledUpTo = seq;
  }
  if (ledger === undefined) return 0;
  // Output that was still open where the branch starts is not kept: nobody reads it.
  const missing = ledger.close(0).missing.find(([, to]) => to < settledUpTo);
  return missing === undefined ? Infinity : missing[0] - 1;
}
