import {
  type MemoryHandle,
  type MemoryLesson,
  type ReviewAnswer,
  ConversationReviewer,
} from "@holdfast/engine";
import { createGate } from "@holdfast/testing/rigs/run-rig";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { assertPresent } from "@holdfast/testing/fixtures/open-session";
import { says } from "@holdfast/testing/fakes/scripted-model";
import { expect, onTestFinished, test } from "vitest";

import { sendAndWait, newSession, valueOf } from "../../../test/support/api-helpers.ts";
import { openApi } from "../../../test/support/api-rig.ts";
import { createReviews, createReviewer } from "./reviews.ts";

const owner = { provider: "noted", configuration: "one" };

/** Records what it learns. */
function aPupil() {
  const lessons: MemoryLesson[] = [];
  const handle: MemoryHandle = {
    owner,
    commit: async () => ({ status: "committed" }),
    learn: async (lesson) => {
      lessons.push(lesson);
      return { status: "committed" };
    },
    recall: async () => [],
    close: async () => {},
  };
  const providers = { current: () => owner, open: async () => handle };
  return { lessons, handle, providers };
}

function openRig() {
  const rig = openApi(({ messages: [first] }) =>
    first?.role === "system" && first.text.includes("note what will be worth knowing")
      ? [
          {
            kind: "text",
            text: "- They live by the sea.\n- The key is sk-0123456789abcdefghij.\n",
          },
          { kind: "usage", usage: { input: 50, output: 5, costMicros: 7 } },
        ]
      : says("Yes."),
  );
  onTestFinished(async () => {
    await rig.close();
    expect(rig.bugs).toEqual([]);
  });
  return rig;
}

/** Enough messages to make a session due. */
async function talked(rig: ReturnType<typeof openRig>) {
  const id = await newSession(rig);
  await sendAndWait(rig, id, ...Array.from({ length: 10 }, (_, index) => `Word ${index}`));
  return id;
}

test("a review passes findings to memory without secrets, and its usage is in the ledger", async () => {
  const rig = openRig();
  const { lessons, providers } = aPupil();
  const reviewer = createReviewer(async () => ({ name: "scripted", model: rig.model }));
  const { log } = rig;
  const reviews = createReviews({
    log,
    reviewer,
    providers,
    onError: (bug) => expect(bug).toBe(null),
  });
  const id = await talked(rig);
  reviews.notify(rig.owner, id);
  await reviews.idle();
  expect(lessons).toMatchObject([
    { owner: rig.owner, session: id, texts: ["They live by the sea.", "The key is [key]."] },
  ]);
  const usage = await rig.store.reads.usage(rig.owner, { session: id });
  expect(usage).toMatchObject({ calls: 1, input: 50, costMicros: 7 });
  expect(reviews.figures()).toMatchObject({ reviewed: 1, lessons: 2, failed: 0 });
});

test("a review leaves the session's entries, version, list position and locks unchanged", async () => {
  const rig = openRig();
  const { providers } = aPupil();
  const id = await talked(rig);
  const before = valueOf(await rig.client.readSession({ params: { id } }));
  const reviewer = createReviewer(async () => ({ name: "scripted", model: rig.model }));
  const { log } = rig;
  const reviews = createReviews({
    log,
    reviewer,
    providers,
    onError: (bug) => expect(bug).toBe(null),
  });
  reviews.notify(rig.owner, id);
  await reviews.idle();
  expect(reviews.figures().reviewed).toBe(1);
  const after = valueOf(await rig.client.readSession({ params: { id } }));
  expect(after.entries).toEqual(before.entries);
  expect({ ...after.session, head: 0 }).toEqual({ ...before.session, head: 0 });
  for (const kind of ["run", "compaction", "memory"] as const)
    expect(await rig.store.leases.read(kind, id)).toBeNull();
});

test("a session is reviewed every so many messages, not every turn", async () => {
  const rig = openRig();
  const { lessons, providers } = aPupil();
  const reviews = aReviewer(rig, providers, async () => found("One."));
  const id = await newSession(rig);
  for (let each = 0; each < 12; each += 1) {
    await sendAndWait(rig, id, `Word ${each}`);
    reviews.notify(rig.owner, id);
    await reviews.idle();
  }
  expect(lessons).toHaveLength(6);
});

