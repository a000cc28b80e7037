import { ids } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, expect, test } from "vitest";

import { says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { openRunRig, transcriptLines } from "@holdfast/testing/rigs/run-rig";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";
import { retry } from "./retry.ts";

let harness: StoreHarness;
beforeEach(async () => {
  harness = await referenceHarness.open();
});
afterEach(() => harness.close());

test("[P1] a retry under a client id that was used for another text is a conflict", async () => {
  const model = scriptedModel((_request, before) => says(`Answer ${before + 1}`));
  const rig = await openRunRig(harness.store, { model });
  const { owner, session } = rig.chat;
  const ask = (text: string) =>
    retry({ log: rig.log, ids }, { owner, session }, { clientId: "edit", text });
  await rig.say("one");
  await rig.work();
  const first = await ask("two");
  expect(first).toMatchObject({ status: "accepted" });
  await rig.work();
  expect(await ask("three")).toMatchObject({ status: "refused", code: "idempotency_conflict" });
  expect(await ask("two")).toEqual({ ...first, repeated: true });
  await rig.work();
  expect(transcriptLines(await rig.entries())).toEqual(["user: two", "assistant: Answer 2"]);
});

test("a message that is asked again is answered before those that are queued", async () => {
  const model = scriptedModel((_request, before) => says(`Answer ${before + 1}`));
  const rig = await openRunRig(harness.store, { model });
  const { owner, session } = rig.chat;
  await rig.say("one");
  await rig.work();
  await rig.say("queued");
  await retry({ log: rig.log, ids }, { owner, session }, { clientId: "edit", text: "uno" });
  await rig.work();
  expect(transcriptLines(await rig.entries())).toEqual([
    "user: uno",
    "assistant: Answer 2",
    "user: queued",
    "assistant: Answer 3",
  ]);
});
