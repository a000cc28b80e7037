import type { Commit, Holder } from "@holdfast/engine";
import {
  type EventData,
  type EventType,
  type Fence,
  ids,
  laneKey,
  type NewEvent,
  newEvent,
  ownerId,
  type RunId,
  type Seq,
} from "@holdfast/protocol";

import { blobIdOf } from "../../src/schema/tables.ts";
import type { Operation } from "../../src/sqlite/write/operations.ts";

/** Writes in the order in which they are sent. Those of one group share a transaction. */
export type WriteProgram = readonly (readonly Operation[])[];

const holder: Holder = {
  host: "a-host",
  boot: "a-boot",
  pidNamespace: null,
  pid: 1,
  processStart: "1",
  thread: 0,
  agent: "an-agent",
  nonce: "a-nonce",
};
const owner = ownerId.parse("person");

function event<T extends EventType>(type: T, data: EventData<T>, runId?: RunId): NewEvent {
  return newEvent(ids.make("event"), type, data, runId);
}

function userMessage(text: string): NewEvent {
  const messageId = ids.make("message");
  return event("message.user", { messageId, parts: [{ type: "text", text }] });
}

/** Every kind of write, alone and in groups: a session is created, streams an answer, and is trashed. */
export function representativeProgram(): WriteProgram {
  const [chat, other] = [ids.make("session"), ids.make("session")];
  const [runId, messageId] = [ids.make("run"), ids.make("message")];
  const under = { lease: "run", fence: 1 as Fence } as const;
  const bytes = new TextEncoder().encode("the attached file ".repeat(600));
  const blobId = blobIdOf(bytes);
  const commit = (session: Commit["session"], events: NewEvent[], rest: Partial<Commit> = {}) =>
    ({ name: "commit", request: { owner, session, events, ...rest } }) as const;
  const delta = (text: string) => event("message.delta", { messageId, text }, runId);
  const file = { type: "file", blobId, name: "a", mediaType: "text/plain", size: 1 } as const;

  return [
    [
      commit(chat, [
        event("session.created", { title: "One", tags: ["a", "b"] }),
        event("lane.bound", { lane: laneKey.parse(`web:${chat}`) }),
      ]),
      commit(other, [event("session.created", {})]),
    ],
    [{ name: "putBlob", request: { owner, id: blobId, mediaType: "text/plain", bytes } }],
    [
      commit(chat, [
        event("input.accepted", {
          messageId: ids.make("message"),
          runId,
          clientId: "first",
          hash: "hash",
          mode: "queue",
          text: "Hello",
          attachments: [file],
        }),
      ]),
      commit(other, [userMessage("a"), userMessage("b")]),
      commit(other, [userMessage("c")]),
    ],
    [{ name: "acquire", request: { kind: "run", session: chat, holder, ttlMs: 60_000 } }],
    [
      commit(chat, [event("run.state", { state: "claimed" }, runId), userMessage("Hello")], {
        under,
      }),
    ],
    [commit(chat, [delta("Well, "), delta("well ")], { under }), commit(other, [userMessage("d")])],
    [
      commit(chat, [delta("said.")], { under }),
      {
        name: "renew",
        request: { leases: [{ kind: "run", session: chat, ...under }], ttlMs: 90_000 },
      },
      commit(other, [event("session.trashed", {})]),
    ],
    [
      commit(
        chat,
        [
          event("usage.recorded", { model: "rehearsal", input: 10, output: 5 }, runId),
          event(
            "message.assistant",
            {
              messageId,
              parts: [{ type: "text", text: "Well, well said." }],
              deltas: [[6 as Seq, 8 as Seq]],
            },
            runId,
          ),
          event("run.state", { state: "completed" }, runId),
        ],
        { under },
      ),
      { name: "purge", request: { owner, session: other } },
    ],
    [
      { name: "release", request: { kind: "run", session: chat, fence: under.fence } },
      { name: "prune", request: { limit: 100 } },
    ],
  ];
}
