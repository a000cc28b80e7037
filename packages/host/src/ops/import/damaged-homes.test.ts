import { execFileSync } from "node:child_process";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { createLog, type Reads, runFsck } from "@holdfast/engine";
import { blobId, ids, type LaneKey, newEvent } from "@holdfast/protocol";
import { startProcess } from "@holdfast/testing/process/start-process";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test } from "vitest";

import { writeHermesHome } from "../../../test/support/hermes/cases.ts";
import { assistant, HermesHome, user } from "../../../test/support/hermes/home.ts";
import { importInto, openTaker } from "../../../test/support/hermes/import-into.ts";

const writerScript = fileURLToPath(
  new URL("../../../test/support/hermes/writer-main.ts", import.meta.url),
);

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-import-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function importHere(path: string) {
  const store = createReferenceStore();
  onTestFinished(() => store.close());
  const taker = await openTaker(makeFolder(), store);
  const imported = await importInto(taker, path);
  const found = await runFsck(store.audit, { now: await store.now() });
  expect(found).toMatchObject({ exitCode: 0, findings: 0 });
  return { ...imported, store, taker };
}

/** A small generator of numbers that is the same for the same seed. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % below;
  };
}

test.each([
  [1, "full"],
  [2, "newer"],
  [3, "newest"],
  [4, "full"],
] as const)(
  "a home that is damaged anywhere is imported as far as it goes (%i, %s)",
  async (seed, schema) => {
    const path = join(makeFolder(), "hermes");
    writeHermesHome(path, schema);
    const random = randomFrom(seed);
    for (const name of readdirSync(path, { recursive: true }).map(String).toSorted()) {
      const file = join(path, name);
      if (!lstatSync(file).isFile() || random(2) === 0) continue;
      const bytes = readFileSync(file);
      if (random(3) === 0) writeFileSync(file, bytes.subarray(0, random(bytes.length + 1)));
      else
        for (let times = 0; times < 8 && bytes.length > 0; times += 1)
          bytes[random(bytes.length)] = random(256);
      if (random(2) === 0) writeFileSync(file, bytes);
    }
    const { failure, totals, items } = await importHere(path);
    expect([failure, totals.differs]).toEqual([null, 0]);
    expect(items.length).toBeGreaterThan(0);
  },
);

test("what cannot be read is reported with its place, and its bytes are kept", async () => {
  const path = makeFolder();
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const files: Readonly<Record<string, string>> = {
    "state.db": "this is no database",
    "config.yaml": `a: &a [x]\n${Array.from({ length: 200 }, (_, n) => `b${n}: *a`).join("\n")}`,
    "cron/jobs.json": "{",
    "memories/MEMORY.md": "x".repeat(3_000),
    "webui/projects.json": '[{"project_id": "p", "na',
    "webui/sessions/deep.json": `{"session_id": "deep", "messages": ${deep}}`,
    "skills/wrong/SKILL.md": "no front matter",
  };
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(path, name, ".."), { recursive: true });
    writeFileSync(join(path, name), content);
  }
  symlinkSync("/etc", join(path, "profiles"));
  const { items, failure, store, taker } = await importHere(path);
  expect(failure).toBeNull();
  const places = items.map(({ code, path: place, reason }) => `${code ?? reason} ${place}`);
  for (const place of [
    "unreadable state.db",
    "torn_file config.yaml",
    "torn_file cron/jobs.json",
    "too_long memories/MEMORY.md",
    "torn_file webui/projects.json",
    "unknown_row webui/sessions/deep.json",
    "link profiles",
  ])
    expect(places).toContain(place);
  const unread = items.find(({ path: place }) => place === "state.db");
  const [kept] = await store.register.list(taker.owner, `kept-blob/${unread?.blob}`, 1);
  expect(kept?.value).toBe('["import"]');
});

test("a database of an old version, huge texts and names of any kind arrive", async () => {
  const root = join(makeFolder(), "hermes");
  const home = new HermesHome(root, "old");
  const name = "../../..\u0000\u202e<script>'\"";
  const huge = "\u0001é".repeat(1_500_000);
  const many = Array.from({ length: 2_500 }, (_, n) =>
    n % 2 === 0 ? user(`${n}`) : assistant(`${n}`),
  );
  home.session(name, { title: name }, [user(huge), assistant("\ud800".toWellFormed())]);
  home.session("many", {}, many);
  home.close();
  const { totals, failure, items, store, taker } = await importHere(root);
  expect([failure, totals.differs, totals.texts]).toEqual([null, 0, 2_502]);
  const listed = await store.reads.sessions(taker.owner, { limit: 10 });
  expect(listed.sessions).toHaveLength(2);
  expect(items.filter(({ item }) => item === "session").map(({ after }) => after)).toEqual([
    { user: 1, assistant: 1 },
    { user: 1_250, assistant: 1_250 },
  ]);
});

test("binary texts, ids that are there twice and what is no file are reported, and nothing else suffers", async () => {
  const root = join(makeFolder(), "hermes");
  const home = new HermesHome(root);
  const binary = Buffer.from([0x68, 0xff, 0x00, 0xfe, 0x69]);
  home.session("binary", {}, [user("", { columns: { content: binary } }), assistant("yes")]);
  home.sql(`ALTER TABLE sessions RENAME TO before;
    CREATE TABLE sessions AS SELECT * FROM before; INSERT INTO sessions SELECT * FROM before;
    DROP TABLE before;`);
  home.close();
  execFileSync("mkfifo", [join(root, "SOUL.md"), join(root, "webui-pipe")]);
  mkdirSync(join(root, "webui/sessions"), { recursive: true });
  execFileSync("mkfifo", [join(root, "webui/sessions/pipe.json")]);
  const { items, failure, totals, store, taker } = await importHere(root);
  expect([failure, totals.differs, totals.texts]).toEqual([null, 0, 2]);
  const remarks = items.flatMap((item) => [item, ...(item.remarks ?? [])]);
  const codes = remarks.map(({ code, path: place }) => `${code} ${place}`);
  for (const expected of [
    "broken_text state.db",
    "duplicate_id state.db",
    "unreadable SOUL.md",
    "unreadable webui/sessions/pipe.json",
  ])
    expect(codes).toContain(expected);
  const { blob } = remarks.find(({ code }) => code === "broken_text") ?? {};
  const kept = await store.reads.blob(taker.owner, blobId.parse(blob));
  expect(Buffer.from(kept?.bytes ?? [])).toEqual(binary);
});

test("[safety] a database's files are not read through links, and no copy is kept of settings with keys", async () => {
  const root = join(makeFolder(), "hermes");
  const home = new HermesHome(root);
  home.session("s", {}, [user("one"), assistant("two")]);
  home.close();
  rmSync(join(root, "state.db-wal"), { force: true });
  const outside = join(makeFolder(), "outside");
  writeFileSync(outside, "not yours");
  symlinkSync(outside, join(root, "state.db-wal"));
  const provider = "{name: lab, extra: {headers: {Authorization: sk-nested}}, api_key: sk-own}";
  const settings = `model: {name: m, more: {token: sk-model}}\ncustom_providers: [${provider}]\n`;
  writeFileSync(join(root, "config.yaml"), `${settings}mcp_servers: {odd: {env: {A: sk-odd}}}\n`);
  const { items, failure, store, taker } = await importHere(root);
  expect(failure).toBeNull();
  const found = items.find(
    ({ code, path: place }) => code === "unreadable" && place === "state.db",
  );
  expect(found?.name).toContain("state.db-wal is not a plain file");
  writeFileSync(join(root, "config.yaml"), `${settings}a: [\n`);
  const again = await importInto(taker, root);
  const torn = again.items.find(({ code }) => code === "torn_file");
  expect([torn?.path, torn?.blob]).toEqual(["config.yaml", undefined]);
  expect(JSON.stringify([items, again.items])).not.toContain("sk-");
  for (const { key } of await store.register.list(taker.owner, "kept-blob/", 50)) {
    const blob = await store.reads.blob(taker.owner, blobId.parse(key.slice("kept-blob/".length)));
    expect(Buffer.from(blob?.bytes ?? []).toString()).not.toContain("sk-");
  }
});

test("a home that is written to during its import is taken whole by the next one", async () => {
  const root = join(makeFolder(), "hermes");
  const home = new HermesHome(root);
  home.session("first", {}, [user("one"), assistant("two")]);
  home.close();
  const writer = startProcess([writerScript, root]);
  await writer.line((line) => line === "100");
  const taker = await openTaker(makeFolder(), createReferenceStore());
  for (let round = 0; round < 3; round += 1) {
    const { failure, totals, items: found } = await importInto(taker, root);
    expect([failure, totals.differs]).toEqual([null, 0]);
    // A commit has a question and its answer: both are there, or neither.
    expect(totals.before["user"]).toBe(totals.before["assistant"]);
    expect(found.filter(({ outcome }) => outcome === "damaged")).toEqual([]);
  }
  await writer.kill();
  const { failure, totals, items } = await importInto(taker, root);
  expect([failure, totals.differs]).toEqual([null, 0]);
  const said = items.flatMap(({ texts = [] }) => texts.map(([role]) => role));
  const rows = new DatabaseSync(join(root, "state.db"), { readOnly: true });
  const [count] = rows.prepare("SELECT count(*) AS count FROM messages").all();
  rows.close();
  expect(said).toHaveLength(Number(count?.["count"]));
  const again = await importInto(taker, root);
  expect(Object.keys(again.totals.items["session"] ?? {})).toEqual(["known"]);
});

test("a chat whose session goes to the trash before it is bound is reported, and not bound", async () => {
  const path = join(makeFolder(), "hermes");
  writeHermesHome(path, "full");
  const store = createReferenceStore();
  const taker = await openTaker(makeFolder(), store);
  const lanes: LaneKey[] = [];
  const reads: Reads = {
    ...store.reads,
    async lane(owner, lane) {
      lanes.push(lane);
      const { sessions } = await store.reads.sessions(owner, { limit: 100 });
      for (const { id: session } of sessions)
        await taker.log.commit({
          owner,
          session,
          events: [newEvent(ids.make("event"), "session.trashed", {})],
        });
      return store.reads.lane(owner, lane);
    },
  };
  const log = createLog({ ...store, reads });
  const { items, failure } = await importInto({ ...taker, log }, path);
  expect(failure).toBeNull();
  const said = items.flatMap(({ remarks = [] }) => remarks).filter(({ code }) => code === "chat");
  expect(said).toEqual([expect.objectContaining({ outcome: "skipped" })]);
  expect(said[0]?.text).toContain("stays as it is");
  expect(await store.reads.lane(taker.owner, lanes[0] as LaneKey)).toBeNull();
});

test("a folder that is no home, and one that is away, are refused or empty, and nothing is stored", async () => {
  const { totals, failure } = await importHere(makeFolder());
  expect([totals.items, failure]).toEqual([{}, null]);
  const gone = await importHere(join(makeFolder(), "gone"));
  expect(gone.failure).not.toBeNull();
});
