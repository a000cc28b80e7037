import { writeFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { branch, createLog, type Store, systemClock } from "@holdfast/engine";
import { ids, newEvent, ownerId, type SessionId } from "@holdfast/protocol";
import { openFullSession } from "@holdfast/testing/fixtures/damaged-audit";
import {
  aCut,
  aFile,
  aLane,
  anEvent,
  anInput,
  aNotice,
  aRange,
  aUsage,
  aUserMessage,
} from "@holdfast/testing/fixtures/factories";
import { assertPresent, openTestSession } from "@holdfast/testing/fixtures/open-session";

export const owner = ownerId.parse("owner");

/** A store and a home with a bit of everything that an export has to carry. */
export async function fillStore(store: Store, home: string): Promise<void> {
  const log = createLog(store);
  const lane = aLane();
  const { chat } = await openFullSession(store, lane);
  await openFullSession(store, aLane());
  // The lane moves on to a session with a smaller id than the one before.
  const later = await openTestSession(store, { title: "Later" }, chat.owner);
  await later.commit([newEvent(ids.make("event"), "lane.bound", { lane })]);

  const origin = await openTestSession(store, { title: "Origin", tags: ["a", "b"] }, owner);
  await origin.commit([aUserMessage("one"), aNotice("two"), aUserMessage("three")]);
  await origin.commit([aCut([aRange(1, 3)], { messageCount: 1 })]);
  const first = await branchOf(store, origin.session, "A branch");
  await branchOf(store, first, "A branch of a branch");

  const gone = await openTestSession(store, { title: "Gone" }, owner);
  await gone.commit([aUserMessage("kept by its branch"), aUserMessage("and this")]);
  await branchOf(store, gone.session, "What is left");
  await gone.commit([aUserMessage("not kept"), aUsage(undefined)]);
  await purge(gone.session);
  const forgotten = await openTestSession(store, {}, owner);
  await forgotten.commit([aUserMessage("secret"), aUsage(undefined), aUsage(undefined)]);
  await purge(forgotten.session);

  const trashed = await openTestSession(store, { title: "In the trash", archived: true }, owner);
  await log.trashSession(owner, trashed.session);
  const big = new Uint8Array(2_000_000).fill(7);
  const [picture, kept] = [
    await store.putBlob(owner, big, "image/png"),
    await store.putBlob(owner, new Uint8Array([1, 2, 3]), "text/plain"),
  ];
  if (picture.status !== "stored" || kept.status !== "stored") throw new Error("not stored");
  const withFile = await openTestSession(store, { title: "With a file", pinned: true }, owner);
  await withFile.commit([anInput({ attachments: [aFile(picture.id)] })]);
  await withFile.commit([
    anEvent("notice.added", {
      noticeId: ids.make("notice"),
      kind: "odd",
      text: "\u0000 \u2028 \ud83d\ude00",
    }),
  ]);

  for (const [key, value] of [
    ["fact/1", '{"text":"likes tea"}'],
    ["schedule/1", '{"title":"Brief"}'],
    ["setting/model", '"rehearsal"'],
    [`kept-blob/${kept.id}`, '["project"]'],
    ["secret/key/openai", '{"sealed":"do-not-export"}'],
    ["sign-in/1", '{"digest":"do-not-export"}'],
    ["sign-in-code/1", '{"digest":"do-not-export"}'],
    ["sign-in-attempts/1f", '[{"of":"do-not-export"}]'],
    ["api-key/1", '{"digest":"do-not-export"}'],
  ] as const)
    await store.register.put({ owner, key, value, expect: 0 });
  mkdirSync(join(home, "memory", "6f"), { recursive: true });
  mkdirSync(join(home, "skills", "tea"), { recursive: true });
  writeFileSync(join(home, "memory", "6f", "MEMORY.md"), "a note");
  writeFileSync(join(home, "skills", "tea", "SKILL.md"), "# Tea");
  writeFileSync(join(home, "config.json"), '{"port":8787}');
  writeFileSync(join(home, "secrets.key"), "do-not-export");
  writeFileSync(join(home, "token"), "do-not-export");

  async function purge(session: SessionId): Promise<void> {
    await log.trashSession(owner, session);
    assertPresent((await store.purge(owner, session)).status === "purged" ? true : null);
  }
}

export async function branchOf(
  store: Store,
  session: SessionId,
  title = "A branch",
): Promise<SessionId> {
  const deps = { log: createLog(store), ids, clock: systemClock };
  const made = await branch(deps, { owner, session }, { title });
  if (made.status !== "branched") throw new Error(JSON.stringify(made));
  return made.session;
}

/** Everything that an export carries, in an order that does not depend on the database. */
export async function contentsOf(store: Store): Promise<Readonly<Record<string, unknown>>> {
  const contents: Record<string, unknown> = {};
  const logs: SessionId[] = [];
  for await (const { id } of store.audit.sessions()) {
    logs.push(id);
    const derived = assertPresent(await store.audit.derived(id));
    for (const [table, rows] of Object.entries(derived))
      contents[`${table} ${id}`] = Array.isArray(rows) ? sorted(rows) : rows;
  }
  const purged: SessionId[] = [];
  for await (const { session } of store.audit.purges()) purged.push(session);
  contents["purged"] = purged.toSorted();
  for (const id of purged) contents[`usage ${id}`] = sorted(await store.audit.usage(id));
  for (const id of [...logs, ...purged]) {
    const events = [];
    for await (const { event, place, link } of store.audit.events(id))
      if (place !== "pruned") events.push({ event, place, link });
    contents[`events ${id}`] = events;
  }
  for await (const { owner: whose, id, size, mediaType, refs, intact } of store.audit.blobs())
    contents[`blob ${whose} ${id}`] = { size, mediaType, refs, intact };
  for await (const { owner: whose, key, value } of store.audit.register())
    if (
      !whose.startsWith("holdfast:") &&
      !/^(secret|sign-in|sign-in-code|sign-in-attempts|api-key)\//.test(key)
    )
      contents[`register ${whose} ${key}`] = value;
  return contents;
}

function sorted(rows: readonly unknown[]): readonly unknown[] {
  return rows.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}
