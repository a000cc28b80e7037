import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { connect, type Probe } from "../../src/sqlite/connection.ts";
import { GroupWriter, type Outcome } from "../../src/sqlite/write/group-writer.ts";
import {
  connectWithoutSync,
  type Course,
  makeTemplate,
  recordCourse,
  dumpDatabase,
  groupTime,
} from "./database-dump.ts";
import { representativeProgram } from "./write-program.ts";
import { sqliteErrors } from "./sqlite-errors.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-errors-"));
const program = representativeProgram();
let recording: Course;
beforeAll(async () => {
  const template = join(folder, "template.db");
  await makeTemplate(template);
  recording = await recordCourse(template, join(folder, "whole.db"), program);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;

/** A writer on a store that has everything before this group; it may reopen its file. */
function writerBefore(group: number, probe: Probe, busyMs = 1_000) {
  const file = join(folder, `${(files += 1)}.db`);
  copyFileSync(recording.before[group]!, file);
  const open = () => {
    const connection = connect({ file, access: "write", probe });
    connection.database.exec("PRAGMA synchronous = OFF");
    return connection;
  };
  const writer = new GroupWriter({ open, busyMs, checkpointPages: 1_000 });
  const now = () => groupTime(group);
  return {
    send: (operations = program[group]!) => writer.run(operations, now),
    /** Closes it and dumps the store. */
    endDump: (): string => {
      writer.close();
      const connection = connectWithoutSync(file);
      const dump = dumpDatabase(connection);
      connection.close();
      rmSync(file);
      return dump;
    },
  };
}

/** What a caller is told about a write, the first time or again. Version and revision are those of that moment. */
function reportedBy(outcomes: readonly Outcome[]): unknown[] {
  return outcomes.map((outcome) => {
    if (outcome.status !== "committed") return outcome.status;
    const { first, last, at, input } = outcome;
    return { first, last, at, input };
  });
}

interface Fault {
  readonly error: keyof typeof sqliteErrors;
  /** Whether SQLite has rolled the transaction back by itself, as it does after the worst errors. */
  readonly transaction: "goes on" | "is over";
  readonly code: string;
}

const faults: readonly Fault[] = [
  { error: "busy", transaction: "goes on", code: "store_busy" },
  { error: "ioError", transaction: "is over", code: "store_unwritable" },
  { error: "full", transaction: "is over", code: "store_full" },
  { error: "other", transaction: "goes on", code: "store_unavailable" },
];

test.each(faults)(
  "$error at the n-th statement, for every n: a typed answer, neighbours unharmed, and a retry writes it once",
  async ({ error, transaction, code }) => {
    const codes = new Set<string>();
    for (const [index, group] of program.entries()) {
      for (let nth = 1, reached = true; reached; nth += 1) {
        let count = 0;
        const { send, endDump: endPicture } = writerBefore(index, (_, database) => {
          count += 1;
          if (count !== nth) return;
          if (transaction === "is over" && database.isTransaction) database.exec("ROLLBACK");
          throw sqliteErrors[error]();
        });
        const outcomes = [...send()];
        for (const [at, outcome] of outcomes.entries()) {
          if (outcome.status !== "failed") continue;
          codes.add(outcome.code);
          outcomes.splice(at, 1, ...send([group[at]!]));
        }
        const reported = reportedBy(recording.outcomes[index]!);
        expect(reportedBy(outcomes), `group ${index}, statement ${nth}`).toEqual(reported);
        expect(endPicture()).toBe(recording.dumps[index + 1]);
        reached = count >= nth;
      }
    }
    expect([...codes]).toEqual([code]);
  },
  60_000,
);

test("[P1] a COMMIT that succeeded although it reported an error is found by its ids and answered as before", async () => {
  for (const index of program.keys()) {
    let commits = 0;
    const { send, endDump: endPicture } = writerBefore(index, (sql, database) => {
      if (sql !== "COMMIT" || commits++ > 0) return;
      database.exec("COMMIT");
      throw sqliteErrors.ioError();
    });
    const outcomes = send();
    const expected = recording.outcomes[index]!;
    for (const [at, outcome] of outcomes.entries()) {
      if (outcome.status !== "committed") continue;
      expect(outcome.repeated).toBe(true);
      expect(reportedBy([outcome])).toEqual(reportedBy([expected[at]!]));
    }
    expect(outcomes.some(({ status }) => status === "failed" || status === "refused")).toBe(false);
    expect(endPicture()).toBe(recording.dumps[index + 1]);
  }
});

/** A group of three commits. */
const three = 2;

test.each(["stands", "does not stand"])(
  "[P1] a COMMIT that %s with an unverifiable result is reported as unknown, never as not written",
  async (end) => {
    let [failing, locked] = [true, false];
    const { send, endDump: endPicture } = writerBefore(
      three,
      (sql, database) => {
        if (sql === "BEGIN IMMEDIATE" && locked) throw sqliteErrors.busy();
        if (sql !== "COMMIT" || !failing) return;
        if (end === "stands") database.exec("COMMIT");
        locked = true;
        throw sqliteErrors.ioError();
      },
      20,
    );
    const codes = send().map((outcome) => "code" in outcome && outcome.code);
    expect(codes).toEqual(["store_unknown", "store_unknown", "store_unknown"]);
    [failing, locked] = [false, false];
    expect(reportedBy(send())).toEqual(reportedBy(recording.outcomes[three]!));
    expect(endPicture()).toBe(recording.dumps[three + 1]);
  },
);

test.each([
  { error: "full", code: "store_full" },
  { error: "writeError", code: "store_unwritable" },
  { error: "readOnly", code: "store_unwritable" },
] as const)(
  "a COMMIT whose log was refused ($error) wrote nothing: $code at once, and everything can be sent again",
  async ({ error, code }) => {
    let [failing, opened] = [true, 0];
    const { send, endDump: endPicture } = writerBefore(three, (sql, database) => {
      if (sql === "BEGIN IMMEDIATE") opened += 1;
      if (sql !== "COMMIT" || !failing) return;
      database.exec("ROLLBACK");
      throw sqliteErrors[error]();
    });
    const codes = send().map((outcome) => "code" in outcome && outcome.code);
    expect(codes).toEqual([code, code, code]);
    // All together, in savepoints, and each alone.
    expect(opened).toBe(5);
    failing = false;
    expect(reportedBy(send())).toEqual(reportedBy(recording.outcomes[three]!));
    expect(endPicture()).toBe(recording.dumps[three + 1]);
  },
);

test("a write that can't be synced and failed on retry says that another try would not help", async () => {
  const { send } = writerBefore(three, (sql, database) => {
    if (sql !== "COMMIT") return;
    database.exec("ROLLBACK");
    throw sqliteErrors.ioError();
  });
  for (const outcome of send())
    expect(outcome).toMatchObject({ code: "store_unknown", triedAgain: true });
});

describe.each(["goes on", "is over"])(
  "one write of a group always fails, and the transaction %s",
  (transaction) => {
    test.each([0, 1, 2])("write %i alone fails, and can be sent again", async (victim) => {
      let [attempt, turn, failing] = [0, 0, true];
      const { send, endDump: endPicture } = writerBefore(three, (sql, database) => {
        if (sql === "BEGIN IMMEDIATE") [attempt, turn] = [attempt + 1, -1];
        if (sql.startsWith("SAVEPOINT")) turn += 1;
        // All together, then each in a savepoint, then each in its own transaction.
        const isVictim =
          attempt === 1 || (attempt === 2 ? turn === victim : attempt - 3 === victim);
        if (!failing || !isVictim || !/^\s*INSERT INTO events/.test(sql)) return;
        if (transaction === "is over") database.exec("ROLLBACK");
        throw sqliteErrors.full();
      });
      const outcomes = send();
      const done = ["committed", "committed", "committed"];
      expect(outcomes.map(({ status }) => status)).toEqual(done.with(victim, "failed"));
      expect(outcomes[victim]).toMatchObject({ code: "store_full" });
      failing = false;
      const again = send();
      expect(again.map((outcome) => "repeated" in outcome)).toEqual(
        [true, true, true].with(victim, false),
      );
      const pairs = [...endPicture().matchAll(/session_key\\":(\d+),\\"seq\\":(\d+),\\"id\\"/g)];
      const numbers = pairs.map(([, key, seq]) => `${key}/${seq}`).toSorted();
      expect(numbers).toEqual(["1/1", "1/2", "1/3", "2/1", "2/2", "2/3", "2/4"]);
    });
  },
);
