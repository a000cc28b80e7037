import { setTimeout as sleep } from "node:timers/promises";

import type { Client, SessionState } from "@holdfast/client";
import type { SessionId, SessionRead } from "@holdfast/protocol";

import { followUntil, hasEnded, valueOf } from "../../e2e/served-host.ts";

type SessionBody = NonNullable<Parameters<Client["createSession"]>[0]>["body"];
type MessageBody = NonNullable<Parameters<Client["sendMessage"]>[0]>["body"];

/** Works on sessions over HTTP, as the page does. */
export interface Driver {
  readonly client: Client;
  readonly createSession: (body?: SessionBody) => Promise<SessionId>;
  readonly send: (id: SessionId, text: string, rest?: Partial<MessageBody>) => Promise<void>;
  /** Sends each text and waits for its answer, and in the end for the session's title. */
  readonly talk: (id: SessionId, ...texts: readonly string[]) => Promise<void>;
  readonly follow: (
    id: SessionId,
    isReached: (state: SessionState) => boolean,
  ) => Promise<SessionState>;
  readonly read: (id: SessionId) => Promise<SessionRead>;
}

export function createDriver(client: Client): Driver {
  let sent = 0;
  const send: Driver["send"] = async (id, text, rest = {}) => {
    const body = { clientId: `message-${++sent}`, text, ...rest };
    valueOf(await client.sendMessage({ params: { id }, body }));
  };
  const follow: Driver["follow"] = (id, isReached) =>
    Promise.race([followUntil(client, id, isReached), timeOut(`session ${id}`)]);
  return {
    client,
    send,
    follow,
    createSession: async (body = {}) => valueOf(await client.createSession({ body })).session.id,
    async talk(id, ...texts) {
      for (const text of texts) {
        await send(id, text);
        await follow(id, hasEnded);
      }
      await follow(id, ({ session }) => session.titleSource !== "derived");
    },
    read: async (id) => valueOf(await client.readSession({ params: { id } })),
  };
}

const timeoutMs = 60_000;

async function timeOut(what: string): Promise<never> {
  await sleep(timeoutMs, undefined, { ref: false });
  throw new Error(`Timed out waiting for ${what}.`);
}

export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Timed out waiting for ${what}.`);
    await sleep(50);
  }
}
