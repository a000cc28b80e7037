import { beforeAll, expect, test } from "vitest";

import { ids } from "@holdfast/protocol";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import { openContractRig, type SentMessage } from "@holdfast/testing/contracts/contract-rig";
import {
  effectsIn,
  effectTools,
  type Replies,
  repliesByPrompt,
} from "@holdfast/testing/contracts/peer-runs";
import type { SharedDatabase } from "@holdfast/testing/contracts/test-database";
import { calls, hang, says } from "@holdfast/testing/fakes/scripted-model";
import { assertPresent } from "@holdfast/testing/fixtures/open-session";
import { createRunner, until, untilStreamed } from "@holdfast/testing/rigs/run-rig";

import { requestCancel } from "../src/run/cancel.ts";

/** How far each run has got when its process is killed. */
const before: Replies = {
  "Who are you?": [says("A ship's cook.")],
  "Think first": [hang],
  "Tell a story": [[says("It was a dark "), says("and stormy"), hang]],
  "Note it, then go on": [
    [says("First. "), calls("note")],
    [says("Then I shall "), hang],
  ],
  "Pay the bill": [calls("pay", "the bill")],
  "Read the map": [calls("read", "the map")],
  "Never mind": [[says("As you"), hang]],
  "Ask me then": [[says("Well"), hang]],
  "Leave it then": [[says("Well"), hang]],
};

/** The model's replies after a take-over. */
const after: Replies = {
  "Think first": [says("Thought.")],
  "Tell a story": [says("Again: it was dark.")],
  "And the end?": [says("They lived.")],
  "Note it, then go on": [says("Gone on.")],
  "Pay the bill": [says("I shall look first.")],
  "Read the map": [says("Read.")],
};

export const runsAfterKillContract = contractSuite<SharedDatabase>(
  "after kill -9 of the runner's process",
  (factory) => {
    const rig = useRig(() => openContractRig(factory));
    const left = new Map<string, SentMessage>();
    const model = repliesByPrompt(after);
    const of = (text: string) => assertPresent(left.get(text));

    async function say(text: string, to?: SentMessage): Promise<SentMessage> {
      const sent = await rig.send(text, to && { chat: to.chat });
      left.set(text, sent);
      return sent;
    }

    /** As a host does at startup, or as one that handles only one session. */
    async function boot(policy: "resume" | "ask" | "off", only?: SentMessage): Promise<void> {
      const { store, log, effects } = rig;
      const live = async () =>
        (await store.work.live(100)).filter(({ session }) => session === only?.chat.session);
      const work =
        only === undefined ? store.work : { ...store.work, live, queued: async () => [] };
      const deps = { policy, work, liveness: factory.identity.createLiveness() };
      const runner = createRunner(store, log, { model, tools: effectTools(effects, "end"), deps });
      await runner.sweep();
      await runner.idle();
    }

    beforeAll(async () => {
      const elsewhere = await rig.database.startPeer("process");
      await elsewhere.runs.work({ replies: before, effects: rig.effects });
      const earlier = await say("Who are you?");
      await until(async () => (await earlier.run()).state === "completed");
      for (const text of Object.keys(before).slice(2)) await say(text);
      await say("Think first", earlier);
      await say("And the end?", of("Tell a story"));
      await untilStreamed(of("Tell a story"), "stormy");
      await untilStreamed(of("Note it, then go on"), "Then I shall");
      await untilStreamed(of("Pay the bill"), "begun");
      await untilStreamed(of("Read the map"), "begun");
      await untilStreamed(of("Never mind"), "As you");
      await untilStreamed(of("Ask me then"), "Well");
      await untilStreamed(of("Leave it then"), "Well");
      await until(async () => (await of("Think first").run()).state === "running");
      await elsewhere.kill();

      const { chat, runId } = of("Never mind");
      await requestCancel(rig.log, ids, chat.owner, runId);
      await boot("ask", of("Ask me then"));
      await boot("off", of("Leave it then"));
      await boot("resume");
    }, 120_000);

    test("[S3.10] prompt, run and earlier messages are there, although no token was", async () => {
      expect(await of("Think first").transcript()).toEqual([
        "user: Who are you?",
        "assistant: A ship's cook.",
        "user: Think first",
        "assistant: Thought.",
      ]);
      expect(await of("Think first").run()).toMatchObject({ state: "completed", attempt: 1 });
    });

    test("[S3.20] text streamed between two tools is unchanged", async () => {
      expect(await of("Note it, then go on").transcript()).toEqual([
        "user: Note it, then go on",
        "assistant: First. |calls note",
        "tool: ok noted",
        "assistant: Then I shall ",
        "notice: recovered",
        "assistant: Gone on.",
      ]);
    });

    test("[P4] the run continues to its one end, and queued messages are answered", async () => {
      expect(await of("Tell a story").transcript()).toEqual([
        "user: Tell a story",
        "assistant: It was a dark and stormy",
        "notice: recovered",
        "assistant: Again: it was dark.",
        "user: And the end?",
        "assistant: They lived.",
      ]);
      expect(await of("Tell a story").run()).toMatchObject({ state: "completed", attempt: 1 });
      expect(await of("Tell a story").terminalStates()).toEqual(["completed"]);
    });

    test.each([
      ["Ask me then", "paused"],
      ["Leave it then", "interrupted"],
    ])("[P4] after “%s” its policy leaves the run %s", async (text, state) => {
      expect(await of(text).run()).toMatchObject({ state, cause: "host_stopped", attempt: 1 });
      expect(await of(text).transcript()).toEqual([
        `user: ${text}`,
        "assistant: Well",
        "notice: recovered",
      ]);
      expect(await of(text).terminalStates()).toEqual(state === "paused" ? [] : [state]);
    });

    test("[P6] a cancel holds: the run ends as cancelled and is not resumed", async () => {
      expect(await of("Never mind").run()).toMatchObject({ state: "cancelled" });
      expect(await of("Never mind").transcript()).toEqual([
        "user: Never mind",
        "assistant: As you",
        "notice: recovered",
      ]);
    });

    test("[P7] a tool that must not be repeated is unknown to person and model, and its effect is there once", async () => {
      expect(await of("Pay the bill").transcript()).toEqual([
        "user: Pay the bill",
        "assistant: calls pay",
        "tool: unknown begun",
        "notice: recovered",
        "assistant: I shall look first.",
      ]);
      expect(effectsIn(rig.effects).of("the bill")).toHaveLength(1);
      const request = model.requests.find(({ messages }) =>
        messages.some((message) => message.role === "user" && message.text === "Pay the bill"),
      );
      expect(JSON.stringify(request?.messages.at(-1))).toMatch(
        /not known whether this took effect/,
      );
      const notice = (await of("Pay the bill").chat.entries()).at(-2);
      expect(notice?.data["text"]).toMatch(/not known whether this took effect: pay/);
    });

    test("[P7] a tool that declares itself safe runs again under the same call", async () => {
      expect((await of("Read the map").transcript()).slice(-2)).toEqual([
        "tool: ok done",
        "assistant: Read.",
      ]);
      const [first, second, ...more] = effectsIn(rig.effects).of("the map");
      expect(second).toBe(first);
      expect(more).toEqual([]);
    });

    test("every row is explained, and nothing is left to do", async () => {
      expect(await fsckFindings(rig.store)).toEqual([]);
      expect(await rig.store.work.live(100)).toEqual([]);
      expect(await rig.store.work.queued(100)).toEqual([]);
    });
  },
);
