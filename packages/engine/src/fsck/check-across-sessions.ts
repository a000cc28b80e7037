import { type BlobId, decodeEvent, type OwnerId, type SessionId, fence } from "@holdfast/protocol";
import { blobsIn } from "../log/fold-rows.ts";
import type { Audit, RawBlob } from "../ports/audit.ts";
import type { FsckMode, SessionReport } from "./check-session.ts";
import type { Finding, Repair } from "./findings.ts";
import type { LaneRow, LeaseRow } from "../ports/rows.ts";
import type { LaneBinding } from "./derive-session.ts";

interface References {
  count: number;
  /** One of the sessions that reference it, for the message. */
  readonly session: SessionId;
  found: boolean;
}

function damageOf({ object, problem }: Pick<RawBlob, "object" | "problem">) {
  if (problem === undefined) {
    const message = "The bytes do not have the hash that is their name.";
    return { code: "blob_damaged", message } as const;
  }
  const message =
    object === null
      ? "The bytes are not in the row, and no object is recorded."
      : problem === "object_missing"
        ? `There is no object ${object} in object storage. Restore it from the bucket's versions or backup.`
        : `The object ${object} has other bytes. Restore it from the bucket's versions or backup.`;
  return { code: problem, message } as const;
}

/** Recounts how many events reference each blob. */
export class BlobAccounts {
  readonly #owners = new Map<OwnerId, Map<BlobId, References>>();
  seen = 0;
  /** Why objects could not be checked. */
  unchecked: string | undefined;

  add(owner: OwnerId, session: SessionId, blobs: ReadonlyMap<BlobId, number>): void {
    const known = this.#owners.get(owner) ?? new Map<BlobId, References>();
    this.#owners.set(owner, known);
    for (const [blob, count] of blobs) {
      const references = known.get(blob);
      if (references === undefined) known.set(blob, { count, session, found: false });
      else references.count += count;
    }
  }

  /** The rows of a purged session that its branches still read. `false` if some cannot be read. */
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
    this.unchecked = undefined;
    for await (const { owner, id, refs, intact, ...rest } of audit.blobs()) {
      this.seen += 1;
      const key = `${owner} ${id}`;
      const references = this.#owners.get(owner)?.get(id);
      if (references !== undefined) references.found = true;
      if (rest.unchecked !== undefined) this.unchecked = rest.unchecked;
      if (!intact) yield { table, key, ...damageOf(rest) };
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

  /** Rewrites every count. Only for a store that nobody else writes. */
  async repair(audit: Audit, owners: Iterable<OwnerId>): Promise<void> {
    for (const owner of owners) {
      const blobs = this.#owners.get(owner) ?? new Map<BlobId, References>();
      const counts = [...blobs].map(([id, { count }]): [BlobId, number] => [id, count]);
      await audit.replaceBlobRefs(new Map(counts), owner);
    }
  }
}

/**
 * Checks the counts; in `rebuild` mode rewrites them and proves them by comparing again. `bytes`: the counts are
 * unknown, and an unseen reference must not look like a missing one.
 */
export async function* checkBlobs(
  audit: Audit,
  accounts: BlobAccounts,
  mode: FsckMode | "bytes",
): AsyncIterable<Finding> {
  const mismatch: Finding[] = [];
  for await (const finding of accounts.check(audit)) {
    if (finding.code !== "blob_refs_differ" || mode === "check") yield finding;
    else if (mode === "rebuild") mismatch.push(finding);
  }
  if (mismatch.length === 0) return;
  const owners = new Set(mismatch.map(({ key }) => key.slice(0, key.lastIndexOf(" ")) as OwnerId));
  await accounts.repair(audit, owners);
  const left = new Set<string>();
  for await (const { code, key } of accounts.check(audit)) {
    if (code === "blob_refs_differ") left.add(key);
  }
  for (const finding of mismatch) {
    yield { ...finding, repair: left.has(finding.key) ? "failed" : "done" };
  }
}

interface LaneAccount {
  /** The last binding in each log that has one. */
  readonly bindings: LaneBinding[];
  stored: LaneRow | null;
}

/**
 * A lane belongs to the session that bound it last, which is known once all sessions have been read. No seq orders two
 * logs, and a clock may step back between two bindings, so one counts as later only if the store's time and the event's
 * id both say so.
 */
export class LaneAccounts {
  readonly #lanes = new Map<string, LaneAccount>();
  readonly #lastPurge = new Map<OwnerId, number>();

