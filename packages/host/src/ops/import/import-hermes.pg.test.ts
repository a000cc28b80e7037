import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLog, redo, runFsck, undo } from "@holdfast/engine";
import { ids, laneKey, sessionId } from "@holdfast/protocol";
import { databases } from "@holdfast/testing/databases/databases";
import { aUserMessage } from "@holdfast/testing/fixtures/factories";
import { openSqliteStore } from "@holdfast/store/sqlite";
import { describe, expect, onTestFinished, test } from "vitest";

import { writeHermesHome } from "../../../test/support/hermes/cases.ts";
import { assistant, HermesHome, tool, user } from "../../../test/support/hermes/home.ts";
import { importInto, openTaker, owner } from "../../../test/support/hermes/import-into.ts";
import { visibleTexts } from "../../../test/support/hermes/compare-session.ts";
import { differencesFrom, type Truth, truthSchema } from "../../../test/support/hermes/truth.ts";
import type { ReportItem } from "./report.ts";

const killedImport = fileURLToPath(
  new URL("../../../test/support/hermes/killed-import-main.ts", import.meta.url),
);

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-import-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A genuine home, and what is true of it in a file beside it. */
const genuine = process.env["HOLDFAST_TEST_HERMES_HOME"];

interface KnownHome {
  readonly name: string;
  readonly place: () => { readonly path: string; readonly truth: Truth };
}

const homes: readonly KnownHome[] = [
  {
    name: "a home in hermes' formats",
    place() {
      const path = join(makeFolder(), "hermes");
      return { path, truth: writeHermesHome(path) };
    },
  },
  ...(genuine === undefined
    ? []
    : [
        {
          name: "a genuine home",
          place: () => ({
            path: genuine,
            truth: truthSchema.parse(JSON.parse(readFileSync(`${genuine}.truth.json`, "utf8"))),
          }),
        },
      ]),
];

/** Every file with its content. */
function contentsOf(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true })
    .map(String)
    .toSorted()
    .flatMap((name) => {
      const path = join(folder, name);
      if (!lstatSync(path).isFile()) return [];
      return `${name} ${createHash("sha256").update(readFileSync(path)).digest("hex")}`;
    });
}

function sessionOf(items: readonly ReportItem[], id: string) {
  const item = items.find(({ ids: known }) => known?.includes(id));
  return sessionId.parse(item?.session);
}

