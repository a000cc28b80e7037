import { afterAll, beforeAll, expect, test } from "vitest";

import { ids } from "@holdfast/protocol";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import {
  compactionDeps,
  compactionSizes,
  openLongSession,
} from "@holdfast/testing/contracts/compaction-rig";
import { openContractRig } from "@holdfast/testing/contracts/contract-rig";
import type { Peer } from "@holdfast/testing/contracts/peer";
import type { SharedDatabase } from "@holdfast/testing/contracts/test-database";
import { withMembers } from "@holdfast/testing/contracts/wrapped-stores";
import { nextTurn } from "@holdfast/testing/fakes/manual-clock";
import { gate, says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import { assertPresent, type TestSession } from "@holdfast/testing/fixtures/open-session";
import {
  createGate,
  createRunner,
  transcriptLines,
  untilStreamed,
} from "@holdfast/testing/rigs/run-rig";

import { compactSession } from "../src/context/compact.ts";
import { readContext } from "../src/context/session-context.ts";
import { restore } from "../src/history/trash.ts";
import { systemClock } from "../src/ports/clock.ts";
import type { Store } from "../src/ports/store.ts";

/** Where a compaction pauses while another process deletes the session. */
type Point = "before it has the lock" | "before it commits" | "before it releases the lock";

export const compactionAndDeleteContract = contractSuite<SharedDatabase>(
  "a simultaneous compaction and delete",
  (factory) => {
    const rig = useRig(() => openContractRig(factory));
    let elsewhere: Peer;
    beforeAll(async () => {
      elsewhere = await rig.database.startPeer("process");
    }, 120_000);
    afterAll(() => elsewhere.end());

    const compact = ({ owner, session }: TestSession, store: Store) =>
      compactSession(compactionDeps(store), {
        owner,
        session,
        reason: "preflight",
        sizes: compactionSizes,
      });

    /** Starts a compaction that pauses there until it is released. */
    function compactUpTo(point: Point, chat: TestSession) {
      const [reached, resume] = [createGate(), createGate()];
      const pass = async (here: Point): Promise<void> => {
        if (here !== point) return;
        reached.open();
        await resume.promise;
      };
      const { leases } = rig.store;
      const store = withMembers(rig.store, {
        async commit(commit) {
          await pass("before it commits");
          return rig.store.commit(commit);
        },
        leases: {
          ...leases,
          async acquire(request) {
            await pass("before it has the lock");
            return leases.acquire(request);
          },
          async release(lease) {
            await pass("before it releases the lock");
            return leases.release(lease);
          },
        },
      });
      return { ended: compact(chat, store), reached: reached.promise, resume: resume.open };
    }

    /** A run of the session that has streamed half of its answer. */
    async function streamingRun(chat: TestSession) {
      const resume = createGate();
      const model = scriptedModel([[says("Half"), gate(resume.promise), says(" more")]]);
      const runner = createRunner(rig.store, rig.log, { model, clock: systemClock });
      const sent = await rig.send("five", { chat });
      runner.notify(chat.owner, chat.session);
      await untilStreamed(sent, "Half");
      const finish = () => {
        resume.open();
        return runner.idle();
      };
      return { ...sent, finish };
    }

    const seqsOfType = async (chat: TestSession, type: string) =>
      (await chat.events()).filter((event) => event.type === type).map(({ seq }) => seq);

    const trashElsewhere = ({ owner, session }: TestSession) =>
      elsewhere.runs.trash(owner, session);

    /** Deleted once and settled, with no leases left; and a restore brings it back unchanged. */
    async function expectSound(chat: TestSession, epoch: number): Promise<void> {
      const { owner, session } = chat;
      expect(await seqsOfType(chat, "session.trashed")).toHaveLength(1);
      expect(await seqsOfType(chat, "context.compacted")).toHaveLength(epoch);
      expect(await rig.leasesOf(chat)).toEqual([]);
      const deps = { log: rig.log, ids, holder: aHolder };
      expect(await restore(deps, { owner, session })).toMatchObject({ status: "committed" });
      expect(await chat.row()).toMatchObject({ epoch, liveRun: null, openDeltas: 0 });
      const context = assertPresent(await readContext(rig.store.reads, owner, session));
      expect(transcriptLines(context.tail).filter((line) => line === "user: five")).toHaveLength(1);
    }

    test("[S3.18] a delete before the lock ends the compaction, and the run with it", async () => {
      const chat = await openLongSession(rig.store);
      const run = await streamingRun(chat);
      const compaction = compactUpTo("before it has the lock", chat);
      await compaction.reached;
      expect(await trashElsewhere(chat)).toMatchObject({ status: "committed" });
      compaction.resume();
      // A trashed session has no lock to acquire, and there is nothing to retry.
      expect(await compaction.ended).toEqual({ status: "refused", code: "session_trashed" });
      await run.finish();
      expect(await run.terminalStates()).toEqual(["cancelled"]);
      await expectSound(chat, 0);
      expect(await fsckFindings(rig.store)).toEqual([]);
    });

    test.each<Point>(["before it commits", "before it releases the lock"])(
      "[S3.18] a delete is refused while a compaction pauses %s, and succeeds after it",
      async (point) => {
        const chat = await openLongSession(rig.store);
        const run = await streamingRun(chat);
        const compaction = compactUpTo(point, chat);
        await compaction.reached;
        const refused = { status: "refused", code: "compaction_live" };
        expect(await trashElsewhere(chat)).toMatchObject(refused);
        expect(await run.terminalStates()).toEqual([]);
        compaction.resume();
        expect(await compaction.ended).toMatchObject({ status: "compacted", epoch: 1 });
        expect(await trashElsewhere(chat)).toMatchObject({ status: "committed" });
        await run.finish();
        expect(await run.terminalStates()).toEqual(["cancelled"]);
        await expectSound(chat, 1);
        expect(await fsckFindings(rig.store)).toEqual([]);
      },
    );

    test("[S3.18] when both start together in two processes, one goes before the other, and nothing is half done", async () => {
      const orders = new Set<string>();
      for (const headStart of ["the lock", 0, 4, 16, 64, "all of it"] as const) {
        const chat = await openLongSession(rig.store);
        const run = await streamingRun(chat);
        const point = headStart === "the lock" ? "before it commits" : "before it has the lock";
        const compaction = compactUpTo(point, chat);
        await compaction.reached;
        const deleting = trashWithRetries(chat);
        if (headStart === "all of it") await deleting;
        else if (headStart !== "the lock") for (let n = 0; n < headStart; n += 1) await nextTurn();
        compaction.resume();
        const [{ status }] = await Promise.all([compaction.ended, deleting]);
        orders.add(status);
        await run.finish();
        expect(await run.terminalStates()).toEqual(["cancelled"]);
        await expectSound(chat, status === "compacted" ? 1 : 0);
      }
      expect(await fsckFindings(rig.store)).toEqual([]);
      expect([...orders].toSorted()).toEqual(["compacted", "refused"]);
    });

    /** A person who retries as long as somebody is compacting. */
    async function trashWithRetries(chat: TestSession): Promise<void> {
      for (;;) {
        const result = await trashElsewhere(chat);
        if (result.status === "committed") return;
        expect(result).toMatchObject({ status: "refused", code: "compaction_live" });
      }
    }
  },
);
