import { createClient } from "@holdfast/client";
import { ids, type MessageEntry, type Seq } from "@holdfast/protocol";
import { expect, test } from "vitest";

import type { Router } from "../../router/router.ts";
import { createToasts } from "../../ui/toasts.tsx";
import { createTalkActions } from "./talk-actions.ts";

const id = ids.make("session");
const router: Router = {
  read: () => ({ kind: "session", id, at: null }),
  isReturn: () => false,
  subscribe: () => () => {},
  go: () => {},
  replace: () => {},
};

/** A host that writes down the commands on a conversation, and refuses all of them. */
function openActions() {
  const commands: { readonly name: string; readonly body: unknown }[] = [];
  const client = createClient({
    baseUrl: "http://host",
    sleep: async () => {},
    async fetch(url, init) {
      const name = new URL(url).pathname.split("/").at(-1) ?? "";
      commands.push({ name, body: JSON.parse(init?.body as string) });
      return Response.json({ code: "nothing_to_undo", status: 409 }, { status: 409 });
    },
  });
  const nothing = (): void => {};
  const view = {
    showRun: nothing,
    showNewest: nothing,
    showChanges: nothing,
    askUndo: nothing,
  };
  const actions = createTalkActions({ client, router, toasts: createToasts() }, id, view);
  return { actions, commands };
}

test("what changes the conversation ends a live run first", async () => {
  const { actions, commands } = openActions();
  const messageId = ids.make("message");
  const entry: MessageEntry = {
    type: "message",
    role: "user",
    seq: 4 as Seq,
    at: 0,
    messageId,
    parts: [],
  };
  actions.showVersion(messageId);
  actions.retry(null, "openai/gpt-6-sol");
  await actions.editAndRetry(entry, "Better.");
  actions.truncateFrom(4 as Seq);
  actions.undo();
  actions.redo();
  await expect.poll(() => commands).toHaveLength(6);
  for (const { name, body } of commands)
    expect([name, body]).toMatchObject([name, { interrupt: true }]);
});

test("an undo with files asks the host to put them back too, and its redo to bring them again", async () => {
  const { actions, commands } = openActions();
  actions.undoFiles("undo");
  actions.undoFiles("keep");
  actions.redoWithFiles();
  await expect
    .poll(() => commands)
    .toEqual([
      { name: "undo", body: { interrupt: true, files: "restore" } },
      { name: "undo", body: { interrupt: true } },
      { name: "redo", body: { interrupt: true, files: "restore" } },
    ]);
});

test("the version that was chosen by its buttons takes the focus once", () => {
  const { actions } = openActions();
  const [chosen, other] = [ids.make("message"), ids.make("message")];
  actions.showVersion(chosen);
  expect([other, chosen, chosen].map(actions.takeFocus)).toEqual([false, true, false]);
});
