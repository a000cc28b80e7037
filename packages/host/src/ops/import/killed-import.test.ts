import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLog, listAlternatives, runFsck, switchAlternative } from "@holdfast/engine";
import { ids, sessionId } from "@holdfast/protocol";
import { openSqliteStore } from "@holdfast/store/sqlite";
import { expect, onTestFinished, test, vi } from "vitest";

import { openProjectFiles } from "../../agent/instructions/project-files.ts";
import { openProjectStore } from "../../agent/instructions/project-store.ts";
import { claudeProject } from "../../../test/support/exports/claude.ts";
import {
  chatGptConversation,
  everyKindOfMessage,
  said,
} from "../../../test/support/exports/chatgpt.ts";
import { shownLines } from "../../../test/support/exports/shown.ts";
import { importInto, openTaker, owner } from "../../../test/support/hermes/import-into.ts";

const killedImport = fileURLToPath(
  new URL("../../../test/support/hermes/killed-import-main.ts", import.meta.url),
);

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-import-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test("an import of versions that is killed again and again is whole in the end", async () => {
  const home = makeFolder();
  // Several commits long.
  const [lastTurn, long] = [30, "sea ".repeat(22_000)];
  const nodes = [said("u0", null, "user", "0"), said("a0", "u0", "assistant", "0")];
  for (let turn = 1; turn <= lastTurn; turn += 1) {
    const before = `a${turn - 1}`;
    for (const version of ["", "b"])
      nodes.push(
        said(`u${turn}${version}`, before, "user", `${turn}${version}`),
        said(`a${turn}${version}`, `u${turn}${version}`, "assistant", `${turn}${version} ${long}`),
      );
  }
  const talk = chatGptConversation("long", [...nodes, said("end", "a3b", "user", "end")]);
  const path = makeFolder();
  const exported = JSON.stringify([talk, everyKindOfMessage()]);
  writeFileSync(join(path, "conversations.json"), exported);
  // Before a write, and after one; each process gets further than the one before.
  for (let write = 1; ; write = Math.ceil(write * 2.5)) {
    const argv = [killedImport, home, path, String(write), "chatgpt"];
    const child = spawn(process.execPath, argv, { stdio: "inherit" });
    await once(child, "close");
    if (child.signalCode === "SIGKILL") continue;
    expect(child.exitCode).toBe(0);
    break;
  }
  const store = await openSqliteStore({ file: join(home, "holdfast.db") });
  onTestFinished(() => store.close());
  const { items, totals } = await importInto(await openTaker(home, store), path, {
    source: "chatgpt",
  });
  expect(totals).toMatchObject({ differs: 0, items: { session: { known: 2 } } });
  expect(await runFsck(store.audit, { now: await store.now() })).toMatchObject({ exitCode: 0 });
  const session = items.find(({ ids: known }) => known?.includes("long"))?.session;
  const shown = async () =>
    (await shownLines(store, owner, session)).flatMap(
      (line) => /^user: (.*)/.exec(line)?.[1] ?? [],
    );
  expect(await shown()).toEqual(["0", "1", "2", "3b", "end"]);
  const turns = (await listAlternatives(store.reads, owner, sessionId.parse(session))) ?? [];
  expect(turns.map((turn) => turn.map(({ text }) => text))).toEqual([
    ["1", "1b"],
    ["2", "2b"],
    ["3", "3b"],
  ]);
  // The other version of the third turn, with everything that followed it.
  const deps = { log: createLog(store), ids };
  const target = { owner, session: sessionId.parse(session) };
  await switchAlternative(deps, target, turns[2]?.[0]?.messageId ?? ids.make("message"));
  const following = Array.from({ length: lastTurn }, (_, turn) => `${turn}`);
  expect(await shown()).toEqual([...following, `${lastTurn}b`]);
});

test("a project gets the files that an import had no time to give it, and is then known", async () => {
  const [home, path] = [makeFolder(), makeFolder()];
  writeFileSync(join(path, "conversations.json"), "[]");
  writeFileSync(join(path, "projects.json"), JSON.stringify([claudeProject]));
  const store = await openSqliteStore({ file: join(home, "holdfast.db") });
  onTestFinished(() => store.close());
  const taker = await openTaker(home, store);
  const take = () => importInto(taker, path, { source: "claude", where: "here" });
  const failure = { status: "failed", code: "store_full", message: "The disk is full." } as const;
  vi.spyOn(store, "putBlob").mockResolvedValueOnce(failure);
  await expect(take()).rejects.toThrow(failure.message);
  const outcomes = [];
  for (let time = 0; time < 2; time += 1) outcomes.push((await take()).totals.items["project"]);
  expect(outcomes).toEqual([{ taken: 1 }, { known: 1 }]);
  const [project] = await openProjectStore(store.register).list(owner);
  const files = await openProjectFiles(store).list(owner, project?.id ?? "");
  expect(files.map(({ name }) => name)).toContain("knots.md");
});