  add({ derivation, stored }: Extract<SessionReport, { status: "checked" }>): void {
    for (const binding of derivation.lanes.values()) {
      this.#accountOf(binding.row).bindings.push(binding);
    }
    for (const row of stored.lanes) this.#accountOf(row).stored = row;
  }

  addPurge({ owner, at }: { readonly owner: OwnerId; readonly at: number }): void {
    this.#lastPurge.set(owner, Math.max(at, this.#lastPurge.get(owner) ?? 0));
  }

  async *check(audit: Audit, mode: FsckMode): AsyncIterable<Finding> {
    for (const [key, account] of this.#lanes) {
      const { stored } = account;
      const bound = this.#laterBinding(account);
      if (bound === undefined) continue;
      const repair = mode === "check" ? "possible" : await repairLane(audit, bound, stored);
      const message = `The lane points at ${stored?.session ?? "nothing"}, and ${bound.session} bound it last.`;
      yield { code: "lane_differs", table: "lanes", session: bound.session, key, message, repair };
    }
  }

  /** The newest binding later than the stored one, if any. */
  #laterBinding({ bindings, stored }: LaneAccount): LaneRow | undefined {
    const current = bindings.find(({ row }) => row.session === stored?.session);
    const later = bindings
      .filter(
        (candidate) => !current || (candidate.row.at > current.row.at && candidate.by > current.by),
      )
      .map(({ row }) => row)
      .toSorted((a, b) => a.at - b.at)
      .at(-1);
    // The session that held it last may be purged, and the lane with it.
    const mayBePurged = later && later.at <= (this.#lastPurge.get(later.owner) ?? -1);
    return stored === null && mayBePurged ? undefined : later;
  }

  #accountOf({ owner, lane }: LaneRow): LaneAccount {
    const key = `${owner} ${lane}`;
    const account = this.#lanes.get(key) ?? { bindings: [], stored: null };
    this.#lanes.set(key, account);
    return account;
  }
}

async function repairLane(audit: Audit, bound: LaneRow, stored: LaneRow | null): Promise<Repair> {
  const isThis = (row: LaneRow): boolean => row.lane === bound.lane && row.owner === bound.owner;
  if (stored !== null) {
    const mismatch = await audit.derived(stored.session);
    const lanes = mismatch?.lanes.filter((row) => !isThis(row)) ?? [];
    if (mismatch !== null && (await audit.replaceDerived({ ...mismatch, lanes })) === "moved")
      return "failed";
  }
  const expected = await audit.derived(bound.session);
  if (expected === null) return "failed";
  const lanes = [...expected.lanes.filter((row) => !isThis(row)), bound];
  if ((await audit.replaceDerived({ ...expected, lanes })) === "moved") return "failed";
  const after = await audit.derived(bound.session);
  return after?.lanes.some(isThis) === true ? "done" : "failed";
}

/** Longer than any lease is ever requested for. */
const maxLeaseMs = 24 * 60 * 60 * 1000;

export async function* checkLeases(audit: Audit, now: number): AsyncIterable<Finding> {
  for await (const lease of audit.leases()) {
    const message = await leaseProblem(audit, lease, now);
    if (message === undefined) continue;
    const { kind, session } = lease;
    yield { code: "lease_unsound", table: "leases", session, key: `${kind} ${session}`, message };
  }
}

async function leaseProblem(
  audit: Audit,
  lease: LeaseRow,
  now: number,
): Promise<string | undefined> {
  if (!fence.safeParse(lease.fence).success) return `Its fence is ${lease.fence}.`;
  if (lease.expiresAt > now + maxLeaseMs) return "It runs out later than any lease can.";
  const derived = await audit.derived(lease.session);
  if (derived === null) return "Its session does not exist.";
  return derived.session.trashedAt === null ? undefined : "Its session is in the trash.";
}

export async function* checkOrphans(
  audit: Audit,
  isPurged: (session: SessionId) => boolean,
): AsyncIterable<Finding> {
  for await (const { table, key } of audit.orphans()) {
    const session = /ses_[0-9a-z]{26}/.exec(key)?.[0] as SessionId | undefined;
    // The usage ledger outlives the session.
    if (table === "usage" && session !== undefined && isPurged(session)) continue;
    const message = "The row names a session that does not exist.";
    yield { code: "row_orphaned", table, ...(session && { session }), key, message };
  }
}

export async function* checkIntegrity(audit: Audit): AsyncIterable<Finding> {
  for (const [index, message] of (await audit.integrity()).entries()) {
    yield { code: "integrity_failed", table: "store", key: `${index}`, message };
  }
}
