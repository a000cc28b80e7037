import { createHash } from "node:crypto";
import type { Register } from "@holdfast/engine";
import { type OwnerId, type SessionId, sessionId } from "@holdfast/protocol";
import { z } from "zod";

const hintRow = z.array(sessionId).max(100);
const maxSessions = 50;
const maxAttempts = 5;

/**
 * Which sessions a client may mean: by its own name for a chat, or by something it said before. A hint proves nothing;
 * the histories are compared. They are rows of the store, so that they hold on every host and after a restart.
 */
export interface SessionHints {
  find(owner: OwnerId, key: string): Promise<readonly SessionId[]>;
  /** The newest is last. A hint that cannot be stored costs a client its place in a session, and nothing else. */
  add(owner: OwnerId, key: string, session: SessionId): Promise<void>;
}

export function openSessionHints(register: Register): SessionHints {
  async function read(owner: OwnerId, key: string) {
    const row = await register.read(owner, rowKey(key));
    return { revision: row?.revision ?? 0, sessions: decode(row?.value) };
  }

  return {
    find: async (owner, key) => (await read(owner, key)).sessions,
    async add(owner, key, session) {
      for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
        const { revision, sessions } = await read(owner, key);
        if (sessions.at(-1) === session) return;
        const others = sessions.filter((id) => id !== session);
        const value = JSON.stringify([...others, session].slice(-maxSessions));
        const put = await register.put({ owner, key: rowKey(key), value, expect: revision });
        if (put.status !== "moved") return;
      }
    },
  };
}

function decode(value: string | undefined): readonly SessionId[] {
  if (value === undefined) return [];
  return hintRow.safeParse(JSON.parse(value)).data ?? [];
}

/** Names and texts are the client's: only their hash is a key. */
function rowKey(key: string): string {
  return `openai/${hashOf(key)}`;
}

export function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}
