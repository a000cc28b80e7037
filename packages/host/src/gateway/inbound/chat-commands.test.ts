import { emptySessionRead } from "@holdfast/client";
import { ids, ownerId, type RunState, type RunView } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { commandReply } from "./chat-commands.ts";

function statusText(state: RunState): string | null {
  const { session } = emptySessionRead(ids.make("session"), ownerId.parse("someone"));
  const run: RunView = {
    id: ids.make("run"),
    sessionId: session.id,
    state,
    cause: null,
    attempt: 1,
    step: 1,
    cancelRequested: false,
    continues: null,
    startedAt: 0,
    endedAt: null,
  };
  return commandReply({ kind: "status", session, run, inbox: [], approvals: [] });
}

test("/status describes the session without naming run states", () => {
  expect(statusText("claimed")).toBe("**Untitled**: answering.");
  expect(statusText("waiting")).toBe("**Untitled**: needs your approval.");
  expect(statusText("completed")).toBe("**Untitled**: idle.");
});

test("/memory uses singular and plural correctly", () => {
  const none = { facts: [], total: 0, words: "" } as const;
  const memory = { kind: "memory", sessions: 1, oldestAt: null, failing: null, ...none } as const;
  expect(commandReply({ ...memory, turns: 1 })).toBe("1 turn is not saved to memory yet.");
  expect(commandReply({ ...memory, turns: 2 })).toBe("2 turns are not saved to memory yet.");
});