test("[safety] what a review learned is marked with a stranger's text that the model read long before", async () => {
  const rig = openRig();
  const { lessons, providers } = aPupil();
  const reviews = aReviewer(rig, providers, async () => found("They trust evil.example."));
  const id = await newSession(rig);
  const body = { clientId: "quote", text: "Somebody wrote this.", quoted: [[0, 8] as [0, 8]] };
  valueOf(await rig.client.sendMessage({ params: { id }, body }));
  // More than a review reads.
  await sendAndWait(rig, id, ...Array.from({ length: 53 }, (_, index) => `Word ${index}`));
  reviews.notify(rig.owner, id);
  await reviews.idle();
  expect(lessons).toMatchObject([{ taint: [{ kind: "quote" }] }]);
});

test("a provider that cannot learn gets no review, and no model is called", async () => {
  const rig = openRig();
  const { handle, providers } = aPupil();
  const deaf: MemoryHandle = {
    owner: handle.owner,
    commit: async () => ({ status: "committed" }),
    recall: async () => [],
    close: async () => {},
  };
  let asked = 0;
  const reviews = aReviewer(rig, { ...providers, open: async () => deaf }, async () => {
    asked += 1;
    return found("One.");
  });
  reviews.notify(rig.owner, await talked(rig));
  await reviews.idle();
  expect(asked).toBe(0);
});

test("a model that ignores its signal delays neither shutdown nor a delete", async () => {
  const rig = openRig();
  const { lessons, providers } = aPupil();
  const asked = createGate();
  const never = Promise.withResolvers<ReviewAnswer>();
  const reviews = aReviewer(rig, providers, () => {
    asked.open();
    return never.promise;
  });
  const id = await talked(rig);
  reviews.notify(rig.owner, id);
  await asked.promise;
  reviews.cancel(id);
  await reviews.idle();
  reviews.notify(rig.owner, await talked(rig));
  await reviews.stop();
  never.resolve(found("Too late."));
  await never.promise;
  expect(lessons).toEqual([]);
  expect(reviews.figures()).toMatchObject({ reviewed: 0, failed: 2 });
});

test("an overlong review is ended, and the next session is reviewed", async () => {
  const rig = openRig();
  const { lessons, providers } = aPupil();
  const clock = manualClock();
  const asked = createGate();
  const answers = [
    () => {
      asked.open();
      return new Promise<ReviewAnswer>(() => {});
    },
    async () => found("In time."),
  ];
  const reviews = aReviewer(rig, providers, () => assertPresent(answers.shift())(), clock);
  const [one, two] = [await talked(rig), await talked(rig)];
  reviews.notify(rig.owner, one);
  reviews.notify(rig.owner, two);
  await asked.promise;
  await clock.advance(1_000);
  await reviews.idle();
  expect(lessons).toMatchObject([{ session: two, texts: ["In time."] }]);
});

test("a session trashed during its review is not remembered", async () => {
  const rig = openRig();
  const { lessons, providers } = aPupil();
  const [asked, answered] = [createGate(), createGate()];
  const reviews = aReviewer(rig, providers, async () => {
    asked.open();
    await answered.promise;
    return found("One.");
  });
  const id = await talked(rig);
  reviews.notify(rig.owner, id);
  await asked.promise;
  valueOf(await rig.client.trashSession({ params: { id } }));
  answered.open();
  await reviews.idle();
  expect(lessons).toEqual([]);
});

function found(...lessons: readonly string[]): ReviewAnswer {
  return { status: "reviewed", lessons, model: "scripted", usage: null };
}

function aReviewer(
  rig: ReturnType<typeof openRig>,
  providers: ReturnType<typeof aPupil>["providers"],
  review: () => Promise<ReviewAnswer>,
  clock = manualClock(),
): ConversationReviewer {
  return new ConversationReviewer({
    reads: rig.store.reads,
    clock,
    reviewer: { review },
    providers,
    recordUsage: async () => {},
    onError: (bug) => void rig.bugs.push(new Error(String(bug))),
    everyMessages: 4,
    timeoutMs: 1_000,
  });
}
