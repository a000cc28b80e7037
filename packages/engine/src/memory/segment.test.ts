import { aRunId, toSeq } from "@holdfast/testing/fixtures/factories";
import { ids } from "@holdfast/protocol";
import { expect, test } from "vitest";

import type { MarkRow } from "../ports/rows.ts";
import { nextSegment } from "./segment.ts";

const session = ids.make("session");

function mark(seq: number, provider = "facts"): MarkRow {
  return { session, seq: toSeq(seq), runId: aRunId(), provider, configuration: "one", at: seq };
}

test("[P10] a segment that was tried keeps its key and its turns, whatever was completed since", () => {
  const marks = [mark(3), mark(6), mark(9)];
  const first = nextSegment(session, { marks: marks.slice(0, 2), trying: null });
  expect(first).toMatchObject({ upTo: 6, tries: 0 });
  const { key, upTo } = first ?? { key: "", upTo: toSeq(0) };
  const trying = { session, key, upTo, tries: 2, retryAt: 50, code: "timeout", message: null };
  expect(nextSegment(session, { marks, trying })).toEqual({
    owner: { provider: "facts", configuration: "one" },
    key,
    upTo,
    tries: 2,
    retryAt: 50,
    lastFailure: "timeout",
    marks: marks.slice(0, 2),
  });
});

test("a segment ends before the first turn of another owner", () => {
  const marks = [mark(3), mark(6, "notes"), mark(9)];
  expect(nextSegment(session, { marks, trying: null })).toMatchObject({
    upTo: 3,
    marks: [marks[0]],
  });
  expect(nextSegment(session, { marks: [], trying: null })).toBeNull();
});
