import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, expect, test } from "vitest";

import { type TestSession, openTestSession } from "@holdfast/testing/fixtures/open-session";
import { anEvent } from "@holdfast/testing/fixtures/factories";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";
import { type Framed, frameContext } from "./prefix.ts";
import { readContext } from "./session-context.ts";

let harness: StoreHarness;
let chat: TestSession;
let notes = "Likes tea.";

beforeEach(async () => {
  harness = await referenceHarness.open();
  chat = await openTestSession(harness.store);
});
afterEach(() => harness.close());

const tools = [{ name: "look", description: "Looks.", input: { type: "object" } }];
const source = (signature: string) => ({
  signature,
  tools,
  system: async () => `Be kind. ${notes}`,
});

/** Frames the session as a run would, and commits what is needed. */
async function frame(signature: string): Promise<Extract<Framed, { status: "framed" }>> {
  const entries = await readContext(harness.store.reads, chat.owner, chat.session);
  const framed = await frameContext(
    harness.store,
    chat.owner,
    entries?.frame ?? null,
    source(signature),
  );
  if (framed.status !== "framed") throw new Error(framed.message);
  if (framed.event !== undefined) await chat.commit([anEvent("context.framed", framed.event)]);
  return framed;
}

test("[P9] a session keeps its frame byte for byte while its notes change", async () => {
  notes = "Likes tea.";
  const first = await frame("persona 1");
  notes = "Likes coffee.";
  const second = await frame("persona 1");
  expect(first.event?.cause).toBe("first");
  expect(second.event).toBeUndefined();
  expect(second.bytes).toEqual({ system: "Be kind. Likes tea.", tools });
});

test("[P9] a change of the frame's inputs is an event that says so", async () => {
  notes = "Likes tea.";
  await frame("persona 1");
  notes = "Likes coffee.";
  const changed = await frame("persona 2");
  expect(changed).toMatchObject({
    event: { cause: "configuration" },
    bytes: { system: "Be kind. Likes coffee." },
  });
  expect((await frame("persona 2")).event).toBeUndefined();
});

test("sessions with the same frame store it once", async () => {
  notes = "Likes tea.";
  const first = await frame("persona 1");
  chat = await openTestSession(harness.store, {}, chat.owner);
  const second = await frame("persona 1");
  expect(second.event?.cause).toBe("first");
  expect(second.frame).toEqual(first.frame);
});

test("[P9] a frame change names what changed, if the signatures name their parts", async () => {
  await frame("model=aa persona=bb tools=cc");
  const causes = async (signature: string) => (await frame(signature)).event?.cause;
  expect(await causes("model=aa persona=dd tools=cc")).toBe("persona");
  expect(await causes("model=ee persona=dd tools=ff")).toBe("model tools");
  expect(await causes("model=ee persona=dd project=aa tools=ff")).toBe("project");
  expect(await causes("model=ee persona=dd tools=ff")).toBe("project");
  expect(await causes("something else")).toBe("configuration");
});

test("[P9] a frame whose bytes are lost is made anew, and the change says so", async () => {
  notes = "Likes tea.";
  const { frame: known } = await frame("persona 1");
  const { store } = harness;
  const reads = { ...store.reads, blob: async () => null };
  const framed = await frameContext(
    { reads, putBlob: store.putBlob.bind(store) },
    chat.owner,
    known,
    source("persona 1"),
  );
  expect(framed).toMatchObject({ event: { frame: known, cause: "lost" } });
});
