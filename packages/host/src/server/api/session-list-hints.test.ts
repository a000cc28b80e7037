import { aNotice } from "@holdfast/testing/fixtures/factories";
import { manualClock, nextTurn } from "@holdfast/testing/fakes/manual-clock";
import { createSseDecoder, decodeSseFrame, type ListHint, ownerId } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { newSession, valueOf } from "../../../test/support/api-helpers.ts";
import { openApi } from "../../../test/support/api-rig.ts";

async function open() {
  const clock = manualClock();
  const rig = openApi([], { clock });
  onTestFinished(async () => {
    await rig.close();
    expect(rig.bugs).toEqual([]);
  });
  const id = await newSession(rig);
  const reader = (await rig.ask("GET", "/api/events")).body?.getReader();
  const decoder = createSseDecoder();
  const waiting: ListHint[] = [];
  void (async () => {
    for (;;) {
      const piece = await reader?.read();
      if (piece?.done !== false) return;
      for (const item of decoder.push(piece.value)) {
        const decoded = item.kind === "frame" ? decodeSseFrame(item.frame) : null;
        if (decoded?.kind === "list") waiting.push(decoded.hint);
      }
    }
  })();
  async function hints() {
    await nextTurn();
    await clock.advance(1_000);
    await nextTurn();
    return waiting
      .splice(0)
      .map(({ sessionId, session }) => [
        sessionId,
        session === null ? null : [session.title, session.trashedAt !== null],
      ]);
  }
  return { rig, id, hints };
}

test("a tab is notified of new, changed and removed rows, and not of streamed output", async () => {
  const { rig, id, hints } = await open();
  expect(await hints()).toEqual([]);
  valueOf(await rig.client.changeSession({ params: { id }, body: { title: "Named" } }));
  expect(await hints()).toEqual([[id, ["Named", false]]]);
  const { session: other } = await rig.log.createSession({ owner: rig.owner });
  expect(await hints()).toEqual([[other, [null, false]]]);
  expect(await hints()).toEqual([]);
  valueOf(await rig.client.trashSession({ params: { id } }));
  expect(await hints()).toEqual([[id, ["Named", true]]]);
});

test("nobody is notified of foreign sessions", async () => {
  const { rig, hints } = await open();
  const owner = ownerId.parse("somebody-else");
  const { session } = await rig.log.createSession({ owner });
  await rig.log.commit({ owner, session, events: [aNotice()] });
  expect(await hints()).toEqual([]);
});