describe.each(databases)("an import of hermes on $name", (factory) => {
  async function open() {
    const database = await factory.create();
    onTestFinished(() => database.drop());
    const store = await database.open();
    onTestFinished(() => store.close());
    const taker = await openTaker(makeFolder(), store);
    const check = async () => runFsck(store.audit, { now: await store.now() });
    return { store, taker, check };
  }

  test.each(homes)(
    "$name arrives as it is known to be, once, and stays unchanged",
    async ({ place }) => {
      const { path, truth } = place();
      const before = contentsOf(path);
      const { store, taker, check } = await open();
      const dry = await importInto(taker, path, { mode: "dry" });
      expect((await store.reads.sessions(owner, { limit: 1 })).sessions).toEqual([]);
      const first = await importInto(taker, path);
      expect(first).toMatchObject({ failure: null, totals: { differs: 0 } });
      expect(await differencesFrom(truth, { store, owner, items: first.items, taker })).toEqual([]);
      expect(dry.totals.items).toEqual(first.totals.items);
      expect(first.totals.before).toEqual(first.totals.after);
      expect(await check()).toMatchObject({ exitCode: 0, findings: 0 });
      const events = (await check()).events;
      const second = await importInto(taker, path);
      const outcomes = Object.values(second.totals.items).flatMap((each) => Object.keys(each));
      expect(new Set(outcomes)).toEqual(new Set(["known"]));
      expect(await differencesFrom(truth, { store, owner, items: second.items, taker })).toEqual(
        [],
      );
      expect((await check()).events).toBe(events);
      expect(contentsOf(path)).toEqual(before);
    },
  );

  test("what is new in a home is appended, what was undone there is cut, and what people did here stays", async () => {
    const root = join(makeFolder(), "hermes");
    const home = new HermesHome(root);
    onTestFinished(() => home.close());
    const start = [user("one"), assistant("two")];
    for (const id of ["more", "undone", "here", "both", "gone"]) home.session(id, {}, start);
    const { store, taker, check } = await open();
    const { items } = await importInto(taker, root);
    const log = createLog(store);
    const say = async (id: string) => {
      const result = await log.commit({
        owner,
        session: sessionOf(items, id),
        events: [aUserMessage()],
      });
      expect(result.status).toBe("committed");
    };
    await say("here");
    await say("both");
    await log.trashSession(owner, sessionOf(items, "gone"));
    home.rows("more", [user("three"), assistant("", { calls: ["c"] }), tool("c", "four")]);
    for (const id of ["undone", "both"]) home.change(id, "title", "x");
    home.undoLast("undone", 1);
    home.undoLast("both", 1);
    home.rows("undone", [assistant("another two")]);
    home.rows("here", [user("later")]);
    home.rows("gone", [user("later")]);
    const again = await importInto(taker, root);
    const outcomeOf = (id: string) => {
      const item = again.items.find(({ ids: known }) => known?.includes(id));
      return [item?.outcome, item?.reason];
    };
    expect(["more", "undone", "here", "both", "gone"].map(outcomeOf)).toEqual([
      ["extended", undefined],
      ["extended", undefined],
      ["extended", undefined],
      ["skipped", "changed_here"],
      ["skipped", "in_trash"],
    ]);
    const said = async (id: string) =>
      (await visibleTexts({ store, owner }, sessionOf(items, id))).map(({ role }) => role);
    expect(await said("more")).toEqual(["user", "assistant", "user", "assistant", "tool"]);
    expect(await said("undone")).toEqual(["user", "assistant"]);
    expect(await said("here")).toEqual(["user", "assistant", "user", "user"]);
    expect(await said("both")).toEqual(["user", "assistant", "user"]);
    const third = await importInto(taker, root);
    expect(third.totals.items["session"]).toEqual({ known: 3, skipped: 2 });
    expect(await check()).toMatchObject({ exitCode: 0, findings: 0 });
  });

  test("what a person undid here is not missing", async () => {
    const root = join(makeFolder(), "hermes");
    const home = new HermesHome(root);
    onTestFinished(() => home.close());
    home.session("s", {}, [user("one"), assistant("two"), user("three"), assistant("four")]);
    const { store, taker } = await open();
    const session = sessionOf((await importInto(taker, root)).items, "s");
    const undone = await undo({ log: createLog(store), ids }, { owner, session });
    expect(undone).toMatchObject({ status: "committed" });
    expect(await visibleTexts({ store, owner }, session)).toHaveLength(2);
    const { totals } = await importInto(taker, root);
    expect(totals).toMatchObject({ differs: 0, texts: 4, items: { session: { known: 1 } } });
    expect(await visibleTexts({ store, owner }, session)).toHaveLength(2);
  });

  test("undone turns come back with a redo, summaries are epochs, and times and costs are those of then", async () => {
    const root = join(makeFolder(), "hermes");
    const home = new HermesHome(root);
    const times = home.session(
      "s",
      {
        model: "m",
        input_tokens: 7,
        output_tokens: 5,
        actual_cost_usd: 0.25,
        ended_at: 1_700_000_000,
      },
      [user("one"), assistant("two"), user("three", { state: "undone" })],
    );
    home.close();
    const { store, taker } = await open();
    const { items } = await importInto(taker, root);
    const session = sessionOf(items, "s");
    const row = await store.reads.session(owner, session);
    const to = Math.round((times[2] ?? 0) * 1000);
    expect(row).toMatchObject({ sortAt: to, activityAt: to, messageCount: 2, preview: "two" });
    const at = 1_700_000_000_000;
    const within = { from: at, to: at + 1 };
    const [used] = await store.reads.usageGroups(owner, { by: "model", within, limit: 5 });
    expect(used).toMatchObject({ key: "m", input: 7, output: 5, costMicros: 250_000 });
    expect(await redo({ log: createLog(store), ids }, { owner, session })).toMatchObject({
      status: "committed",
    });
    expect((await visibleTexts({ store, owner }, session)).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
    ]);
  });
});

