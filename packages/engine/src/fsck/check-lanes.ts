import type { OwnerId } from "@holdfast/protocol";

import type { Audit } from "../ports/audit.ts";
import type { LaneRow } from "../ports/rows.ts";
import type { FsckMode, SessionReport } from "./check-session.ts";
import type { LaneBinding } from "./derive-session.ts";
import type { Finding, Repair } from "./findings.ts";

interface LaneAccount {
  /** The last binding in each log that has one. */
  readonly bindings: LaneBinding[];
  stored: LaneRow | null;
}

/**
 * A lane belongs to the session that bound it last: known when all sessions have been read. No number orders two logs,
 * and a clock may have stepped back between two bindings; so one counts as later only when the store's time and
 * the event's id both say so.
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

  /** The newest binding that is later than the one that is stored, if any. */
  #laterBinding({ bindings, stored }: LaneAccount): LaneRow | undefined {
    const current = bindings.find(({ row }) => row.session === stored?.session);
    const later = bindings
      .filter((each) => !current || (each.row.at > current.row.at && each.by > current.by))
      .map(({ row }) => row)
      .toSorted((a, b) => a.at - b.at)
      .at(-1);
    // The session that had it last may be purged, and the lane with it.
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
