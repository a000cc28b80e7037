import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { expect, test } from "vitest";

import type { Store } from "../ports/store.ts";
import { gate, says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { openRunRig } from "@holdfast/testing/rigs/run-rig";

test("a bug during a stream stops its run and is reported, and the session continues", async () => {
  const harness = await referenceHarness.open();
  const paused = Promise.withResolvers<void>();
  const bugs: unknown[] = [];
  const commit: Store["commit"] = (commitRequest) => {
    if (bugs.length > 0 || commitRequest.events[0]?.type !== "message.delta")
      return harness.store.commit(commitRequest);
    // The model continues later: until then nobody awaits its output.
    setImmediate(paused.resolve);
    return Promise.reject(new Error("a bug"));
  };
  const rig = await openRunRig(
    { ...harness.store, commit },
    {
      model: scriptedModel((_request, before) =>
        before === 0 ? [says("Half"), gate(paused.promise), says(" more")] : says("Fine."),
      ),
      deps: { onError: (error) => void bugs.push(error) },
    },
  );
  const { runId } = await rig.say("Hello");
  await rig.work();
  expect(bugs).toEqual([new Error("a bug")]);
  await rig.work();
  expect(await rig.run(runId)).toMatchObject({ state: "completed" });
  await harness.close();
});
