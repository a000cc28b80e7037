import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createLog, type Log, type ToolResult, undo } from "@holdfast/engine";
import { ids, type Json, type Seq } from "@holdfast/protocol";
import { databases } from "@holdfast/testing/databases/databases";
import {
  aHolder,
  anEvent,
  aRunId,
  aSettledMessage,
  aUserMessage,
} from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { describe, expect, onTestFinished, test, vi } from "vitest";

import { unconfined } from "../../../test/support/open-confinement.ts";
import { findProgram } from "../../sandbox/find-program.ts";
import { createBuiltInTools } from "../toolset.ts";
import { Jail } from "../workspace/jail.ts";
import { openWorkspaces } from "../workspace/workspaces.ts";
import type { FileSnapshots } from "./file-snapshots.ts";
import { FileUndo } from "./file-undo.ts";
import { LocalFileSnapshots } from "./local-snapshots.ts";
import { restoreFiles } from "./restore-files.ts";
import { createSnapshotKeeper } from "./snapshot-keeper.ts";

type Call = readonly [name: string, input: Json];

describe.each(databases)("undo of files on $name", (factory) => {
  async function open({ git = findProgram("git") } = {}) {
    const database = await factory.create();
    onTestFinished(() => database.drop());
    const store = await database.open();
    onTestFinished(() => store.close());
    const home = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-undo-")));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    const workspaces = openWorkspaces({ home, roots: [] }, store);
    const session = await openTestSession(store);
    const folder = await workspaces.folderFor(session);
    const log = createLog(store);
    const snapshots = new LocalFileSnapshots({ folder: join(home, "snapshots"), git });
    const pending = join(home, "snapshots", "restoring");
    const openUndo = (saved: FileSnapshots = snapshots, into: Log = log): FileUndo =>
      new FileUndo({
        log: into,
        holder: () => aHolder(),
        snapshots: saved,
        workspaces,
        folder: pending,
      });
    const tools = createBuiltInTools({
      home,
      store,
      workspaces,
      snapshots,
      egressAllow: [],
      environment: process.env,
      confinement: unconfined,
    });

    /** Runs a call as a run does, and records it. */
    async function call([name, input]: Call, during?: () => void): Promise<ToolResult> {
      const [runId, callId] = [aRunId(), ids.make("call")];
      const tool = tools.get(name)!;
      const { owner, session: id } = session;
      const asked = { owner, session: id, runId, callId, input };
      const { signal } = new AbortController();
      const snapshot = await tool.snapshot?.(asked, signal);
      const named = { callId, resultId: ids.make("message"), name };
      await session.commit([anEvent("tool.started", { ...named, input, replay: "never" }, runId)]);
      during?.();
      const taken = snapshot === undefined ? asked : { ...asked, snapshot };
      const result = await tool.run(taken, { signal, write: () => {} });
      const { outcome, output, details } = result;
      const part = { type: "tool_result" as const, callId, name, outcome, output };
      const parts = [{ ...part, ...(details && { details }) }];
      await session.commit([
        aSettledMessage(runId, "Calls."),
        anEvent("message.tool", { messageId: named.resultId, parts }, runId),
      ]);
      return result;
    }

    async function turn(...calls: readonly Call[]): Promise<Seq> {
      const { first } = await session.commit([aUserMessage("Do it.")]);
      for (const each of calls) await call(each);
      return first;
    }

    const put = (path: string, text: string): void => writeFileSync(join(folder, path), text);
    const read = (path: string): string | null =>
      existsSync(join(folder, path)) ? readFileSync(join(folder, path), "utf8") : null;
    const restore = (to: Seq, cause: "undo" | "redo" = "undo", fileUndo = openUndo()) =>
      fileUndo.restore(session, { to, cause, ids });
    const fileUndo = openUndo();
    return {
      store,
      log,
      session,
      folder,
      pending,
      snapshots,
      fileUndo,
      openUndo,
      turn,
      call,
      put,
      read,
      restore,
    };
  }

  const write = (path: string, content: string): Call => ["write_file", { path, content }];
  const edit = (path: string, old: string, fresh: string): Call => [
    "edit_file",
    { path, old, new: fresh },
  ];
  const shell = (command: string): Call => ["terminal", { command }];

  test("what edits and commands did is put back, with what can be run, and the undo can be reverted", async () => {
    const rig = await open();
    rig.put("a.txt", "one\n");
    rig.put("tool.sh", "echo one\n");
    chmodSync(join(rig.folder, "tool.sh"), 0o755);
    const start = await rig.turn(
      edit("a.txt", "one", "two"),
      write("made/b.txt", "new\n"),
      shell("rm tool.sh; echo three > a.txt; echo by-command > c.txt"),
    );
    expect(await rig.restore(start)).toMatchObject({
      status: "restored",
      files: { count: 4, kept: [] },
    });
    expect(["a.txt", "made/b.txt", "c.txt", "tool.sh"].map(rig.read)).toEqual([
      "one\n",
      null,
      null,
      "echo one\n",
    ]);
    expect(statSync(join(rig.folder, "tool.sh")).mode & 0o111).toBe(0o111);

    const before = await rig.fileUndo.lastRestore(rig.session);
    expect(before).not.toBeNull();
    expect(await rig.restore(before!, "redo")).toMatchObject({ files: { count: 4 } });
    expect(["a.txt", "made/b.txt", "c.txt", "tool.sh"].map(rig.read)).toEqual([
      "three\n",
      "new\n",
      "by-command\n",
      null,
    ]);
    expect(await rig.fileUndo.lastRestore(rig.session)).toBeNull();

    const made = await rig.turn(shell("chmod +x a.txt"));
    expect(await rig.restore(made)).toMatchObject({ files: { count: 1, restored: ["a.txt"] } });
    expect(statSync(join(rig.folder, "a.txt")).mode & 0o111).toBe(0);
    // What was undone before something was said stays undone.
    await rig.turn();
    expect(await rig.fileUndo.lastRestore(rig.session)).toBeNull();
  });

  test("nothing is put back while a run goes on, after another event, or for a file that changes meanwhile", async () => {
    const rig = await open();
    for (const name of ["a", "b"]) rig.put(`${name}.txt`, "one\n");
    const to = await rig.turn(edit("a.txt", "one", "two"), edit("b.txt", "one", "two"));
    const refused = (code: string) => ({ status: "refused", code });
    const asked = { to, cause: "undo" as const, ids, expectedHead: to };
    expect(await rig.fileUndo.restore(rig.session, asked)).toMatchObject(refused("head_moved"));
    expect([rig.read("a.txt"), rig.read("b.txt")]).toEqual(["two\n", "two\n"]);

    // Somebody saves the file after it was compared, and before it is written.
    const jail = await Jail.open(rig.folder);
    if (!jail.ok) throw new Error(jail.refusal.message);
    const state = async (text: string) => {
      const workspace = rig.snapshots.workspaceOf(rig.folder);
      return { id: await rig.snapshots.put(workspace, Buffer.from(text)), mode: 0o644 };
    };
    const [one, two] = [await state("one\n"), await state("two\n")];
    rig.put("b.txt", "mine\n");
    const wanted = ["a.txt", "b.txt"].map((path) => ({ path, before: two, after: one }));
    expect(await restoreFiles(rig.snapshots, jail.value, wanted)).toMatchObject({
      changes: [{ path: "a.txt" }],
      kept: [{ path: "b.txt", reason: "changed" }],
    });
    expect([rig.read("a.txt"), rig.read("b.txt")]).toEqual(["one\n", "mine\n"]);

    await rig.session.startRun();
    expect(await rig.restore(to)).toMatchObject(refused("run_live"));
    expect([rig.read("a.txt"), rig.read("b.txt")]).toEqual(["one\n", "mine\n"]);
  });

  test("a file is put back where a folder of new files stands in its place", async () => {
    const rig = await open();
    rig.put("notes", "one\n");
    const start = await rig.turn(
      shell("rm notes && mkdir -p notes/deep && echo two > notes/deep/a.txt"),
    );
    expect(await rig.restore(start)).toMatchObject({ files: { count: 2, kept: [] } });
    expect(rig.read("notes")).toBe("one\n");
  });

  test("a file that a person changed since or in between is left and named, and the others are put back", async () => {
    const rig = await open();
    for (const name of ["a", "b", "c"]) rig.put(`${name}.txt`, "one\n");
    const start = await rig.turn(
      edit("a.txt", "one", "two"),
      edit("b.txt", "one", "two"),
      edit("c.txt", "one", "two"),
    );
    rig.put("b.txt", "two, by a person\n");
    await rig.call(edit("b.txt", "person", "person, and on"));
    rig.put("a.txt", "mine\n");
    const { files } = (await rig.fileUndo.changes(rig.session, { from: start }))!;
    expect(files.map(({ path, undo: state }) => [path, state])).toEqual([
      ["a.txt", "changed"],
      ["b.txt", "changed"],
      ["c.txt", "restore"],
    ]);
    expect(await rig.restore(start)).toMatchObject({
      files: {
        restored: ["c.txt"],
        kept: [
          { path: "a.txt", reason: "changed" },
          { path: "b.txt", reason: "changed" },
        ],
      },
    });
    expect(["a.txt", "b.txt", "c.txt"].map(rig.read)).toEqual([
      "mine\n",
      "two, by a person, and on\n",
      "one\n",
    ]);
  });

  test("a restore that was killed half way is finished by the next start, once, and the log says so", async () => {
    const rig = await open();
    for (const name of ["a", "b"]) rig.put(`${name}.txt`, "one\n");
    const start = await rig.turn(edit("a.txt", "one", "two"), edit("b.txt", "one", "two"));
    const { snapshots } = rig;
    // Two for the plan, one for each file that is put back.
    let reads = 0;
    const dying: FileSnapshots = {
      workspaceOf: (folder) => snapshots.workspaceOf(folder),
      idOf: (content) => snapshots.idOf(content),
      put: (workspace, content) => snapshots.put(workspace, content),
      take: (folder, signal) => snapshots.take(folder, signal),
      keepFor: (workspace, session) => snapshots.keepFor(workspace, session),
      prune: (exists) => snapshots.prune(exists),
      changesSince: (folder, name, signal) => snapshots.changesSince(folder, name, signal),
      async get(workspace, id) {
        const content = await snapshots.get(workspace, id);
        const isOld = content !== null && Buffer.from(content).toString() === "one\n";
        if (isOld && (reads += 1) === 4) throw new Error("killed");
        return content;
      },
    };
    await expect(rig.restore(start, "undo", rig.openUndo(dying))).rejects.toThrow("killed");
    expect(new Set(["a.txt", "b.txt"].map(rig.read))).toEqual(new Set(["one\n", "two\n"]));

    await rig.openUndo().finishPending();
    await rig.openUndo().finishPending();
    expect(["a.txt", "b.txt"].map(rig.read)).toEqual(["one\n", "one\n"]);
    const notices = (await rig.session.entries()).filter(({ type }) => type === "notice.added");
    expect(notices.map(({ data }) => data["text"])).toEqual([
      "2 files were restored: a.txt, b.txt.",
    ]);
  });

  test("a restore of a killed host is finished although its lock is still there at the next start", async () => {
    const rig = await open();
    rig.put("a.txt", "one\n");
    const start = await rig.turn(edit("a.txt", "one", "two"));
    const { snapshots, store } = rig;
    const lost = { ...rig.log, commit: () => Promise.reject(new Error("killed")) };
    await expect(rig.restore(start, "undo", rig.openUndo(snapshots, lost))).rejects.toThrow(
      "killed",
    );
    const [pending = ""] = readdirSync(rig.pending);
    const lock = join(rig.pending, `${pending}.lock`);
    mkdirSync(lock);

    const fileUndo = rig.openUndo();
    const tries: string[] = [];
    const finishPending = async () => {
      const state = await fileUndo.finishPending();
      tries.push(state);
      if (state === "busy") rmdirSync(lock);
      return state;
    };
    const report = (bug: Error): never => {
      throw bug;
    };
    const keeper = createSnapshotKeeper({
      fileUndo: { finishPending },
      snapshots,
      store,
      report,
      retryMs: 1,
    });
    keeper.start();
    await vi.waitUntil(() => tries.length === 2, { timeout: 30_000 });
    await keeper.stop();
    expect(tries).toEqual(["busy", "done"]);
    expect(readdirSync(rig.pending)).toEqual([]);
    const notices = (await rig.session.entries()).filter(({ type }) => type === "notice.added");
    expect(notices).toHaveLength(1);
  });

  test("files stay if the undo of the conversation is refused, and both go together", async () => {
    const rig = await open();
    rig.put("a.txt", "one\n");
    const to = await rig.turn(edit("a.txt", "one", "two"));
    const event = ids.make("event");
    const both = (change: () => ReturnType<typeof undo>) =>
      rig.fileUndo.restore(rig.session, {
        to,
        cause: "undo",
        ids,
        conversation: { event, change },
      });
    const refusal = { status: "refused", code: "head_moved", message: "Moved." } as const;
    expect(await both(async () => refusal)).toEqual(refusal);
    expect(rig.read("a.txt")).toBe("two\n");
    await rig.openUndo().finishPending();
    expect(rig.read("a.txt")).toBe("two\n");

    const target = { owner: rig.session.owner, session: rig.session.session, command: event };
    const done = await both(() => undo({ log: rig.log, ids }, target));
    expect(done).toMatchObject({ status: "restored", files: { count: 1 } });
    expect(rig.read("a.txt")).toBe("one\n");
    expect((await rig.session.row()).messageCount).toBe(0);
  });

  test("without git edits are undone, and that commands were not saved is said", async () => {
    const none: string | null = null;
    const rig = await open({ git: none });
    rig.put("a.txt", "one\n");
    const start = await rig.turn(edit("a.txt", "one", "two"), shell("echo x > b.txt"));
    expect(await rig.fileUndo.changes(rig.session, { from: start })).toMatchObject({
      files: [{ path: "a.txt", change: "changed", diff: "@@ -1,1 +1,1 @@\n-one\n+two" }],
      missing: ["no_git"],
    });
    await rig.restore(start);
    expect([rig.read("a.txt"), rig.read("b.txt")]).toEqual(["one\n", "x\n"]);
  });

  test("what cannot be taken back is named from the log", async () => {
    const rig = await open();
    const start = await rig.turn(["remember", { fact: "Herons are grey." }], shell("true"));
    const named = { callId: ids.make("call"), name: "activate_skill" };
    const asked = { ...named, resultId: ids.make("message"), input: { name: "deploy" } };
    const parts = [{ ...named, type: "tool_result" as const, outcome: "ok" as const, output: "" }];
    const runId = aRunId();
    await rig.session.commit([
      anEvent("tool.started", { ...asked, replay: "safe" }, runId),
      aSettledMessage(runId, "Calls."),
      anEvent("message.tool", { messageId: asked.resultId, parts }, runId),
    ]);
    const view = await rig.fileUndo.changes(rig.session, { from: start });
    expect(view).toMatchObject({ effects: [{ kind: "remembered", tool: "remember" }] });
  });
});
