import { runFsck } from "@holdfast/engine";
import { aNotice } from "@holdfast/testing/fixtures/factories";
import { says, type Script } from "@holdfast/testing/fakes/scripted-model";
import { ids, newEvent, type SessionId, type SessionSettings } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { type ApiRig, openApi } from "../../../test/support/api-rig.ts";
import {
  sendAndWait,
  newSession,
  shownTexts,
  untilEnded,
  valueOf,
} from "../../../test/support/api-helpers.ts";

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

/** One question edited twice, with an edited follow-up in the first version; the second version is in view. */
async function openVersions() {
  const rig = open((_request, before) => says(`Answer ${before + 1}`));
  const { client } = rig;
  const id = await newSession(rig);
  const params = { id };
  await sendAndWait(rig, id, "one", "follow");
  const edit = async (old: string, text: string) => {
    const { entries } = valueOf(await client.readSession({ params }));
    const from = entries.find(
      (entry) => entry.type === "message" && JSON.stringify(entry.parts).includes(`"${old}"`),
    );
    valueOf(await client.retry({ params, body: { text, ...(from && { from: from.seq }) } }));
    await untilEnded(rig, id);
  };
  await edit("follow", "follow again");
  await edit("one", "two");
  await edit("two", "three");
  const { turns } = valueOf(await client.listAlternatives({ params }));
  const messageId = turns[0]!.alternatives[1]!.messageId;
  valueOf(await client.switchAlternative({ params, body: { messageId } }));
  return { rig, id };
}

/** What a person sees with each version of the first message, and in it with each version of the follow-up. */
async function everyVersion(rig: ApiRig, id: SessionId) {
  const { client } = rig;
  const params = { id };
  const shown = () => shownTexts(rig, id);
  const list = async () => valueOf(await client.listAlternatives({ params })).turns;
  const found: (readonly string[])[] = [await shown()];
  for (let at = 0; at < (await list())[0]!.alternatives.length; at += 1) {
    const { messageId } = (await list())[0]!.alternatives[at]!;
    valueOf(await client.switchAlternative({ params, body: { messageId } }));
    found.push(await shown());
    for (const inner of (await list())[1]?.alternatives ?? []) {
      const body = { messageId: inner.messageId };
      valueOf(await client.switchAlternative({ params, body }));
      found.push(await shown());
    }
  }
  return found;
}

test("[P13] all versions survive any number of exports and imports, and can be switched", async () => {
  const { rig, id } = await openVersions();
  const first = await exported(rig, id);
  expect(first.entries).toHaveLength(2);
  const copy = await copyOf(rig, first);
  const second = await exported(rig, copy);
  expect({ ...second, exportedAt: 1 }).toEqual({ ...first, exportedAt: 1 });
  const copyOfCopy = await copyOf(rig, { ...second, exportedAt: 1 });
  expect(copyOfCopy).toBe(copy);
  expect(await everyVersion(rig, copy)).toEqual([
    ["two", "Answer 4"],
    ["one", "Answer 1", "follow again", "Answer 3"],
    ["one", "Answer 1", "follow", "Answer 2"],
    ["one", "Answer 1", "follow again", "Answer 3"],
    ["two", "Answer 4"],
    ["three", "Answer 5"],
  ]);
  expect(await everyVersion(rig, id)).toHaveLength(6);
});

test("a document for people has other versions after what is in view, or leaves them out", async () => {
  const { rig, id } = await openVersions();
  const read = async (format: string) =>
    (await rig.ask("GET", `/api/sessions/${id}/export?format=${format}`)).text();
  const markdown = await read("md");
  const [inView = "", others = ""] = markdown.split("# Other versions");
  expect(inView).toContain("(version 2 of 3)");
  expect(inView).not.toContain("follow");
  for (const text of ["one", "follow", "follow again", "three", "Answer 5", "(version 1 of 2)"])
    expect(others).toContain(text);
  const page = await read("html");
  expect(page.indexOf("<summary>Other versions</summary>")).toBeGreaterThan(page.indexOf("two"));
  expect(page.indexOf("follow again")).toBeGreaterThan(page.indexOf("Other versions"));
  for (const format of ["md", "html", "json"]) {
    const short = await read(`${format}&versions=shown`);
    expect(short).toContain("two");
    expect(short).not.toContain("follow");
  }
});

test.each<[string, object]>([
  ["an entry that no view shows", { turns: [[0, 1]], views: [] }],
  ["a view of entries that are not there", { turns: [[0, 1]], views: [[[1, 90_000_000]]] }],
  ["an entry that follows two others", { turns: [[0, 1]], views: [[[1, 1]], [[0, 1]]] }],
  ["a version that follows another of its turn", { turns: [[1, 0]], views: [[[0, 1]]] }],
  ["a turn that begins with nothing", { turns: [[0, 7]], views: [[[1, 1]]] }],
])("a document with %s is refused, and nothing is imported", async (_, alternatives) => {
  const rig = open();
  const entry = { type: "message", role: "user", at: 1, parts: [{ type: "text", text: "a" }] };
  const document = {
    format: "holdfast.session",
    version: 1,
    exportedAt: 9,
    session: { title: "Odd", project: null, tags: [], createdAt: 5 },
    entries: [entry],
    hidden: [entry],
    alternatives,
    blobs: [],
  };
  const refused = await rig.ask("POST", "/api/import", { format: "json", document });
  expect([refused.status, await refused.json()]).toMatchObject([422, { code: "import_refused" }]);
  expect(valueOf(await rig.client.listSessions({})).sessions).toEqual([]);
});
