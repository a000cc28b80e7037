import { ids, type LaneKey, type StoredEvent } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type Audit, type RawEvent } from "../ports/audit.ts";
import { aLane, aRange, toSeq } from "@holdfast/testing/fixtures/factories";
import {
  openFullSession,
  auditWithDerived,
  auditWithEvents,
} from "@holdfast/testing/fixtures/damaged-audit";
import { assertPresent, type TestSession } from "@holdfast/testing/fixtures/open-session";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";
import { type FsckMode } from "./check-session.ts";
import { fsckExit } from "./findings.ts";
import { runFsck } from "./fsck.ts";

let harness: StoreHarness;
let chat: TestSession;
let lane: LaneKey;
beforeEach(async () => {
  harness = await referenceHarness.open();
  lane = aLane();
  ({ chat } = await openFullSession(harness.store, lane));
});
afterEach(() => harness.close());

const audit = (): Audit => harness.store.audit;
const check = async (source: Audit = audit(), mode: FsckMode = "check") =>
  runFsck(source, { mode, now: await harness.store.now() });
const codesOf = async (source: Audit): Promise<string[]> => {
  const { found } = await check(source);
  return [...new Set(found.map((finding) => finding.code))];
};
const indexOf = (events: RawEvent[], type: string): number =>
  events.findIndex((raw) => raw.event?.type === type);
const changed = (raw: RawEvent | undefined, data: StoredEvent["data"]): RawEvent => {
  const { event, ...rest } = assertPresent(raw);
  return { ...rest, event: { ...assertPresent(event), data } };
};

describe("[P14] damage in the log is found", () => {
  test("a missing row", async () => {
    const source = auditWithEvents(audit(), chat.session, (events) =>
      events.toSpliced(indexOf(events, "usage.recorded"), 1),
    );
    expect(await codesOf(source)).toEqual(["number_missing"]);
  });

  test("a missing newest row", async () => {
    expect(
      await codesOf(auditWithEvents(audit(), chat.session, (events) => events.slice(0, -1))),
    ).toEqual(["number_missing"]);
  });

  test("a seq issued twice", async () => {
    const source = auditWithEvents(audit(), chat.session, (events) => [
      ...events.slice(0, 3),
      assertPresent(events[2]),
      ...events.slice(3),
    ]);
    expect(await codesOf(source)).toEqual(["number_repeated"]);
  });

  test("two entries that settle the same seq", async () => {
    const source = auditWithEvents(audit(), chat.session, (events) => {
      const index = indexOf(events, "message.assistant");
      const { data } = assertPresent(events[index]?.event);
      const [range] = data["deltas"] as [number, number][];
      return events.with(
        index,
        changed(events[index], {
          ...data,
          deltas: [...(data["deltas"] as []), assertPresent(range)],
        }),
      );
    });
    expect(await codesOf(source)).toEqual(["number_explained_twice"]);
  });

  test("a settled row stored as open, and an open one marked for deletion", async () => {
    const settled = auditWithEvents(audit(), chat.session, (events) =>
      events.map((raw) => (raw.place === "pruned" ? { ...raw, place: "delta" } : raw)),
    );
    expect(await codesOf(settled)).toEqual(["delta_misplaced"]);
    const open = auditWithEvents(audit(), chat.session, (events) =>
      events.map((raw) => (raw.place === "delta" ? { ...raw, place: "pruned" } : raw)),
    );
    expect(await codesOf(open)).toEqual(["delta_misplaced"]);
  });

  test("a payload with a wrong checksum, by its id, and without a verdict on what follows from it", async () => {
    const source = auditWithEvents(audit(), chat.session, (events) => {
      const index = indexOf(events, "usage.recorded");
      return events.with(index, {
        ...assertPresent(events[index]),
        event: null,
        problem: "the checksum does not match",
      });
    });
    const { found, exitCode } = await check(source, "rebuild");
    const seq = assertPresent(
      (await chat.events()).find((event) => event.type === "usage.recorded"),
    ).seq;
    expect(found).toMatchObject([
      {
        code: "event_unreadable",
        table: "events",
        session: chat.session,
        key: `${chat.session} ${seq}`,
      },
    ]);
    expect(exitCode).toBe(fsckExit.damaged);
  });

  test("an unreadable row that may reference a blob: a rebuild does not drop its reference", async () => {
    const source = auditWithEvents(audit(), chat.session, (events) => {
      const index = indexOf(events, "input.accepted");
      return events.with(index, { ...assertPresent(events[index]), event: null });
    });
    const { found, unproven } = await check(source, "rebuild");
    expect(found.map((finding) => finding.code)).toEqual(["event_unreadable"]);
    expect(unproven).toEqual(["lanes", "blob references"]);
    expect((await check()).found).toEqual([]);
  });

  test("a row that its own schema refuses, while an unknown type is fine", async () => {
    const source = auditWithEvents(audit(), chat.session, (events) => {
      const index = indexOf(events, "usage.recorded");
      return events.with(index, changed(events[index], { model: 7 }));
    });
    expect(await codesOf(source)).toEqual(["event_invalid"]);
  });

  test("a log that does not start with its session", async () => {
    const source = auditWithEvents(audit(), chat.session, (events) =>
      events.with(0, {
        ...assertPresent(events[0]),
        event: { ...assertPresent(events[0]?.event), type: "future.thing" },
      }),
    );
    expect(await codesOf(source)).toEqual(["session_unfounded"]);
  });

  test("a head below the last row", async () => {
    const source = auditWithDerived(audit(), chat.session, (derived) => ({
      ...derived,
      session: { ...derived.session, head: toSeq(derived.session.head - 1) },
    }));
    expect(await codesOf(source)).toContain("head_differs");
  });

  test.each([
    ["overlap", [aRange(1, 5), aRange(4)]],
    ["are out of order", [aRange(4, 5), aRange(1, 2)]],
    ["reach beyond the log", [aRange(1, 500)]],
    ["continue after an open one", [aRange(1), aRange(3, 4)]],
    ["end before they start", [aRange(4, 3)]],
    ["are open in another log", [aRange(1, null, ids.make("session"))]],
  ])("visible ranges that %s", async (_name, ranges) => {
    const source = auditWithDerived(audit(), chat.session, (derived) => ({
      ...derived,
      session: { ...derived.session, ranges },
    }));
    expect(await codesOf(source)).toEqual(["ranges_unsound", "row_differs"]);
  });
});
