import {
  type Client,
  createClient,
  emptySessionRead,
  type SessionState,
  startState,
} from "@holdfast/client";
import { type ApprovalId, ids, type LiveView, ownerId } from "@holdfast/protocol";
import { expect, test } from "vitest";

import { readConfig } from "../../ops/config/read-config.ts";
import { createPaint } from "../screen/paint.ts";
import { Chat, type ChatView } from "./chat.ts";

const session = ids.make("session");
const runId = ids.make("run");

function approval(): LiveView["approvals"][number] {
  const callId = ids.make("call");
  return { approvalId: ids.make("approval"), callId, name: "terminal", input: {} } as never;
}

/** A session whose run waits for this approval. */
function waitingFor(open: LiveView["approvals"][number]): SessionState {
  const state = startState(emptySessionRead(session, ownerId.parse("me")));
  return { ...state, live: { runId, messages: [], tools: [], approvals: [open] } };
}

function createChat(client: Client): Chat {
  const config = readConfig({ flags: { home: "/nowhere" }, environment: {}, personFolder: "/" });
  if (!config.ok) throw new Error(config.failure.message);
  const view: ChatView = {
    reopenedEntries: 8,
    folder: null,
    style: () => ({ width: 80, paint: createPaint(process.stdout, { NO_COLOR: "1" }) }),
    run: async () => {},
    print: () => {},
    startSession: () => {},
    show: () => {},
    update: () => {},
    offer: () => {},
  };
  const connection = {
    client,
    request: () => Response.error(),
    location: "server",
    address: undefined,
    isLocal: true,
    config: config.value,
    close: async () => {},
  } as const;
  return new Chat(connection, {}, () => view);
}

test("a typed reply is for the approval that was shown when Enter was pressed", async () => {
  const answered: ApprovalId[] = [];
  const isBusy = Promise.withResolvers<void>();
  const client = createClient({
    baseUrl: "http://host",
    async fetch(url) {
      answered.push((new URL(url).pathname.split("/")[3] ?? "") as ApprovalId);
      await isBusy.promise;
      return Response.json(
        { code: "approval_answered", title: "Answered", status: 409 },
        {
          status: 409,
          headers: { "content-type": "application/problem+json" },
        },
      );
    },
  });
  const chat = createChat(client);
  const [first, second] = [approval(), approval()];
  chat.onState(waitingFor(first), true);
  const replies = [chat.submit("y"), chat.submit("y")];
  await expect.poll(() => answered.length).toBe(1);
  // The second reply still waits for the first when another approval takes its place.
  chat.onState(waitingFor(second), false);
  isBusy.resolve();
  await Promise.all(replies);
  expect(answered).toEqual([first.approvalId, first.approvalId]);
});

test("leaving while a session is being created sends the message, and follows nothing that would keep the process alive", async () => {
  const requested: string[] = [];
  const created = Promise.withResolvers<void>();
  const client = createClient({
    baseUrl: "http://host",
    async fetch(url, init) {
      requested.push(`${init?.method ?? "GET"} ${new URL(url).pathname.replace(session, "<id>")}`);
      await created.promise;
      const isNew = new URL(url).pathname === "/api/sessions";
      const body = isNew
        ? { session: emptySessionRead(session, ownerId.parse("me")).session }
        : { code: "session_busy", title: "Busy", status: 409 };
      const type = isNew ? "application/json" : "application/problem+json";
      return Response.json(body, {
        status: isNew ? 201 : 409,
        headers: { "content-type": type },
      });
    },
  });
  const chat = createChat(client);
  const left = chat.untilLeft();
  const said = chat.submit("Hello");
  await expect.poll(() => requested).toEqual(["POST /api/sessions"]);
  chat.leave();
  await left;
  created.resolve();
  await said;
  expect(requested).toEqual(["POST /api/sessions", "POST /api/sessions/<id>/messages"]);
});
