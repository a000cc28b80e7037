import { spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runFsck, type Store } from "@holdfast/engine";
import { ids } from "@holdfast/protocol";
import { openSqliteStore } from "@holdfast/store/sqlite";
import { databases } from "@holdfast/testing/databases/databases";
import { aChatLane, anInput, aUserMessage } from "@holdfast/testing/fixtures/factories";
import { openTestSession, TestSession, textsOf } from "@holdfast/testing/fixtures/open-session";
import { describe, expect, onTestFinished, test } from "vitest";

import {
  branchOf,
  contentsOf,
  fillStore,
  owner,
} from "../../../test/support/full-export/fill-store.ts";
import { runHere } from "../../../test/support/command-rig.ts";
import { lazyAuditKey } from "../audit/audit-key.ts";
import { copyExport, type CopyReport } from "./copy-export.ts";
import { unfinishedCopy } from "./unfinished-copy.ts";
import { writeExport } from "./write-export.ts";

function makeHome(): string {
  const home = mkdtempSync(join(tmpdir(), "holdfast-full-export-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

async function createDatabase(name: string) {
  const factory = databases.find((each) => each.name === name);
  if (factory === undefined) throw new Error(`There is no ${name}.`);
  const database = await factory.create();
  onTestFinished(() => database.drop());
  return database;
}

async function openStore(name: string): Promise<Store> {
  const database = await createDatabase(name);
  const store = await database.open();
  onTestFinished(() => store.close());
  return store;
}

async function exportTo(file: string, store: Store, home: string): Promise<string> {
  const deps = { store, home, key: await lazyAuditKey(home)(), exportedAt: 1, version: "test" };
  let text = "";
  for await (const piece of writeExport(deps)) text += piece;
  writeFileSync(file, text);
  return text;
}

async function copyInto(store: Store, home: string, file: string): Promise<CopyReport> {
  const copied = await copyExport({ store, home, open: () => createReadStream(file) });
  if (copied.status !== "copied") throw new Error(JSON.stringify(copied));
  return copied.report;
}

describe.each([
  ["sqlite", "sqlite"],
  ["sqlite", "postgres"],
  ["postgres", "sqlite"],
  ["postgres", "postgres"],
])("everything of a host on %s, imported into one on %s", (from, to) => {
  test("is equal event by event, and again takes nothing twice", async () => {
    const [home, otherHome] = [makeHome(), makeHome()];
    const source = await openStore(from);
    await fillStore(source, home);
    const file = join(home, "all.jsonl");
    const text = await exportTo(file, source, home);
    expect(text).not.toContain("do-not-export");

    const target = await openStore(to);
    const report = await copyInto(target, otherHome, file);
    expect(report).toMatchObject({ findings: [], damaged: [], keptHere: [], copies: [] });
    const [there, here] = [await contentsOf(source), await contentsOf(target)];
    expect(Object.keys(here).toSorted()).toEqual(Object.keys(there).toSorted());
    for (const [name, value] of Object.entries(there))
      expect([name, here[name]]).toEqual([name, value]);
    expect(await runFsck(target.audit, { now: await target.now() })).toMatchObject({ exitCode: 0 });
    expect(readFileSync(join(otherHome, "skills/tea/SKILL.md"), "utf8")).toBe("# Tea");

    const again = await copyInto(target, otherHome, file);
    expect(again).toMatchObject({ events: 0, sessions: { new: 0, continue: 0, copy: 0 } });
    expect(await contentsOf(target)).toEqual(here);
  });
});

const killedCopy = fileURLToPath(
  new URL("../../../test/support/full-export/copy-main.ts", import.meta.url),
);

async function copyInProcess(args: readonly string[]) {
  const child = spawn(process.execPath, [killedCopy, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.on("data", (chunk) => (said += String(chunk)));
  const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
  return { code, signal, writes: Number(said) };
}

/** Where it is killed, of the writes that are left: the later ones have less to do. */
const instants = {
  sqlite: [1, 2, 9, 16, 7, 4],
  postgres: [4, 15],
} as const;

describe.each(["sqlite", "postgres"] as const)("an import into %s", (name) => {
  test("[P1] goes on after kill -9 at any instant, and ends equal", async () => {
    const [home, otherHome] = [makeHome(), makeHome()];
    const source = await openStore("sqlite");
    await fillStore(source, home);
    const file = join(home, "all.jsonl");
    await exportTo(file, source, home);
    const database = await createDatabase(name);
    const place = [JSON.stringify(database.address), otherHome, file] as const;
    const empty = await database.open();
    await empty.close();
    let kills = 0;
    for (const instant of instants[name]) {
      const { signal } = await copyInProcess([...place, String(instant)]);
      if (signal !== "SIGKILL") break;
      kills += 1;
      const store = await database.open();
      // The first write is the mark itself.
      const isMarked = (await unfinishedCopy(store)) !== null;
      await store.close();
      expect(isMarked).toBe(instant > 1);
    }
    expect(kills).toBe(instants[name].length);
    expect(await copyInProcess([...place, "0"])).toMatchObject({ code: 0 });
    const target = await database.open();
    onTestFinished(() => target.close());
    expect(await unfinishedCopy(target)).toBeNull();
    expect(await contentsOf(target)).toEqual(await contentsOf(source));
  });

  test("gives a session ids of its own if another one here has its id, and overwrites nothing", async () => {
    const [home, otherHome] = [makeHome(), makeHome()];
    const source = await openStore("sqlite");
    const chat = await openTestSession(source, { title: "Both" }, owner);
    const lane = aChatLane();
    const arrived = { inbound: { key: `${lane}:1`, delivery: ids.make("delivery") } };
    await chat.commit([aUserMessage("begun together"), anInput({ lane, ...arrived })]);
    const [before, after] = [join(home, "before.jsonl"), join(home, "after.jsonl")];
    await exportTo(before, source, home);
    const target = await openStore(name);
    await copyInto(target, otherHome, before);
    await source.register.put({ owner, key: "fact/1", value: '"there"', expect: 0 });
    await target.register.put({ owner, key: "fact/1", value: '"here"', expect: 0 });
    await chat.commit([aUserMessage("went on there")]);
    const there = await branchOf(source, chat.session);
    await exportTo(after, source, home);

    // As long as nobody went on here, it is continued.
    const continued = await openStore(name);
    await copyInto(continued, makeHome(), before);
    expect(await copyInto(continued, makeHome(), after)).toMatchObject({
      sessions: { continue: 1, new: 1, copy: 0 },
    });
    const here = chat.through(target);
    await here.commit([aUserMessage("went on here")]);
    const kept = await here.events();
    const { copies, keptHere, findings } = await copyInto(target, otherHome, after);
    expect([copies.map(({ from }) => from), keptHere, findings]).toEqual([
      [chat.session, there],
      ["fact/1"],
      [],
    ]);
    expect(await here.events()).toEqual(kept);
    const [copy, branched] = copies.map(
      ({ to }) => new TestSession(target, { owner, session: to }),
    );
    expect(textsOf((await copy?.entries()) ?? [])).toEqual(["begun together", "went on there"]);
    expect(textsOf((await branched?.entries()) ?? [])).toEqual(["begun together", "went on there"]);
    const again = await copyInto(target, otherHome, after);
    expect([again.copies, again.events]).toEqual([copies, 0]);
  });
});

test("a host moves from SQLite to PostgreSQL and back with the commands of the documentation", async () => {
  const [home, middle, last] = [makeHome(), makeHome(), makeHome()];
  const store = await openSqliteStore({ file: join(home, "holdfast.db") });
  await fillStore(store, home);
  const before = await contentsOf(store);
  await store.close();
  const { address } = await createDatabase("postgres");
  const url = address.kind === "postgres" ? address.url : "";
  const moved = { HOLDFAST_HOME: middle, HOLDFAST_STORE: url, HOLDFAST_MODEL: "rehearsal" };
  const [there, back] = [join(home, "everything.jsonl"), join(middle, "everything.jsonl")];
  const first = { HOLDFAST_HOME: home, HOLDFAST_MODEL: "rehearsal" };
  for (const [args, settings] of [
    [["export", "--all", there], first],
    [["verify", there], {}],
    [["import", there], moved],
    [["fsck"], moved],
    [["export", "--all", back], moved],
    [["import", back, "--home", last], {}],
  ] as const) {
    const { code, told } = await runHere(args, settings);
    // A busy machine sees progress, too.
    const said = told.replaceAll(/^.* …\n/gmu, "");
    expect([args, code, said]).toEqual([args, 0, ""]);
  }
  const returned = await openSqliteStore({ file: join(last, "holdfast.db") });
  onTestFinished(() => returned.close());
  expect(await contentsOf(returned)).toEqual(before);
});
