import { ids, type MessageEntry, type Seq } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { findableRows, findRows } from "./findable-rows.ts";

const message = (seq: number, role: MessageEntry["role"], parts: MessageEntry["parts"]) => ({
  type: "message" as const,
  seq: seq as Seq,
  at: 0,
  role,
  messageId: ids.make("message"),
  parts,
});

test("the output of a tool is found in the row of its call, and text whatever its case", () => {
  const callId = ids.make("call");
  const rows = findableRows([
    message(1, "user", [{ type: "text", text: "Look at the Harbour" }]),
    message(2, "assistant", [
      { type: "tool_call", callId, name: "terminal", input: { command: ["ls", "boats"] } },
    ]),
    message(3, "tool", [
      { type: "tool_result", callId, name: "terminal", outcome: "ok", output: "kelp.txt" },
    ]),
  ]);
  const found = (text: string) => findRows(rows, text).map(({ seq }) => seq);
  expect(found("harbour")).toEqual([1]);
  expect(found("ls boats")).toEqual([2]);
  expect(found("KELP")).toEqual([2]);
  expect(found("  ")).toEqual([]);
  expect(found("heron")).toEqual([]);
});
