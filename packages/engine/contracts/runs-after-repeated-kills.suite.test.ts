import { beforeAll, expect, test } from "vitest";

import { ids, type StoredEvent } from "@holdfast/protocol";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import { openContractRig, type SentMessage } from "@holdfast/testing/contracts/contract-rig";
import { type Peer, startPeers } from "@holdfast/testing/contracts/peer";
import type { SharedDatabase } from "@holdfast/testing/contracts/test-database";
import { hang, says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { toSeq } from "@holdfast/testing/fixtures/factories";
import { assertPresent, openTestSession } from "@holdfast/testing/fixtures/open-session";
import { createRunner, until } from "@holdfast/testing/rigs/run-rig";

import { type Admission, admitMessage, type NewInput } from "../src/run/admit.ts";

const kills = 4;
type Accepted = Extract<Admission, { status: "accepted" }>;

/**
 * Processes are killed one after another while messages are being accepted and answers written, with a run that no
 * process ever finishes.
 */
export const runsAfterRepeatedKillsContract = contractSuite<SharedDatabase>(
  "processes killed one after another",
  (factory) => {
    const rig = useRig(() => openContractRig(factory));
    let stuck: SentMessage;
    const acknowledged: { readonly input: NewInput; readonly answer: Accepted }[] = [];
    const unacknowledged: NewInput[] = [];
    const attempts: number[] = [];
    beforeAll(async () => {
      stuck = await rig.send("Never ends");
      for (const [turn, elsewhere] of (await startPeers(rig.database, "process", kills)).entries())
        await runUntilKilled(elsewhere, turn);
      const model = scriptedModel(() => says("Aye, at last."));
      const deps = { liveness: factory.identity.createLiveness() };
      const runner = createRunner(rig.store, rig.log, { model, deps });
      await runner.sweep();
      await runner.idle();
    }, 120_000);

    /** Takes the run over, accepts messages, answers some and dies: each time at a later answer. */
    async function runUntilKilled(elsewhere: Peer, turn: number): Promise<void> {
      const { owner, session } = await openTestSession(rig.store);
      const inputs = Array.from({ length: 12 }, (_, n): NewInput => {
        const clientId = `${turn}.${n}`;
        return { owner, session, clientId, text: `Message ${clientId}` };
      });
      await elsewhere.runs.work({ replies: { "Never ends": [hang] }, otherwise: says("Aye.") });
      await until(async () => (await stepsOf(stuck)) === turn + 1);
      attempts.push((await stuck.run()).attempt);

      const enough = Promise.withResolvers<void>();
      let answered = 0;
      async function admit(input: NewInput): Promise<void> {
        const answer = await elsewhere.runs.admit(input).catch(() => undefined);
        if (answer?.status === "accepted") acknowledged.push({ input, answer });
        else unacknowledged.push(input);
        answered += 1;
        if (answered === 1 + 3 * turn) enough.resolve();
      }
      const pending = inputs.map(admit);
      await enough.promise;
      await elsewhere.kill();
      await Promise.all(pending);
    }

    async function logOf({ owner, session }: NewInput): Promise<readonly StoredEvent[]> {
      const page = await rig.store.reads.events(owner, session, { after: toSeq(0), limit: 1_000 });
      return assertPresent(page).events;
    }

    test("[P1] an accepted message is there, word for word, under the seq that was returned", async () => {
      expect(acknowledged.length).toBeGreaterThanOrEqual(1 + 4 + 7 + 10);
      for (const { input, answer } of acknowledged) {
        const { owner, session, clientId, text } = input;
        const query = { after: toSeq(answer.seq - 1), limit: 1 };
        expect((await rig.store.reads.events(owner, session, query))?.events).toMatchObject([
          {
            type: "input.accepted",
            runId: answer.runId,
            data: { messageId: answer.messageId, clientId, text },
          },
        ]);
      }
    });

    test("[P1] a client that missed the answer may send again: the message is there once", async () => {
      for (const { input, answer } of acknowledged.slice(0, 3))
        expect(await admitMessage(rig.log, ids, input)).toEqual({ ...answer, repeated: true });
      for (const input of unacknowledged) {
        const answer = await admitMessage(rig.log, ids, input);
        expect(answer).toMatchObject({ status: "accepted" });
        const stored = (await logOf(input)).filter(
          ({ type, data }) => type === "input.accepted" && data["clientId"] === input.clientId,
        );
        expect(stored).toHaveLength(1);
      }
    });

    test("[P4] each accepted message is answered, and its run has ended once", async () => {
      for (const { input, answer } of acknowledged) {
        const { runId } = answer;
        const states = (await logOf(input)).flatMap((event) =>
          event.type === "run.state" && event.runId === runId ? [event.data["state"]] : [],
        );
        expect(states.filter((state) => state === "completed")).toHaveLength(1);
        expect(states.at(-1)).toBe("completed");
      }
    });

    test("[P4] each take-over is counted durably, and the third is the last", async () => {
      expect(attempts).toEqual([0, 1, 2, 3]);
      expect(await stuck.run()).toMatchObject({ state: "interrupted", cause: "too_many_attempts" });
      expect(await stuck.terminalStates()).toEqual(["interrupted"]);
    });

    test("every row is explained", async () => {
      expect(await fsckFindings(rig.store)).toEqual([]);
    });
  },
);

async function stepsOf({ chat }: SentMessage): Promise<number> {
  return (await chat.events()).filter(({ type }) => type === "step.started").length;
}
