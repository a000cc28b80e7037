import type { OwnerId } from "@holdfast/protocol";

import type { Audit, LaneRow } from "../ports/index.ts";
import type { FsckMode, SessionReport } from "./check-session.ts";
import type { Finding, Repair } from "./findings.ts";

interface LaneAccount {
  /** The newest bindings in the logs; several only when they were made in the same millisecond. */
  newest: LaneRow[];
  stored: LaneRow | null;
}

/** A lane belongs to the session that bound it last: known when all sessions have been read. */
export class LaneAccounts {
  readonly #lanes = new Map<string, LaneAccount>();
  readonly #lastPurge = new Map<OwnerId, number>();

  add({ derivation, stored }: Extract<SessionReport, { status: "checked" }>): void {
    for (const bound of derivation.lanes.values()) {
      const account = this.#accountOf(bound);
      const at = account.newest[0]?.at ?? -1;
      if (bound.at > at) account.newest = [bound];
      else if (bound.at === at) account.newest.push(bound);
    }
    for (const row of stored.lanes) this.#accountOf(row).stored = row;
  }

  addPurge({ owner, at }: { readonly owner: OwnerId; readonly at: number }): void {
    this.#lastPurge.set(owner, Math.max(at, this.#lastPurge.get(owner) ?? 0));
  }

  async *check(audit: Audit, mode: FsckMode): AsyncIterable<Finding> {
    for (const [key, { newest, stored }] of this.#lanes) {
      const [bound] = newest;
      // What no log says was found in its session already.
      if (bound === undefined) continue;
      if (newest.some((each) => each.session === stored?.session)) continue;
      // The session that had it last may be purged, and the lane with it.
      if (stored === null && bound.at <= (this.#lastPurge.get(bound.owner) ?? -1)) continue;
      const repair = mode === "check" ? "possible" : await repairLane(audit, bound, stored);
      const message = `The lane points at ${stored?.session ?? "nothing"}, and ${bound.session} bound it last.`;
      yield { code: "lane_differs", table: "lanes", session: bound.session, key, message, repair };
    }
  }

  #accountOf({ owner, lane }: LaneRow): LaneAccount {
    const key = `${owner} ${lane}`;
    const account = this.#lanes.get(key) ?? { newest: [], stored: null };
    this.#lanes.set(key, account);
    return account;
  }
}

async function repairLane(audit: Audit, bound: LaneRow, stored: LaneRow | null): Promise<Repair> {
  const isThis = (row: LaneRow): boolean => row.lane === bound.lane && row.owner === bound.owner;
  if (stored !== null) {
    const wrong = await audit.derived(stored.session);
    const lanes = wrong?.lanes.filter((row) => !isThis(row)) ?? [];
    if (wrong !== null && (await audit.replaceDerived({ ...wrong, lanes })) === "moved")
      return "failed";
  }
  const right = await audit.derived(bound.session);
  if (right === null) return "failed";
  const lanes = [...right.lanes.filter((row) => !isThis(row)), bound];
  if ((await audit.replaceDerived({ ...right, lanes })) === "moved") return "failed";
  const after = await audit.derived(bound.session);
  return after?.lanes.some(isThis) === true ? "done" : "failed";
}
