import { runFsck } from "@holdfast/engine";
import { aNotice } from "@holdfast/testing/fixtures/factories";
import { says, type Script } from "@holdfast/testing/fakes/scripted-model";
import { ids, newEvent, type SessionId, type SessionSettings } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { type ApiRig, openApi } from "../../../test/support/api-rig.ts";
import { sendAndWait, newSession, valueOf } from "../../../test/support/api-helpers.ts";

function open(script: Script = []): ApiRig {
  const rig = openApi(script);
  onTestFinished(async () => {
    const { exitCode } = await runFsck(rig.store.audit, { now: await rig.store.now() });
    await rig.close();
    expect([exitCode, rig.bugs]).toEqual([0, []]);
  });
  return rig;
}

interface Document {
  readonly session: Record<string, unknown>;
  readonly entries: readonly Record<string, unknown>[];
}

async function exported(rig: ApiRig, id: SessionId): Promise<Document> {
  const answer = await rig.ask("GET", `/api/sessions/${id}/export?format=json`);
  return (await answer.json()) as Document;
}

async function copyOf(rig: ApiRig, document: unknown): Promise<SessionId> {
  const answer = await rig.ask("POST", "/api/import", { format: "json", document });
  expect(answer.status).toBe(201);
  const { sessions } = (await answer.json()) as { sessions: { id: SessionId }[] };
  return sessions[0]?.id ?? ("" as SessionId);
}

const long = Array.from({ length: 700 }, (_, at) => aNotice(`notice ${at}`));

test.each<[string, SessionSettings, number]>([
  ["a title that a person chose", { title: "Garden", titleSource: "chosen" }, 1],
  ["a title that was derived", { title: "Garden", titleSource: "derived" }, 1],
  ["a title that was generated", { title: "Garden", titleSource: "generated" }, 1],
  ["no title", {}, 1],
  ["what it was sorted under", { project: "House", tags: ["a", "b"], pinned: true }, 1],
  ["that it was put away", { archived: true }, 1],
  ["that it was put away, of a long one", { archived: true }, long.length],
  ["that it was in sight, of a long one", { pinned: true }, long.length],
])("%s survives any number of exports and imports", async (_, settings, entries) => {
  const rig = open();
  const { owner, log } = rig;
  const { session } = await log.createSession({
    owner,
    settings: { workspace: "/srv", ...settings },
  });
  const events = entries === 1 ? [aNotice()] : [];
  for (let at = 0; at < entries - 1; at += 100)
    await log.commit({ owner, session, events: long.slice(at, at + 100) });
  if (events.length > 0) await log.commit({ owner, session, events });

  const first = await exported(rig, session);
  const second = await exported(rig, await copyOf(rig, first));
  const third = await exported(rig, await copyOf(rig, second));
  expect(second.session).toEqual(first.session);
  expect(third.session).toEqual(first.session);
  expect([second.entries, third.entries]).toEqual([first.entries, first.entries]);
  // Paths are private: a document carries none.
  expect(JSON.stringify(third)).not.toContain("/srv");
});

test("a document from before titles had a source is imported with a chosen title", async () => {
  const rig = open();
  const session = { title: "Old", project: null, tags: [], createdAt: 5 };
  const document = {
    format: "holdfast.session",
    version: 1,
    exportedAt: 9,
    session,
    entries: [],
    blobs: [],
  };
  const taken = await exported(rig, await copyOf(rig, document));
  expect(taken.session).toMatchObject({ ...session, titleSource: "chosen" });
});

test("an impossible date is refused, and one imported earlier does not prevent an export", async () => {
  const rig = open();
  const beyond = Number.MAX_SAFE_INTEGER;
  const { owner, log } = rig;
  const { session } = await log.createSession({ owner });
  const late = newEvent(ids.make("event"), "message.user", {
    messageId: ids.make("message"),
    parts: [{ type: "text", text: "from the end of time" }],
    originalAt: beyond,
  });
  await log.commit({ owner, session, events: [late], touch: "quiet" });
  for (const format of ["md", "html"]) {
    const answer = await rig.ask("GET", `/api/sessions/${session}/export?format=${format}`);
    expect(await answer.text()).toContain("from the end of time");
  }
  const document = await exported(rig, session);
  const entries = document.entries.map((entry) => ({ ...entry, at: beyond }));
  const body = { format: "json", document: { ...document, entries } };
  expect((await rig.ask("POST", "/api/import", body)).status).toBe(422);
});

test("a compaction summary round-trips as a summary, with every message below it", async () => {
  const words = "word ".repeat(10_000).trim();
  const rig = open(({ messages }) => {
    const first = messages[0];
    const isSummary = first?.role === "system" && first.text.includes("summary");
    return says(isSummary ? "They counted to five." : "Yes.");
  });
  const id = await newSession(rig);
  await sendAndWait(
    rig,
    id,
    ...["one", "two", "three", "four", "five"].map((n) => `${n} ${words}`),
  );
  valueOf(await rig.client.compact({ params: { id }, body: {} }));
  await expect.poll(async () => (await rig.store.reads.session(rig.owner, id))?.epoch).toBe(1);

  const first = await exported(rig, id);
  const summary = { type: "notice", kind: "summary", text: "They counted to five." };
  expect(first.entries).toContainEqual(expect.objectContaining(summary));
  const copy = await copyOf(rig, first);
  expect((await exported(rig, copy)).entries).toEqual(first.entries);
  expect(await rig.store.reads.session(rig.owner, copy)).toMatchObject({ epoch: 0 });
});
