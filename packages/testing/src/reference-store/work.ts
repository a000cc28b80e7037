import { isResting, type Work } from "@holdfast/engine";

import type { ReferenceData, SessionData } from "./data.ts";
import { dueSince } from "./outbox.ts";

export function createWork(data: ReferenceData): Work {
  const sessions = () => [...data.sessions.values()].filter(({ row }) => row.trashedAt === null);
  return {
    async queued(limit) {
      return sessions()
        .filter(({ row, inputs }) => row.liveRun === null && waitingSince({ inputs }) !== Infinity)
        .toSorted((a, b) => waitingSince(a) - waitingSince(b))
        .slice(0, limit)
        .map(({ row }) => ({ owner: row.owner, session: row.id }));
    },
    async live(limit) {
      return sessions()
        .filter(isRunnersWork)
        .toSorted((a, b) => heldUntil(a) - heldUntil(b))
        .slice(0, limit)
        .map(({ row, leases }) => ({
          owner: row.owner,
          session: row.id,
          lease: leases.get("run") ?? null,
        }));
    },
    async untitled(limit) {
      return sessions()
        .filter(({ row }) => row.titleSource === "derived" && row.lastState === "completed")
        .slice(0, limit)
        .map(({ row }) => ({ owner: row.owner, session: row.id }));
    },
    async unremembered(limit, restingSince) {
      const isDue = ({ memory: { trying, marks } }: SessionData) => {
        const retryAt = trying?.retryAt ?? null;
        if (retryAt !== null) return retryAt <= data.clock();
        return marks.every(({ at }) => at <= restingSince);
      };
      return sessions()
        .filter((session) => session.memory.marks.length > 0 && isDue(session))
        .toSorted((a, b) => markedAt(a) - markedAt(b) || (a.row.id < b.row.id ? -1 : 1))
        .slice(0, limit)
        .map(({ row }) => ({ owner: row.owner, session: row.id }));
    },
    async undelivered(limit) {
      const now = data.clock();
      return sessions()
        .filter((session) => dueSince(session, now) < Infinity)
        .toSorted((a, b) => dueSince(a, now) - dueSince(b, now) || (a.row.id < b.row.id ? -1 : 1))
        .slice(0, limit)
        .map(({ row }) => ({ owner: row.owner, session: row.id, head: row.head }));
    },
    async expiredApprovals(limit) {
      return sessions()
        .flatMap(({ approvals }) => [...approvals.values()])
        .filter(({ state, expiresAt }) => state === "open" && expiresAt <= data.clock())
        .toSorted((a, b) => a.expiresAt - b.expiresAt)
        .slice(0, limit)
        .map(({ owner, session, id }) => ({ owner, session, approval: id }));
    },
  };
}

function isRunnersWork({ row, runs }: SessionData): boolean {
  if (row.liveRun === null || row.liveState === null) return false;
  return !isResting(row.liveState) || runs.get(row.liveRun)?.cancelRequested === true;
}

function waitingSince({ inputs }: Pick<SessionData, "inputs">): number {
  const waiting = [...inputs.values()].filter((input) => input.state === "queued");
  return Math.min(Infinity, ...waiting.map((input) => input.at));
}

function markedAt({ memory: { marks } }: SessionData): number {
  return Math.min(...marks.map(({ at }) => at));
}

function heldUntil({ leases }: Pick<SessionData, "leases">): number {
  return leases.get("run")?.expiresAt ?? 0;
}
