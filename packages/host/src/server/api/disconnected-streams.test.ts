import { systemClock } from "@holdfast/engine";
import { aNotice } from "@holdfast/testing/fixtures/factories";
import { createClient } from "@holdfast/client";
import { type Seq, type SessionId } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { type ApiRig, openApi } from "../../../test/support/api-rig.ts";
import { sendAndWait, newSession } from "../../../test/support/api-helpers.ts";

function open(): ApiRig {
  const rig = openApi([[{ kind: "text", text: "One word after the other." }]]);
  onTestFinished(async () => {
    await rig.close();
    expect(rig.bugs).toEqual([]);
  });
  return rig;
}

const token = "a-token-for-this-test";

/** A client whose first streams are cut after the given number of bytes, which may fall inside a frame. */
function clientCutAt(rig: ApiRig, lengths: readonly number[]) {
  const left = [...lengths];
  let connections = 0;
  return createClient({
    token,
    // Retries wait for one turn of the event loop only; the silence timeout stays as it is.
    sleep: (ms, signal) => systemClock.sleep(ms < 20_000 ? 0 : ms, signal),
    async fetch(url, init) {
      connections += 1;
      if (connections > lengths.length + 5) return new Response(null, { status: 410 });
      const answer = await rig.app.request(url, init, {});
      const length = left.shift();
      if (length === undefined || answer.body === null) return answer;
      return new Response(answer.body.pipeThrough(cutAfter(length)), answer);
    },
  });
}

function cutAfter(length: number): TransformStream<Uint8Array, Uint8Array> {
  let passed = 0;
  return new TransformStream({
    transform(piece, controller) {
      const room = length - passed;
      passed += piece.byteLength;
      if (piece.byteLength < room) return controller.enqueue(piece);
      controller.enqueue(piece.subarray(0, room));
      controller.error(new Error("cut"));
    },
  });
}

/** The end of every frame, and three positions inside each. */
async function cutsOf(rig: ApiRig, path: string, events: number): Promise<number[]> {
  const answer = await rig.ask("GET", path);
  const reader = answer.body?.getReader();
  let text = "";
  while ([...text.matchAll(/^id: /gm)].length < events || !text.endsWith("\n\n"))
    text += new TextDecoder().decode((await reader?.read())?.value);
  await reader?.cancel();
  const ends = [...text.matchAll(/\n\n/g)].map(({ index }) => index + 2);
  return ends.flatMap((end, index) => {
    const start = ends[index - 1] ?? 0;
    return [start + 1, Math.floor((start + end) / 2), end - 1, end];
  });
}

async function conversation(rig: ApiRig): Promise<{ id: SessionId; head: number }> {
  const id = await newSession(rig);
  await sendAndWait(rig, id, "Hello");
  const row = await rig.store.reads.session(rig.owner, id);
  return { id, head: row?.head ?? 0 };
}

test("[P5] a stream cut at or inside any frame resumes exactly where it was", async () => {
  const rig = open();
  const { id, head } = await conversation(rig);
  const log: number[] = [];
  for await (const item of rig.client.follow(id, 0 as Seq)) {
    if (item.kind === "event") log.push(item.event.seq);
    if (log.at(-1) === head) break;
  }
  const cuts = await cutsOf(rig, `/api/sessions/${id}/events?after=0`, log.length);
  expect(cuts.length).toBeGreaterThan(4 * log.length);
  for (const cut of cuts) {
    const seen: number[] = [];
    // Cut twice at the same offset, so that the resumed stream is cut too.
    for await (const item of clientCutAt(rig, [cut, cut]).follow(id, 0 as Seq)) {
      if (item.kind === "event") seen.push(item.event.seq);
      else throw new Error(JSON.stringify(item));
      if (seen.at(-1) === head) break;
    }
    expect([cut, seen]).toEqual([cut, log]);
  }
});

test("[P5] a stream of several sessions, cut anywhere, delivers each event once and in order", async () => {
  const rig = open();
  const one = await conversation(rig);
  const other = await newSession(rig);
  await rig.log.commit({ owner: rig.owner, session: other, events: [aNotice(), aNotice()] });
  const from = new Map([
    [one.id, 0 as Seq],
    [other, 0 as Seq],
  ]);
  const watch = async (client: ApiRig["client"]) => {
    const seen = new Map<SessionId, number[]>([
      [one.id, []],
      [other, []],
    ]);
    for await (const item of client.watch(from)) {
      if (item.kind === "list") continue;
      if (item.kind !== "event") throw new Error(JSON.stringify(item));
      seen.get(item.sessionId)?.push(item.event.seq);
      if (seen.get(one.id)?.at(-1) === one.head && seen.get(other)?.at(-1) === 3) break;
    }
    return [seen.get(one.id), seen.get(other)];
  };
  const whole = await watch(rig.client);
  expect(whole[1]).toEqual([1, 2, 3]);
  const count = (whole[0]?.length ?? 0) + 3;
  const cuts = await cutsOf(rig, `/api/events?watch=${one.id}:0,${other}:0`, count);
  for (const cut of cuts)
    expect([cut, await watch(clientCutAt(rig, [cut, cut]))]).toEqual([cut, whole]);
});

test("[P5] streamed output arrives whole, however often the stream breaks", async () => {
  const rig = open();
  const id = await newSession(rig);
  const cuts = Array.from({ length: 30 }, (_, index) => 300 + 37 * index);
  const seen: number[] = [];
  const stop = new AbortController();
  const following = (async () => {
    for await (const item of clientCutAt(rig, cuts).follow(id, 0 as Seq, { signal: stop.signal }))
      if (item.kind === "event") seen.push(item.event.seq);
  })();
  await sendAndWait(rig, id, "Hello");
  const head = (await rig.store.reads.session(rig.owner, id))?.head ?? 0;
  await expect.poll(() => seen.at(-1)).toBe(head);
  stop.abort();
  await following;
  expect(seen).toEqual([...new Set(seen)].toSorted((a, b) => a - b));
  const whole: number[] = [];
  for await (const item of rig.client.follow(id, 0 as Seq)) {
    if (item.kind === "event") whole.push(item.event.seq);
    if (whole.at(-1) === head) break;
  }
  // Deltas seen live may have been settled since; every event in the log must have been seen.
  expect(whole.filter((seq) => !seen.includes(seq))).toEqual([]);
});
