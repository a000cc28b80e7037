import {
  type CompactionDeps,
  createCompactionLock,
  createLog,
  type Store,
  type Summariser,
} from "@holdfast/engine";
import { ids, newEvent } from "@holdfast/protocol";

import { aHolder } from "../fixtures/factories.ts";
import { openTestSession, type TestSession } from "../fixtures/open-session.ts";

/** Small enough that the session of `openLongSession` needs compaction. */
export const compactionSizes = { tailTokens: 150, summaryTokens: 50 };

/** A long question and a long answer to it. */
export async function addLongTurn(chat: TestSession, text: string): Promise<void> {
  const message = (words: string) => ({
    messageId: ids.make("message"),
    parts: [{ type: "text" as const, text: `${words} ${"word ".repeat(100)}`.trim() }],
  });
  await chat.commit([
    newEvent(ids.make("event"), "message.user", message(text)),
    newEvent(ids.make("event"), "message.assistant", message(`Answer to ${text}`)),
  ]);
}

/** A session of four long turns. */
export async function openLongSession(store: Store): Promise<TestSession> {
  const chat = await openTestSession(store);
  for (const text of ["one", "two", "three", "four"]) await addLongTurn(chat, text);
  return chat;
}

export function compactionDeps(
  store: Store,
  summarise: Summariser["summarise"] = async () => ({
    status: "summarised",
    text: "They counted.",
  }),
): CompactionDeps {
  return {
    log: createLog(store),
    ids,
    lock: createCompactionLock(store.leases),
    holder: aHolder,
    count: (text) => Math.ceil(text.length / 4),
    summariser: { summarise },
  };
}
