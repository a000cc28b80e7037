import { type BlobId, decodeEvent, type OwnerId, type SessionId } from "@holdfast/protocol";

import { blobsIn } from "../log/fold-rows.ts";
import type { Audit } from "../ports/audit.ts";
import type { FsckMode } from "./check-session.ts";
import type { Finding } from "./findings.ts";

interface References {
  count: number;
  /** One of the sessions that name it, for the message. */
  readonly session: SessionId;
  found: boolean;
}

/** Counts again how many events name each blob. */
export class BlobAccounts {
  readonly #owners = new Map<OwnerId, Map<BlobId, References>>();
  seen = 0;

  add(owner: OwnerId, session: SessionId, blobs: ReadonlyMap<BlobId, number>): void {
    const known = this.#owners.get(owner) ?? new Map<BlobId, References>();
    this.#owners.set(owner, known);
    for (const [blob, count] of blobs) {
      const references = known.get(blob);
      if (references === undefined) known.set(blob, { count, session, found: false });
      else references.count += count;
    }
  }

  /** The rows of a purged session that its branches still read. `false` when they cannot all be read. */
  async addKeptRows(audit: Audit, owner: OwnerId, session: SessionId): Promise<boolean> {
    const blobs = new Map<BlobId, number>();
    let [rows, unreadable] = [0, 0];
    for await (const { event } of audit.events(session)) {
      rows += 1;
      if (event === null) unreadable += 1;
      const decoded = event && decodeEvent(event);
      if (decoded?.kind !== "known") continue;
      for (const blob of blobsIn(decoded.event)) blobs.set(blob, (blobs.get(blob) ?? 0) + 1);
    }
    this.add(owner, session, blobs);
    return rows > 0 && unreadable === 0;
  }

  async *check(audit: Audit): AsyncIterable<Finding> {
    const table = "blobs";
    this.seen = 0;
    for await (const { owner, id, refs, intact } of audit.blobs()) {
      this.seen += 1;
      const key = `${owner} ${id}`;
      const references = this.#owners.get(owner)?.get(id);
      if (references !== undefined) references.found = true;
      if (!intact) {
        const message = "The bytes do not have the hash that is their name.";
        yield { code: "blob_damaged", table, key, message };
      }
      const count = references?.count ?? 0;
      if (count !== refs) {
        const message = `${refs} references are counted, and ${count} events name it.`;
        yield { code: "blob_refs_differ", table, key, message, repair: "possible" };
      }
    }
    for (const [owner, blobs] of this.#owners) {
      for (const [id, { found, session }] of blobs) {
        if (found) continue;
        const message = "An event names a blob that is not there.";
        yield { code: "blob_missing", table, session, key: `${owner} ${id}`, message };
      }
    }
  }

  /** Writes every count anew. Only for a store that nobody else writes. */
  async repair(audit: Audit, owners: Iterable<OwnerId>): Promise<void> {
    for (const owner of owners) {
      const blobs = this.#owners.get(owner) ?? new Map<BlobId, References>();
      const counts = [...blobs].map(([id, { count }]): [BlobId, number] => [id, count]);
      await audit.replaceBlobRefs(new Map(counts), owner);
    }
  }
}

/**
 * Checks the counts; in `rebuild` mode writes them anew and proves them by comparing again. `bytes`: the counts are not
 * known, and a reference that was not seen must not look like one that is not there.
 */
export async function* checkBlobs(
  audit: Audit,
  accounts: BlobAccounts,
  mode: FsckMode | "bytes",
): AsyncIterable<Finding> {
  const wrong: Finding[] = [];
  for await (const finding of accounts.check(audit)) {
    if (finding.code !== "blob_refs_differ" || mode === "check") yield finding;
    else if (mode === "rebuild") wrong.push(finding);
  }
  if (wrong.length === 0) return;
  const owners = new Set(wrong.map(({ key }) => key.slice(0, key.lastIndexOf(" ")) as OwnerId));
  await accounts.repair(audit, owners);
  const left = new Set<string>();
  for await (const { code, key } of accounts.check(audit)) {
    if (code === "blob_refs_differ") left.add(key);
  }
  for (const finding of wrong) {
    yield { ...finding, repair: left.has(finding.key) ? "failed" : "done" };
  }
}
