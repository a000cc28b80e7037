import type { OutboxRow, Reads, Register, RegisterRow } from "@holdfast/engine";

import { type ReferenceData, type SessionData, sessionOf } from "./data.ts";

type OutboxReads = Pick<Reads, "lanes" | "outbox" | "inbound">;

export function createOutboxReads(data: ReferenceData): OutboxReads {
  return {
    async lanes(owner, prefix, limit) {
      return [...data.lanes.values()]
        .filter((row) => row.owner === owner && row.lane.startsWith(prefix))
        .toSorted((a, b) => b.at - a.at || (a.lane < b.lane ? -1 : 1))
        .slice(0, limit);
    },
    async outbox(owner, { session, delivery, states, limit }) {
      return [...data.sessions.values()]
        .filter(({ row }) => row.trashedAt === null && sessionOf(data, owner, row.id) !== null)
        .flatMap(({ outbox }) => [...outbox.values()])
        .filter((row) => states.includes(row.state))
        .filter((row) => session === undefined || row.session === session)
        .filter((row) => delivery === undefined || row.delivery === delivery)
        .toSorted(byOutboxOrder)
        .slice(0, limit);
    },
    async inbound(owner, key) {
      const found = findInbound(data, key);
      return found !== undefined && sessionOf(data, owner, found.session) !== null ? found : null;
    },
  };
}

export function findInbound(data: ReferenceData, key: string): OutboxRow | undefined {
  return data.sessions
    .values()
    .flatMap(({ outbox }) => outbox.values())
    .find((row) => row.inbound === key);
}

function byOutboxOrder(a: OutboxRow, b: OutboxRow): number {
  if (a.session !== b.session) return a.session < b.session ? -1 : 1;
  if (a.delivery !== b.delivery) return a.begun - b.begun || (a.delivery < b.delivery ? -1 : 1);
  return a.chunk - b.chunk;
}

/** When the oldest due chunk last changed; infinite when nothing is due. */
export function dueSince({ outbox }: Pick<SessionData, "outbox">, now: number): number {
  const due = outbox
    .values()
    .filter(({ state }) => state === "pending" || state === "sending")
    .filter(({ retryAt }) => retryAt === null || retryAt <= now);
  return Math.min(Infinity, ...due.map(({ at }) => at));
}

export function createRegister(data: ReferenceData): Register {
  const keyOf = ({ owner, key }: Pick<RegisterRow, "owner" | "key">) => `${owner} ${key}`;
  return {
    read: async (owner, key) => data.register.get(keyOf({ owner, key })) ?? null,
    async list(owner, prefix, limit) {
      return [...data.register.values()]
        .filter((row) => row.owner === owner && row.key.startsWith(prefix))
        .toSorted((a, b) => (a.key < b.key ? -1 : 1))
        .slice(0, limit);
    },
    async put({ expect, ...change }) {
      const stored = data.register.get(keyOf(change)) ?? null;
      if ((stored?.revision ?? 0) !== expect) return { status: "moved", row: stored };
      const row = { ...change, revision: expect + 1, at: data.clock() };
      data.register.set(keyOf(change), row);
      return { status: "put", row };
    },
  };
}
