import type { OwnerId, SessionId } from "@holdfast/protocol";

import { type Audit } from "../ports/audit.ts";
import { type SpillStore } from "../ports/spill.ts";
import { StoreFailure } from "../ports/store.ts";
import {
  BlobAccounts,
  checkBlobs,
  LaneAccounts,
  checkIntegrity,
  checkLeases,
  checkOrphans,
} from "./check-across-sessions.ts";
import { OriginReads } from "./check-origins.ts";
import { checkSession, type FsckMode } from "./check-session.ts";
import { type Finding, fsckExit, type FsckItem, type FsckSummary } from "./findings.ts";

export interface FsckProgress {
  readonly sessions: number;
  readonly events: number;
}

export interface FsckOptions {
  /** `check` (default) only reads. `rebuild` derives what differs again, and proves it equal afterwards. */
  readonly mode?: FsckMode;
  /** The store's clock: `await store.now()`. */
  readonly now: number;
  readonly onProgress?: (progress: FsckProgress) => void;
  /** Where runners of this home spill. */
  readonly spills?: Pick<SpillStore, "left">;
}

/**
 * P14: proves that every seq is accounted for and that every derived row follows from the log. It yields findings as it
 * goes and a summary at the end. In memory it holds one session at a time, plus a small account per lane and blob.
 */
export async function* fsck(audit: Audit, options: FsckOptions): AsyncGenerator<FsckItem, void> {
  const run = new FsckRun(audit, options);
  let failure: string | undefined;
  try {
    for await (const finding of run.findings()) {
      run.count(finding);
      yield { kind: "finding", finding };
    }
  } catch (error) {
    if (!(error instanceof StoreFailure)) throw error;
    failure = `${error.code}: ${error.message}`;
  }
  const leftSpills = (await options.spills?.left()) ?? [];
  const spills = leftSpills.map(({ session, runId }) => ({ session, runId }));
  yield { kind: "summary", summary: { ...run.summary(failure), spills } };
}

/** Collects everything, for callers that expect few findings. */
export async function runFsck(
  audit: Audit,
  options: FsckOptions,
): Promise<FsckSummary & { readonly found: readonly Finding[] }> {
  const found: Finding[] = [];
  for await (const item of fsck(audit, options)) {
    if (item.kind === "finding") found.push(item.finding);
    else return { ...item.summary, found };
  }
  throw new Error("fsck ended without its summary.");
}

class FsckRun {
  readonly #audit: Audit;
  readonly #options: FsckOptions;
  readonly #mode: FsckMode;
  readonly #lanes = new LaneAccounts();
  readonly #blobs = new BlobAccounts();
  readonly #origins = new OriginReads();
  readonly #purged = new Map<SessionId, OwnerId>();
  readonly #unproven: string[] = [];
  #areWhole = true;
  #sessions = 0;
  #events = 0;
  #heads = 0;
  #findings = 0;
  #repaired = 0;

  constructor(audit: Audit, options: FsckOptions) {
    this.#audit = audit;
    this.#options = options;
    this.#mode = options.mode ?? "check";
  }

  async *findings(): AsyncIterable<Finding> {
    yield* checkIntegrity(this.#audit);
    for await (const { session, owner, at } of this.#audit.purges()) {
      this.#purged.set(session, owner);
      this.#lanes.addPurge({ owner, at });
    }
    for await (const { id } of this.#audit.sessions()) yield* this.#checkSession(id);
    yield* checkOrphans(this.#audit, (session) => this.#purged.has(session));
    yield* checkLeases(this.#audit, this.#options.now);
    yield* this.#origins.check(this.#audit);
    yield* this.#checkAcrossSessions();
  }

  count({ repair }: Finding): void {
    this.#findings += 1;
    if (repair === "done") this.#repaired += 1;
  }

  summary(failure: string | undefined): Omit<FsckSummary, "spills"> {
    return {
      sessions: this.#sessions,
      events: this.#events,
      blobs: this.#blobs.seen,
      findings: this.#findings,
      repaired: this.#repaired,
      unproven: this.#unproven,
      exitCode: this.#exitCode(failure),
      ...(failure !== undefined && { failure }),
    };
  }

  async *#checkSession(id: SessionId): AsyncIterable<Finding> {
    const report = await checkSession(this.#audit, id, this.#mode);
    if (report.status === "gone") return;
    this.#sessions += 1;
    if (report.status === "moving") {
      this.#unproven.push(`session ${id}`);
      return;
    }
    const { derivation, stored } = report;
    this.#areWhole &&= derivation.isWhole;
    this.#events += derivation.events;
    this.#heads += stored.session.head;
    this.#lanes.add(report);
    this.#blobs.add(stored.session.owner, id, derivation.blobs);
    this.#origins.add(id, derivation.origins);
    this.#options.onProgress?.({ sessions: this.#sessions, events: this.#events });
    yield* report.findings;
  }

  /** Totals across sessions prove something only if every log was readable and none was written meanwhile. */
  async *#checkAcrossSessions(): AsyncIterable<Finding> {
    for (const origin of this.#origins.logs) {
      const owner = this.#purged.get(origin);
      if (owner === undefined) continue;
      const isWhole = await this.#blobs.addKeptRows(this.#audit, owner, origin);
      this.#areWhole &&= isWhole;
    }
    const isKnown = this.#areWhole && !(await this.#hasMoved());
    if (isKnown) yield* this.#lanes.check(this.#audit, this.#mode);
    else this.#unproven.push("lanes", "blob references");
    yield* checkBlobs(this.#audit, this.#blobs, isKnown ? this.#mode : "bytes");
    const { unchecked } = this.#blobs;
    if (unchecked !== undefined) this.#unproven.push(`blobs in object storage (${unchecked})`);
  }

  async #hasMoved(): Promise<boolean> {
    let sessions = 0;
    let heads = 0;
    for await (const { head } of this.#audit.sessions()) {
      sessions += 1;
      heads += head;
    }
    return sessions !== this.#sessions || heads !== this.#heads;
  }

  #exitCode(failure: string | undefined): FsckSummary["exitCode"] {
    if (failure !== undefined) return fsckExit.failed;
    if (this.#findings === 0) return fsckExit.clean;
    return this.#findings === this.#repaired ? fsckExit.repaired : fsckExit.damaged;
  }
}
