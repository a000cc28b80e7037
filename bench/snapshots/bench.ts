import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import type { SavedChanges } from "../../packages/host/src/agent/snapshots/file-snapshots.ts";
import { LocalFileSnapshots } from "../../packages/host/src/agent/snapshots/local-snapshots.ts";
import { restoreFiles } from "../../packages/host/src/agent/snapshots/restore-files.ts";
import { planRestore } from "../../packages/host/src/agent/snapshots/restore-plan.ts";
import { Jail } from "../../packages/host/src/agent/workspace/jail.ts";
import { findProgram } from "../../packages/host/src/sandbox/find-program.ts";
import { type Line, lineOf, ours } from "../harness/figures.ts";
import { LoopDelay } from "../harness/interleave.ts";
import { Samples } from "../harness/samples.ts";
import { makeScratch } from "../harness/scratch.ts";
import { size, type SizesOf } from "../harness/sizes.ts";

export const sizeTable = {
  files: size(50_000, 300),
  touched: size(50, 5),
  rounds: size(15, 2),
};

const filesPerFolder = 100;
const mostMs = 300;
const signal = new AbortController().signal;
const runFile = promisify(execFile);

/** One round is a turn: a save before a command, fifty files touched, the save after it, and the undo. */
export async function measureSnapshots(
  sizes: SizesOf<typeof sizeTable>,
): Promise<{ readonly lines: readonly Line[]; readonly notes: readonly string[] }> {
  const scratch = makeScratch("snapshots");
  const folder = join(scratch, "repository");
  const program = findProgram("git");
  if (program === null) throw new Error("This benchmark needs git.");
  const git = (...args: readonly string[]) =>
    runFile(program, ["-C", folder, ...args], { maxBuffer: 64 * 1024 * 1024 });
  await makeRepository(folder, sizes.files, git);

  const snapshots = new LocalFileSnapshots({ folder: join(scratch, "snapshots"), git: program });
  const times = {
    first: new Samples(),
    before: new Samples(),
    unchanged: new Samples(),
    after: new Samples(),
    undo: new Samples(),
    status: new Samples(),
    diffFiles: new Samples(),
    untracked: new Samples(),
  };
  const loop = new LoopDelay();
  const timed = async <T>(samples: Samples, work: () => Promise<T>): Promise<T> => {
    const startedAt = performance.now();
    const result = await work();
    samples.add(performance.now() - startedAt);
    return result;
  };
  loop.start();
  await timed(times.first, () => snapshots.take(folder, signal));
  loop.stop();
  const jail = await openJail(folder);
  for (let round = 0; round < sizes.rounds; round += 1) {
    await timed(times.status, () => git("status", "--porcelain", "-z"));
    await timed(times.diffFiles, () => git("diff-files", "--name-only", "-z"));
    await timed(times.untracked, () => git("ls-files", "-z", "--others", "--exclude-standard"));
    loop.start();
    await timed(times.before, () => snapshots.take(folder, signal));
    await snapshots.take(folder, signal);
    const before = await timed(times.unchanged, () => snapshots.take(folder, signal));
    loop.stop();
    for (let at = 0; at < sizes.touched; at += 1)
      await writeFile(pathOf(folder, at * 7), textOf(`round ${round}, file ${at}`));
    loop.start();
    const saved = await timed(times.after, () => snapshots.changesSince(folder, before, signal));
    if (saved.changes.length !== sizes.touched)
      throw new Error(`${saved.changes.length} changes were found.`);
    const kept = await timed(times.undo, () => undo(snapshots, jail, saved));
    loop.stop();
    if (kept > 0) throw new Error(`${kept} files were not put back.`);
  }
  await rm(folder, { recursive: true });
  const params = { files: sizes.files, touched: sizes.touched };
  const floor = (what: string, samples: Samples) => lineOf(what, samples.p50, "ms", { params });
  return {
    lines: [
      lineOf("save before a command, p50", times.before.p50, "ms", { params, below: mostMs }),
      lineOf("save if nothing changed, p50", times.unchanged.p50, "ms", { params, below: mostMs }),
      lineOf("save after it, p50", times.after.p50, "ms", { params, below: mostMs }),
      lineOf("undo, p50", times.undo.p50, "ms", { params, below: mostMs }),
      lineOf("save before a command, max", times.before.max, "ms", { params }),
      lineOf("save after it, max", times.after.max, "ms", { params }),
      lineOf("the very first save", times.first.max, "ms", { params }),
      lineOf("event loop held, longest", loop.percentile(100), "ms", { params }),
      floor("git status alone, p50", times.status),
      floor("git diff-files alone, p50", times.diffFiles),
      floor("git ls-files --others alone, p50", times.untracked),
    ],
    notes: [`${ours} saves with two git scans at the same time, and writes a tree.`],
  };
}

/** Puts the files back as an undo does, and returns how many were left. */
async function undo(
  snapshots: LocalFileSnapshots,
  jail: Jail,
  { changes }: SavedChanges,
): Promise<number> {
  const workspace = snapshots.workspaceOf(jail.root);
  const list = await snapshots.put(workspace, Buffer.from(JSON.stringify(changes)));
  const saved = { workspace, changes: list, count: changes.length };
  const plan = await planRestore(snapshots, jail, {
    changes: [{ step: 0, saved }],
    missing: new Set(),
    notSaved: [],
    effects: [],
  });
  const wanted = plan.files.flatMap(({ path, first, current }) =>
    current === "unreadable" ? [] : [{ path, before: current, after: first }],
  );
  const { kept } = await restoreFiles(snapshots, jail, wanted);
  return kept.length;
}

async function openJail(folder: string): Promise<Jail> {
  const jail = await Jail.open(folder);
  if (!jail.ok) throw new Error(jail.refusal.message);
  return jail.value;
}

async function makeRepository(
  folder: string,
  files: number,
  git: (...args: readonly string[]) => Promise<unknown>,
): Promise<void> {
  for (let at = 0; at < files; at += filesPerFolder) {
    await mkdir(join(pathOf(folder, at), ".."), { recursive: true });
    const last = Math.min(files, at + filesPerFolder);
    const numbers = Array.from({ length: last - at }, (_, index) => at + index);
    await Promise.all(
      numbers.map((file) => writeFile(pathOf(folder, file), textOf(`file ${file}`))),
    );
  }
  const identity = ["-c", "user.name=Bench", "-c", "user.email=bench@example.org"];
  await git("init", "-q", ".");
  await git("add", "-A");
  await git(...identity, "-c", "gc.auto=0", "commit", "-q", "-m", "Begin");
  // The disk is still busy with these files.
  await runFile("sync");
}

function pathOf(folder: string, file: number): string {
  const group = Math.floor(file / filesPerFolder);
  return join(folder, `area-${group % 20}`, `part-${group}`, `file-${file}.txt`);
}

/** About two kilobytes, like a short source file. */
function textOf(name: string): string {
  return Array.from({ length: 40 }, (_, line) => `${name}, line ${line} of a plain text`).join(
    "\n",
  );
}
