import {
  type EntryView,
  ids,
  type LiveView,
  type MessageEntry,
  type Part,
  type Seq,
} from "@holdfast/protocol";
import { expect, test } from "vitest";
import { sameRow, rowsOf, withLive } from "./rows.ts";

const noon = new Date(2026, 0, 5, 12).getTime();
let last = 0;

function message(role: MessageEntry["role"], parts: Part[], at = noon): MessageEntry {
  return {
    type: "message",
    role,
    seq: ++last as Seq,
    at,
    messageId: ids.make("message"),
    parts,
  };
}

const text = (words: string): Part => ({ type: "text", text: words });
const callId = ids.make("call");
const call: Part = { type: "tool_call", callId, name: "terminal", input: {} };
const result: Part = { type: "tool_result", callId, name: "terminal", outcome: "ok", output: "x" };
const kinds = (entries: EntryView[]): string[] => rowsOf(entries).map(({ kind }) => kind);

test("a result stands with its call, and alone where the call is out of sight", () => {
  const asked = message("assistant", [text("look"), call]);
  const answered = message("tool", [result]);
  const [, row, ...more] = rowsOf([asked, answered]);
  expect(more).toEqual([]);
  expect(row?.kind === "message" && row.results).toEqual([null, result]);
  expect(kinds([answered])).toEqual(["day", "message"]);
});

test("days are told apart once each", () => {
  const dayMs = 86_400_000;
  const entries = [0, 0, dayMs, dayMs].map((after) => message("user", [], noon + after));
  expect(kinds(entries)).toEqual(["day", "message", "message", "day", "message", "message"]);
});

test("what one side says begins and ends once, however many messages it has", () => {
  const entries = [
    message("user", [text("do")]),
    message("assistant", [call]),
    message("tool", [result]),
    message("assistant", [text("done")]),
    message("user", [text("thanks")]),
  ];
  const shown = rowsOf(entries).filter((row) => row.kind === "message");
  expect(shown.map((row) => [row.entry.role, row.begins, row.ends])).toEqual([
    ["user", true, true],
    ["assistant", true, false],
    ["assistant", false, true],
    ["user", true, true],
  ]);
});

test("what is being written stands below, what is being run at its call, and nothing above is drawn again", () => {
  const entries = [
    message("user", [text("a")]),
    message("assistant", [text("b")]),
    message("user", [text("c")]),
    message("assistant", [call]),
  ];
  const live: LiveView = {
    runId: ids.make("run"),
    tools: [],
    approvals: [],
    messages: [{ messageId: ids.make("message"), startedAt: noon, parts: [] }],
  };
  const settled = rowsOf(entries);
  const rows = withLive(settled, live);
  expect(rows.map(({ kind }) => kind)).toEqual([...settled.map(({ kind }) => kind), "live"]);
  const calling = rows.at(-2);
  expect(calling?.kind === "message" && calling.live).toBe(live);
  const same = rows.map((row, index) => {
    const before = settled[index];
    return before !== undefined && sameRow(row, before);
  });
  expect(same).toEqual([true, true, true, true, false, false]);
});