test.each(homes)("$name that is killed again and again is whole in the end", async ({ place }) => {
  const { path, truth } = place();
  const home = makeFolder();
  // Before a write, and after one; each process gets further than the one before.
  for (let write = 1; ; write = Math.ceil(write * 2.5)) {
    const child = spawn(process.execPath, [killedImport, home, path, String(write)], {
      stdio: "inherit",
    });
    await once(child, "close");
    if (child.signalCode === "SIGKILL") continue;
    expect(child.exitCode).toBe(0);
    break;
  }
  const store = await openSqliteStore({ file: join(home, "holdfast.db") });
  onTestFinished(() => store.close());
  const taker = await openTaker(home, store);
  const { items, totals } = await importInto(taker, path);
  expect(totals.differs).toBe(0);
  expect(await differencesFrom(truth, { store, owner, items, taker })).toEqual([]);
  expect(new Set(items.map(({ outcome }) => outcome))).not.toContain("taken");
  const found = await runFsck(store.audit, { now: await store.now() });
  expect(found).toMatchObject({ exitCode: 0, findings: 0 });
});

test("what runs by itself arrives switched off, without secrets unless they are asked for", async () => {
  const [factory] = databases;
  if (factory === undefined) throw new Error("There are databases.");
  const database = await factory.create();
  onTestFinished(() => database.drop());
  const store = await database.open();
  onTestFinished(() => store.close());
  const path = join(makeFolder(), "hermes");
  writeHermesHome(path);
  writeHermesHome(join(path, "profiles", "coder"));
  const taker = await openTaker(makeFolder(), store);
  const { items } = await importInto(taker, path, { profile: "default" });
  const report = JSON.stringify(items);
  for (const secret of ["hunter2", "sk-ant-1", "77:abc", "sk-lab"])
    expect(report).not.toContain(secret);
  expect(taker.secrets.names("")).toEqual([]);
  expect(taker.addedServers.list().get("files")).toMatchObject({
    switch: "off",
    server: { command: "npx", args: ["-y", "server"], env: {} },
  });
  const [schedule] = await store.register.list(owner, "schedule/", 10);
  expect(JSON.parse(schedule?.value ?? "")).toMatchObject({ title: "Brief", state: "off" });
  expect(await store.register.read(owner, "skills/off")).toMatchObject({ value: '["log"]' });
  expect(readdirSync(join(taker.home, "skills"))).toContain("log");
  expect((await taker.facts.list(owner)).map(({ text }) => text)).toEqual([
    "Six beds.",
    "The router is\nwrong by § one hour.",
    "Prefers short answers.",
  ]);
  expect(await store.reads.lane(owner, laneKey.parse("telegram:77:p42:0"))).toBe(
    sessionOf(items, "chat"),
  );
  // Removed here: another import leaves it so.
  const [fact] = await taker.facts.list(owner);
  await taker.facts.remove(owner, { id: fact?.id ?? "" });
  const later = await importInto(taker, path, { secrets: "taken", only: ["memory", "secrets"] });
  expect(later.totals.items).toMatchObject({
    fact: { skipped: 2, known: 4 },
    secret: { taken: 3 },
  });
  expect(taker.secrets.read("anthropic")?.key).toBe("sk-ant-1");
  expect(taker.secrets.read("imported/TELEGRAM_BOT_TOKEN")?.key).toBe("77:abc");
  const coder = await importInto(taker, path, { profile: "coder", only: ["projects", "sessions"] });
  expect(coder.items.find(({ item }) => item === "project")).toMatchObject({ name: "coder" });
  expect(coder.totals).toMatchObject({ differs: 0 });
});
