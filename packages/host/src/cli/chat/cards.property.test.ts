import { ids } from "@holdfast/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { plainPaint } from "../screen/paint.ts";
import type { TranscriptPiece } from "../transcript/pieces.ts";
import type { OpenApproval } from "../transcript/open-approval.ts";
import { CardRows, liveRows } from "./cards.ts";
import { ApprovalChoice } from "./choices.ts";
import { footerRow } from "./footer.ts";
import { Picker } from "./picker.ts";
import { Suggestions } from "./suggestions.ts";

// oxlint-disable-next-line no-control-regex -- what must not reach a terminal
const unsafe = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200e\u200f]/;

const hostile = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary", maxLength: 10 }),
      fc.constantFrom("\u001b[2J", "\u001b]0;owned\u0007", "\u009b31m", "\r", "\b", "\u202e", "\n"),
    ),
    { maxLength: 8 },
  )
  .map((pieces) => pieces.join(""));

test("no row lets a terminal obey control characters, at any width", () => {
  fc.assert(
    fc.property(hostile, fc.integer({ min: 10, max: 100 }), (text, width) => {
      const style = { width, paint: plainPaint };
      const end = { kind: "toolEnded", name: text, input: { command: text }, tookMs: 1 } as const;
      const changes = [{ path: text, change: "changed" as const, diff: `@@ ${text}\n+${text}` }];
      const pieces: TranscriptPiece[] = [
        { kind: "thought", text },
        { ...end, outcome: "ok", output: text },
        { ...end, outcome: "failed", output: text, changes },
        { ...end, outcome: "ok", output: text, sources: [{ url: text, title: text, date: text }] },
        { kind: "text", text, isNew: true },
      ];
      const cards = new CardRows(() => undefined);
      const approval: OpenApproval = {
        approvalId: ids.make("approval"),
        callId: ids.make("call"),
        name: text,
        input: { question: text, choices: [text] },
        inputHash: "",
        askedAt: 0,
        rules: [text],
      };
      const usage = undefined;
      const suggestions = new Suggestions();
      suggestions.set("", [{ label: text, detail: text, text, effect: "insert" }]);
      const rows = [
        ...pieces.flatMap((piece) => cards.add(piece, style)),
        ...cards.openRows(style),
        ...new ApprovalChoice().rows(approval, 2, style),
        ...new ApprovalChoice().rows({ ...approval, kind: "question" }, 2, style),
        ...suggestions.rows(style),
        ...new Picker({ title: "", items: [{ label: text, detail: text, command: "" }] }).rows(
          style,
        ),
        footerRow({ model: text, mode: "full", usage, connection: "live", keys: "" }, style),
        ...liveRows(stateWith(text), () => 1, style),
      ];
      for (const row of rows) expect(unsafe.test(row)).toBe(false);
    }),
  );
});

function stateWith(text: string): Parameters<typeof liveRows>[0] {
  const live = {
    runId: ids.make("run"),
    messages: [
      {
        messageId: ids.make("message"),
        startedAt: 0,
        parts: [{ part: 0, kind: "reasoning", text }],
      },
    ],
    tools: [
      {
        callId: ids.make("call"),
        resultId: ids.make("message"),
        name: text,
        input: text,
        replay: "never",
        startedAt: 0,
        output: text,
        outcome: null,
        endedAt: null,
      },
    ],
    approvals: [],
  };
  return { live } as unknown as Parameters<typeof liveRows>[0];
}

test("the card of a search lists what was found, with its addresses", () => {
  const sources = [
    { url: "https://a.example/", title: "One", date: "2026-08-30" },
    { url: "https://b.example/", title: "Two" },
  ];
  const call = { name: "web_search", input: { query: "tides" }, tookMs: null, output: "raw" };
  const end = { kind: "toolEnded", outcome: "ok", ...call, sources } as const;
  const rows = new CardRows(() => undefined).add(end, { width: 60, paint: plainPaint });
  expect(rows.slice(2, -1)).toEqual([
    "│ 1. One (2026-08-30)",
    "│    https://a.example/",
    "│ 2. Two",
    "│    https://b.example/",
  ]);
});
