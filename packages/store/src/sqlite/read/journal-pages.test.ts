import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { JournalEvent } from "@holdfast/engine";
import { type Seq, type StoredEvent } from "@holdfast/protocol";
import { aDelta, aMessageId, anEvent, aRunId } from "@holdfast/testing/fixtures/factories";
import * as fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";

import { toEventRow } from "../../schema/tables.ts";
import { connect } from "../connection.ts";
import { appendDelta } from "../events.ts";
import { migrate } from "../migrate.ts";
import { readDeltas } from "./journal-pages.ts";

const messages = [aMessageId(), aMessageId()] as const;
const runs = [aRunId(), aRunId()] as const;

const step = fc.record({
  /** Most deltas continue the one before. */
  message: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1),
  run: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1),
  text: fc.string({ unit: "binary", maxLength: 3 }),
  kind: fc.constantFrom("text", "text", "text", "text", "text", "more fields", "no text", "quiet"),
  /** Another session writes in between. */
  isInterleaved: fc.constantFrom(false, false, false, true),
  /** What came before is settled, and not pruned yet. */
  startsChain: fc.constantFrom(false, false, false, false, false, false, false, true),
  skipsSeq: fc.constantFrom(false, false, false, false, false, true),
  damage: fc.constantFrom("none", "none", "none", "none", "none", "none", "sum", "newline"),
});
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

function deltaOf({ message, run, text, kind }: Step, seq: number): StoredEvent {
  const { [message]: messageId = messages[0] } = messages;
  const runId = runs[run === 0 ? 0 : 1];
  const event =
    kind === "no text"
      ? anEvent("tool.progress" as never, { messageId, count: 1 } as never, runId)
      : aDelta(runId, text, messageId);
  const data = kind === "more fields" ? { ...event.data, details: { a: 1 } } : event.data;
  const stored = { ...event, data, seq: seq as Seq, at: 1_000 + seq * 3 };
  return kind === "quiet" ? { ...stored, quiet: true } : stored;
}

/** The deltas that a journal's events stand for. */
function expand(event: JournalEvent): unknown[] {
  const { seq, at, type, runId, quiet, joined, data } = event;
  const { text, ...others } = data;
  if (joined === undefined || typeof text !== "string")
    return [{ seq, at, type, runId, quiet, text, others }];
  let start = 0;
  return joined.lengths.map((length, index) => {
    start += length;
    const each = { seq: joined.from + index, at: at + joined.times[index]! };
    return { ...each, type, runId, quiet, text: text.slice(start - length, start), others };
  });
}

test("a journal read in pages is what was written, without its damaged deltas", async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-pages-"));
  const connection = connect({ file: join(folder, "store.db"), access: "write" });
  onTestFinished(() => {
    connection.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await migrate(connection);
  connection.exec("PRAGMA synchronous = OFF");
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 10 }), (steps) => {
      connection.exec("DELETE FROM deltas");
      let [last, seq]: [number | null, number] = [null, 0];
      let written: StoredEvent[] = [];
      let damaged: number[] = [];
      for (const one of steps) {
        seq += one.skipsSeq ? 2 : 1;
        if (one.isInterleaved) appendDelta(connection, 2, null, toEventRow(deltaOf(one, seq)));
        if (one.startsChain) [last, written, damaged] = [null, [], []];
        const event = deltaOf(one, seq);
        last = appendDelta(connection, 1, last, toEventRow(event));
        if (one.damage === "none") written.push(event);
        else damaged.push(seq);
        if (one.damage === "sum")
          connection.sql("UPDATE deltas SET sum = 0 WHERE pos = ?").run(last);
        if (one.damage === "newline")
          connection
            .sql("UPDATE deltas SET data = data || char(10) || data WHERE pos = ?")
            .run(last);
      }
      const read: unknown[] = [];
      const reported: number[] = [];
      for (let from = last; from !== null;) {
        const page = readDeltas(connection, from);
        read.unshift(...(page?.events ?? []).flatMap(expand));
        reported.unshift(...(page?.damaged ?? []).map((row) => row.seq));
        from = page?.older ?? null;
      }
      expect(read).toEqual(written.flatMap(expand));
      expect(reported).toEqual(damaged);
    }),
    { numRuns: 1_500 },
  );
});
