import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { Clock } from "../ports/clock.ts";
import type { CommitResult, Failed, FailureCode } from "../ports/commit.ts";
import type { Store } from "../ports/store.ts";
import { aLane, aNotice, anOwner } from "@holdfast/testing/fixtures/factories";
import { openTestSession, assertPresent } from "@holdfast/testing/fixtures/open-session";
import { createLog, type Log } from "./log.ts";

type Harness = Awaited<ReturnType<typeof referenceHarness.open>>;
let harness: Harness;
beforeEach(async () => {
  harness = await referenceHarness.open();
});
afterEach(() => harness.close());

/** A clock that nobody waits for: sleeping advances it. */
function jumpingClock(): Clock & { waits: number[] } {
  let now = 0;
  const waits: number[] = [];
  return {
    waits,
    now: () => now,
    async sleep(ms) {
      waits.push(ms);
      now += ms;
    },
  };
}

const failed = (code: FailureCode): Failed => ({ status: "failed", code, message: code });

/** Answers as listed, then lets the store answer. `lost` writes and reports an unknown outcome. */
function failing(
  store: Store,
  answers: readonly (FailureCode | "lost")[],
): Store & { commits: number } {
  const rest = [...answers];
  const wrapped = {
    ...store,
    commits: 0,
    async commit(commit: Parameters<Store["commit"]>[0]): Promise<CommitResult> {
      wrapped.commits += 1;
      const answer = rest.shift();
      if (answer === "lost") {
        await store.commit(commit);
        return failed("store_unknown");
      }
      return answer === undefined ? store.commit(commit) : failed(answer);
    },
  };
  return wrapped;
}

async function commitThrough(answers: readonly (FailureCode | "lost")[], retryForMs = 1_000) {
  const session = await openTestSession(harness.store);
  const store = failing(harness.store, answers);
  const clock = jumpingClock();
  const log = createLog(store, { clock, retryForMs, random: () => 0.5 });
  const result = await log.commit({ ...refOf(session), events: [aNotice()] });
  return { result, store, clock, head: (await session.row()).head };
}

const refOf = ({ owner, session }: Awaited<ReturnType<typeof openTestSession>>) => ({
  owner,
  session,
});

describe("a failed commit is retried", () => {
  test("while the store is busy, with growing waits, and is stored once", async () => {
    const { result, head, clock } = await commitThrough(["store_busy", "store_busy", "store_busy"]);
    expect(result).toMatchObject({ status: "committed", first: 2 });
    expect(head).toBe(2);
    expect(clock.waits).toEqual([3.75, 7.5, 15]);
  });

  test("after a lost answer, and gets the first answer without a second write", async () => {
    const { result, head } = await commitThrough(["lost", "store_busy"]);
    expect(result).toMatchObject({ status: "committed", first: 2, repeated: true });
    expect(head).toBe(2);
  });

  test("only up to the time limit", async () => {
    const { result, store, clock } = await commitThrough(
      Array.from({ length: 99 }, () => "store_busy"),
      200,
    );
    expect(result).toEqual(failed("store_busy"));
    expect(clock.now()).toBeLessThanOrEqual(200);
    expect(store.commits).toBeGreaterThan(4);
  });

  test("not once its caller has given up", async () => {
    const session = await openTestSession(harness.store);
    const leaving = new AbortController();
    const clock = jumpingClock();
    let commits = 0;
    const store: Store = {
      ...harness.store,
      async commit() {
        commits += 1;
        if (commits === 2) leaving.abort();
        return failed("store_busy");
      },
    };
    const log = createLog(store, { clock, retryForMs: 1_000 });
    const commit = { ...refOf(session), events: [aNotice()] };
    expect(await log.commit(commit, { signal: leaving.signal })).toEqual(failed("store_busy"));
    expect(commits).toBe(2);
  });

  test("not if the store has already retried it", async () => {
    const session = await openTestSession(harness.store);
    const answer = { ...failed("store_unknown"), triedAgain: true as const };
    let commits = 0;
    const store = { ...harness.store, commit: async () => ((commits += 1), answer) };
    const log = createLog(store, { clock: jumpingClock(), retryForMs: 1_000 });
    expect(await log.commit({ ...refOf(session), events: [aNotice()] })).toEqual(answer);
    expect(commits).toBe(1);
  });

  test.each(["store_full", "store_unwritable", "store_unavailable", "store_closed"] as const)(
    "never after %s",
    async (code) => {
      const { result, store } = await commitThrough([code]);
      expect(result).toEqual(failed(code));
      expect(store.commits).toBe(1);
    },
  );

  test.each(["store_busy", "store_unavailable"] as const)(
    "a lost answer followed by %s is still unknown",
    async (code) => {
      const { result } = await commitThrough(
        ["lost", ...Array.from({ length: 99 }, () => code)],
        100,
      );
      expect(result).toEqual(failed("store_unknown"));
    },
  );
});

test("a malformed commit never reaches the store", async () => {
  const store = failing(harness.store, []);
  const result = await createLog(store).commit({
    owner: anOwner(),
    session: "" as never,
    events: [],
  });
  expect(result).toMatchObject({ status: "refused", code: "invalid_event" });
  expect(store.commits).toBe(0);
});

describe("sessions", () => {
  const owner = anOwner();
  let log: Log;
  beforeEach(() => {
    log = createLog(harness.store);
  });

  test("a session is created with its settings and its lane", async () => {
    const lane = aLane();
    const { session, result } = await log.createSession({ owner, settings: { title: "A" }, lane });
    expect(result.status).toBe("committed");
    expect(assertPresent(await harness.store.reads.session(owner, session)).title).toBe("A");
    expect(await harness.store.reads.lane(owner, lane)).toBe(session);
  });

  test("a change at an old revision conflicts, and one without a revision is applied", async () => {
    const { session } = await log.createSession({ owner });
    const change = (revision: number | null) =>
      log.changeSession(owner, session, { pinned: true }, revision);
    expect(await change(1)).toMatchObject({ status: "committed", revision: 2 });
    expect(await change(1)).toMatchObject({ status: "refused", code: "revision_conflict" });
    expect(await change(null)).toMatchObject({ status: "committed", revision: 3 });
  });

  test("a session goes to the trash, accepts nothing there, and can be restored", async () => {
    const { session } = await log.createSession({ owner });
    expect((await log.trashSession(owner, session)).status).toBe("committed");
    expect(await log.trashSession(owner, session)).toMatchObject({ code: "session_trashed" });
    expect((await log.restoreSession(owner, session)).status).toBe("committed");
    expect(await log.restoreSession(owner, session)).toMatchObject({ code: "session_not_trashed" });
  });
});
