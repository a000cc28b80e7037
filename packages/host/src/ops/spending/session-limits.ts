import { type Register, StoreFailure } from "@holdfast/engine";
import type { OwnerId, SessionId } from "@holdfast/protocol";
import { z } from "zod";

/** Limits of single conversations, in the store's register, shared by all hosts on the store. */
export interface SessionLimits {
  /** In millionths of a dollar; `null`: the conversation has none of its own. */
  read(owner: OwnerId, session: SessionId): Promise<number | null>;
  /** `null` removes it. Rejects with a `StoreFailure`. */
  set(owner: OwnerId, session: SessionId, limitMicros: number | null): Promise<void>;
}

const row = z.object({ limitMicros: z.int().nonnegative().nullable() });

export function openSessionLimits(register: Register): SessionLimits {
  const keyOf = (session: SessionId) => `session-spend/${session}`;

  async function read(owner: OwnerId, session: SessionId) {
    const found = await register.read(owner, keyOf(session));
    if (found === null) return { limitMicros: null, revision: 0 };
    const { data } = row.safeParse(parseJson(found.value));
    return { limitMicros: data?.limitMicros ?? null, revision: found.revision };
  }

  return {
    read: async (owner, session) => (await read(owner, session)).limitMicros,
    async set(owner, session, limitMicros) {
      for (;;) {
        const known = await read(owner, session);
        if (known.limitMicros === limitMicros) return;
        const value = JSON.stringify({ limitMicros });
        const change = { owner, key: keyOf(session), value, expect: known.revision };
        const put = await register.put(change);
        if (put.status === "put") return;
        if (put.status === "failed") throw new StoreFailure(put.code, put.message);
      }
    },
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
