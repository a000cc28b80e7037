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

const text = (content: string): Part => ({ type: "text", text: content });
const callId = ids.make("call");
const call: Part = { type: "tool_call", callId, name: "terminal", input: {} };
const result: Part = { type: "tool_result", callId, name: "terminal", outcome: "ok", output: "x" };
const kinds = (entries: EntryView[]): string[] => rowsOf(entries).map(({ kind }) => kind);

test("a tool result is shown with its call, or alone if the call is not loaded", () => {
  const callMessage = message("assistant", [text("look"), call]);
  const resultMessage = message("tool", [result]);
  const [, row, ...more] = rowsOf([callMessage, resultMessage]);
  expect(more).toEqual([]);
  expect(row?.kind === "message" && row.results).toEqual([null, result]);
  expect(kinds([resultMessage])).toEqual(["day", "message"]);
});

test("each day gets one heading", () => {
  const dayMs = 86_400_000;
  const entries = [0, 0, dayMs, dayMs].map((after) => message("user", [], noon + after));
  expect(kinds(entries)).toEqual(["day", "message", "message", "day", "message", "message"]);
});

test("consecutive messages of one side begin and end once", () => {
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

test("live messages are appended, running tools attach to their call, and other rows stay the same", () => {
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
    const settledRow = settled[index];
    return settledRow !== undefined && sameRow(row, settledRow);
  });
  expect(same).toEqual([true, true, true, true, false, false]);
});

test("a row changes when one of its calls gets a result, or a different one", () => {
  const callMessage = message("assistant", [call]);
  const failed: Part = { ...result, outcome: "failed" };
  const rowWith = (...parts: Part[]) =>
    rowsOf([callMessage, ...parts.map((part) => message("tool", [part]))]).at(-1)!;
  expect(sameRow(rowWith(), rowWith())).toBe(true);
  expect(sameRow(rowWith(result), rowWith(result))).toBe(true);
  expect(sameRow(rowWith(), rowWith(result))).toBe(false);
  expect(sameRow(rowWith(result), rowWith(failed))).toBe(false);
});

test("a message knows its version, an answer its question, and a new version changes the row", () => {
  const asked = message("user", [text("one")]);
  const answer = message("assistant", [text("re one")]);
  const versions = [{ messageId: ids.make("message") }, { messageId: asked.messageId }];
  const shownWith = (added: typeof versions) =>
    rowsOf([asked, answer], [[...versions, ...added]]).filter((row) => row.kind === "message");
  const [question, reply] = shownWith([]);
  expect(question?.version).toEqual({
    number: 2,
    messageIds: versions.map(({ messageId }) => messageId),
    left: [undefined, undefined],
  });
  expect([reply?.version, reply?.question]).toEqual([null, asked.seq]);
  const [changed] = shownWith([{ messageId: ids.make("message") }]);
  expect(question && changed && sameRow(question, changed)).toBe(false);
});

test("the end of a turn has the pages that its answer links to, or else all that were found", () => {
  const found = ["https://a.example/one", "https://b.example/"].map((url) => ({ url, title: url }));
  const search: Part = { ...result, name: "web_search", details: { sources: found } };
  const sourcesOf = (answer: string) =>
    rowsOf([
      message("user", [text("look it up")]),
      message("assistant", [call]),
      message("tool", [search]),
      message("assistant", [text(answer)]),
      message("user", [text("and now?")]),
      message("assistant", [text("nothing more")]),
    ]).flatMap((row) => (row.kind === "message" ? [row.sources.map(({ url }) => url)] : []));
  const all = found.map(({ url }) => url);
  expect(sourcesOf("High water.")).toEqual([[], [], all, [], []]);
  expect(sourcesOf("See [b](https://b.example).")).toEqual([[], [], [all[1]], [], []]);
});
