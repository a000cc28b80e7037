import { setTimeout as rest } from "node:timers/promises";

import type { Log } from "@holdfast/engine";
import type { Client } from "@holdfast/client";
import type { OwnerId, Seq, SessionId, StoredEvent } from "@holdfast/protocol";

import type { KnownSessions } from "./known-sessions.ts";
import type { History } from "./history.ts";

const beginning = 0 as Seq;

export interface FollowerOptions {
  readonly name: string;
  readonly knownSessions: KnownSessions;
  readonly history: History;
}

type Follow = (session: SessionId, signal: AbortSignal, shown: Shown) => Promise<void>;

interface Shown {
  readonly after: Seq;
  events(events: readonly StoredEvent[]): void;
  place(after: Seq): void;
}

/** How long a session is watched after the clients have left it. */
const lingerMs = 8_000;

/** Watches every session in use, and records everything that it is shown. */
export async function followAll(
  options: FollowerOptions,
  follow: Follow,
  stop: AbortSignal,
): Promise<void> {
  const { knownSessions } = options;
  const watched = new Map<SessionId, AbortController>();
  const ended: Promise<void>[] = [];
  while (!stop.aborted) {
    const active = new Set(knownSessions.active.map(({ id }) => id));
    for (const id of active) {
      if (watched.has(id)) continue;
      const leaving = new AbortController();
      watched.set(id, leaving);
      ended.push(followOne(options, follow, id, AbortSignal.any([stop, leaving.signal])));
    }
    for (const [id, leaving] of watched)
      if (!active.has(id) && !leaving.signal.aborted)
        setTimeout(() => leaving.abort(), lingerMs).unref();
    await rest(100);
  }
  await Promise.all(ended);
}

/** Over as many streams as it takes; each continues after what the previous one has shown. */
async function followOne(
  { name, knownSessions, history }: FollowerOptions,
  follow: Follow,
  session: SessionId,
  signal: AbortSignal,
): Promise<void> {
  let after = beginning;
  const place = (to: Seq): void => {
    after = to;
    history.note({ kind: "placed", by: name, session, after });
  };
  place(beginning);
  while (!signal.aborted) {
    await follow(session, signal, {
      after,
      place,
      events(events) {
        after = events.at(-1)?.seq ?? after;
        history.note({ kind: "seen", by: name, session, events });
        knownSessions.learn(session, events);
      },
    });
    await rest(50);
  }
}

/** Over HTTP, like people's pages. */
export function followOverHttp(client: Client): Follow {
  return async (session, signal, shown) => {
    for await (const item of client.follow(session, shown.after, { signal })) {
      if (item.kind === "event") shown.events([item.event]);
      if (item.kind === "resync") shown.place(item.resync.seq);
    }
  };
}

/** Through its own store handle, like a host's own readers. */
export function followInProcess(log: Log, owner: OwnerId): Follow {
  return async (session, signal, shown) => {
    for await (const item of log.tail(owner, session, shown.after, { signal })) {
      if (item.kind === "events") shown.events(item.events);
      if (item.kind === "resync") shown.place(item.head);
      if (item.kind === "cut" || item.kind === "gone") return;
    }
  };
}
