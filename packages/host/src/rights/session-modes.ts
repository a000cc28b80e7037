import type { ModeLimit, Reads, SessionRow } from "@holdfast/engine";
import {
  defaultMode,
  dropOldest,
  isWiderMode,
  modeOf,
  narrowestMode,
  type OwnerId,
  type Rights,
  type SessionId,
  type SessionMode,
} from "@holdfast/protocol";
import { parentOf } from "../automation/delegate/child-session.ts";

type ModeReads = Pick<Reads, "session" | "events">;

/** Sessions whose parents are remembered; a parent never changes. */
const maxRemembered = 10_000;

/** A child's mode is at most that of each session above it, as they are now. */
export function createModeLimit(reads: ModeReads): ModeLimit {
  const ancestors = new Map<SessionId, readonly SessionId[]>();

  async function ancestorsOf(owner: OwnerId, session: SessionId): Promise<readonly SessionId[]> {
    const known = ancestors.get(session);
    if (known !== undefined) return known;
    const parent = await parentOf(reads, owner, session);
    const found = parent === null ? [] : [parent.sessionId, ...(parent.above ?? [])];
    ancestors.set(session, found);
    dropOldest(ancestors, maxRemembered);
    return found;
  }

  return async ({ owner, session }) => {
    const above = await ancestorsOf(owner, session);
    const rows = await Promise.all(above.map((id) => reads.session(owner, id)));
    // A parent that is gone allows its children no more than is usual.
    return narrowestMode("full", ...rows.map((row) => (row === null ? defaultMode : modeOf(row))));
  };
}

/** The mode that a new session gets, as its first event says it. Where nobody answers approvals it is not a wide one. */
export function modeForNew(
  configured: SessionMode,
  { approvals }: Pick<Rights, "approvals">,
): { readonly mode?: SessionMode } {
  const mode = approvals ? configured : narrowestMode(configured, defaultMode);
  return mode === defaultMode ? {} : { mode };
}

/**
 * Why whoever has these rights cannot switch a session to a mode, or `null`. Everybody who may change a session may
 * narrow its mode.
 */
export async function refuseMode(
  reads: ModeReads,
  row: Pick<SessionRow, "owner" | "id" | "mode">,
  mode: SessionMode,
  { approvals }: Pick<Rights, "approvals">,
): Promise<string | null> {
  if (!isWiderMode(mode, modeOf(row))) return null;
  if (!approvals)
    return `Whoever answers no approvals cannot switch to a wider mode: this session is in ${modeOf(row)}.`;
  const limit = await createModeLimit(reads)({ owner: row.owner, session: row.id });
  return isWiderMode(mode, limit)
    ? `The session works for another one, whose mode is ${limit}: switch that one first.`
    : null;
}
