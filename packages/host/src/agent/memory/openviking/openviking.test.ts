import type { MemoryAnswer, MemorySegment } from "@holdfast/engine";
import { anOwner, toSeq } from "@holdfast/testing/fixtures/factories";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { until } from "@holdfast/testing/rigs/run-rig";
import { ids, type OwnerId } from "@holdfast/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { serveOpenViking } from "@holdfast/testing/host/providers/openviking-server";
import { openOpenViking } from "./provider.ts";

const never = new AbortController().signal;
const key = "a-key-of-a-user";
const committed: MemoryAnswer = { status: "committed" };
const places = {
  commit: "POST /api/v1/sessions/*-1/commit",
  add: "POST /api/v1/sessions/*-1/messages/batch",
  find: "POST /api/v1/search/find",
};

let server: Awaited<ReturnType<typeof serveOpenViking>>;
beforeEach(async () => void (server = await serveOpenViking(key)));
afterEach(() => server.close());

const clock = manualClock();
const open = () => openOpenViking({ url: server.url, key }, clock);

function aBatch(owner: OwnerId, texts: readonly string[], name = "one"): MemorySegment {
  const turns = texts.map((text, index) => ({
    generation: toSeq(index + 1),
    runId: ids.make("run"),
    at: 1_000,
    messages: [{ role: "user" as const, text }],
  }));
  return { owner, session: ids.make("session"), key: name, turns };
}

const recall = async (owner: OwnerId, text: string): Promise<string[]> => {
  const found = await open().recall({ owner, session: ids.make("session"), text }, never);
  return found.map((each) => each.text);
};

describe("a segment delivered to an OpenViking server", () => {
  test("is archived and processed, and recalled to its owner alone", async () => {
    const [owner, stranger] = [anOwner(), anOwner()];
    const batch = aBatch(owner, ["The harbour opens at seven.", "I like tea."]);
    expect(await open().commit(batch, never)).toEqual(committed);
    expect(server.archives()).toEqual([["The harbour opens at seven.", "I like tea."]]);
    expect(await recall(owner, "harbour")).toEqual(["The harbour opens at seven."]);
    expect(await recall(stranger, "harbour")).toEqual([]);
  });

  test("[P10] counts once, however often it is sent and wherever the answer got lost", async () => {
    const batch = aBatch(anOwner(), ["One.", "Two."]);
    for (const place of ["POST /api/v1/sessions", places.add, places.commit]) {
      server.trouble(place, { kind: "lose" });
      const answer = await open().commit(batch, never);
      expect(answer).toMatchObject({ status: "failed", code: "openviking_unreachable" });
    }
    for (let each = 0; each < 2; each += 1)
      expect(await open().commit(batch, never)).toEqual(committed);
    expect(server.archives()).toEqual([["One.", "Two."]]);
    const calls = server.requests.filter((each) => each === places.commit);
    expect(calls).toHaveLength(1);
  });

  test("[P10] counts once also when the server has forgotten its task", async () => {
    const batch = aBatch(anOwner(), ["One."]);
    expect(await open().commit(batch, never)).toEqual(committed);
    server.state.remembersTasks = false;
    expect(await open().commit(batch, never)).toEqual(committed);
    expect(server.archives()).toEqual([["One."]]);
  });

  test("with more than a hundred messages is sent in batches and resumes where it stopped", async () => {
    const texts = Array.from({ length: 250 }, (_, index) => `Message ${index}.`);
    const batch = aBatch(anOwner(), texts);
    server.trouble(places.add, { kind: "lose" });
    expect(await open().commit(batch, never)).toMatchObject({ status: "failed" });
    expect(await open().commit(batch, never)).toEqual(committed);
    expect(server.archives()).toEqual([texts]);
  });

  test("reports a processing failure, and the next attempt is a new delivery", async () => {
    const batch = aBatch(anOwner(), ["One."]);
    server.state.work = "failed";
    expect(await open().commit(batch, never)).toEqual({
      status: "failed",
      code: "openviking_extraction_failed",
      message: "no model answered",
    });
    server.state.work = "completed";
    expect(await open().commit(batch, never)).toEqual(committed);
    expect(server.archives()).toEqual([["One."], ["One."]]);
  });

  test("fails if processing takes too long, and is found done later", async () => {
    const batch = aBatch(anOwner(), ["One."]);
    server.state.work = "running";
    const answer = open().commit(batch, never);
    let isOver = false;
    void answer.finally(() => (isOver = true));
    await until(async () => {
      await clock.advance(5_000);
      return isOver;
    });
    expect(await answer).toMatchObject({ status: "failed", code: "openviking_working" });
    server.finishWork("completed");
    expect(await open().commit(batch, never)).toEqual(committed);
    expect(server.archives()).toEqual([["One."]]);
  });
});

describe("an OpenViking failure", () => {
  test.each([
    ["seconds", { "retry-after": "120" }, 120_000],
    ["nothing", {}, undefined],
    ["nonsense", { "retry-after": "soon" }, undefined],
    ["years", { "retry-after": "999999999" }, 86_400_000],
  ])("from a busy server carries its retry delay: %s", async (_, headers, retryAfterMs) => {
    server.trouble("POST /api/v1/sessions", { kind: "refuse", status: 429, headers });
    const answer = await open().commit(aBatch(anOwner(), ["One."]), never);
    expect(answer).toEqual({
      status: "failed",
      code: "openviking_resource_exhausted",
      message: "RESOURCE_EXHAUSTED",
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    });
  });

  test("about a bad key does not contain it", async () => {
    const wrong = openOpenViking({ url: server.url, key: "a-wrong-key" }, clock);
    const answer = await wrong.commit(aBatch(anOwner(), ["One."]), never);
    expect(answer).toMatchObject({ status: "failed", code: "openviking_unauthenticated" });
    expect(JSON.stringify(answer)).not.toContain("a-wrong-key");
  });

  test("about an invalid response is reported", async () => {
    server.trouble("POST /api/v1/sessions", { kind: "say", text: "<html>" });
    const answer = await open().commit(aBatch(anOwner(), ["One."]), never);
    expect(answer).toMatchObject({ status: "failed", code: "openviking_malformed" });
  });

  test("from a silent server comes after the timeout", async () => {
    server.trouble("POST /api/v1/sessions", { kind: "hang" });
    const answer = open().commit(aBatch(anOwner(), ["One."]), never);
    await until(async () => server.requests.includes("POST /api/v1/sessions"));
    await clock.advance(20_000);
    expect(await answer).toMatchObject({ status: "failed", code: "openviking_late" });
  });

  test("on abort is immediate, and a failed recall rejects", async () => {
    const stop = new AbortController();
    server.trouble(places.find, { kind: "hang" });
    const query = { owner: anOwner(), session: ids.make("session"), text: "tea" };
    const found = open().recall(query, stop.signal);
    await until(async () => server.requests.includes(places.find));
    stop.abort();
    await expect(found).rejects.toThrow("openviking_stopped");
  });
});

test("of an owner does not depend on the key: the address identifies it", () => {
  const [one, renewed] = [open(), openOpenViking({ url: `${server.url}/`, key: "renewed" })];
  expect(renewed.owner).toEqual(one.owner);
  const other = openOpenViking({ url: "http://127.0.0.1:1", key });
  expect(other.owner).not.toEqual(one.owner);
});
