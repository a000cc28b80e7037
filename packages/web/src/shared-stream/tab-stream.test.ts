import type { StreamBatch } from "@holdfast/client";
import { ids, type Seq } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { createTabStream } from "./tab-stream.ts";

const session = ids.make("session");

function event(seq: number): StreamBatch[number] {
  const stored = { seq: seq as Seq, id: ids.make("event"), type: "x", v: 1, at: seq, data: {} };
  return { kind: "event", sessionId: session, event: stored };
}

test("[P5] an event is delivered once, even if the next leader starts further back", async () => {
  const stream = createTabStream({
    wanted: { cursors: new Map([[session, 3 as Seq]]), list: false },
    openDirectly: () => Promise.reject(new Error("not shared")),
    onLeave: () => {},
  });
  stream.open("first");
  stream.receive("first", [event(3), event(4), event(5)]);
  stream.detachLeader();
  stream.open("second");
  stream.receive("second", [event(4), event(5), event(6)]);
  stream.fail("over");
  const opened = await stream.opened;
  if (!opened.ok) throw new Error("not opened");
  const seqs: number[] = [];
  for await (const batch of opened.value)
    for (const item of batch) if (item.kind === "event") seqs.push(item.event.seq);
  expect(seqs).toEqual([4, 5, 6]);
});
