import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import { openSavedFolder } from "../../packages/host/test/support/saved-folder.ts";
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
const runFile = promisify(execFile);

/** One round is a turn: a save before a command, fifty files touched, the save after it, and the undo. */
export async function measureSnapshots(
  sizes: SizesOf<typeof sizeTable>,
): Promise<{ readonly lines: readonly Line[]; readonly notes: readonly string[] }> {
  const scratch = makeScratch("snapshots");
  const folder = join(scratch, "repository");
  await mkdir(folder);
  const saved = await openSavedFolder(folder, join(scratch, "snapshots"));
  const git = (...args: readonly string[]) =>
    runFile(saved.git, ["-C", folder, ...args], { maxBuffer: 64 * 1024 * 1024 });
  await makeRepository(folder, sizes.files, git);
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
  await timed(times.first, saved.save);
  loop.stop();
  for (let round = 0; round < sizes.rounds; round += 1) {
    await timed(times.status, () => git("status", "--porcelain", "-z"));
    await timed(times.diffFiles, () => git("diff-files", "--name-only", "-z"));
    await timed(times.untracked, () => git("ls-files", "-z", "--others", "--exclude-standard"));
    loop.start();
    await timed(times.before, saved.save);
    await saved.save();
    const before = await timed(times.unchanged, saved.save);
    loop.stop();
    for (let at = 0; at < sizes.touched; at += 1)
      await writeFile(pathOf(folder, at * 7), textOf(`round ${round}, file ${at}`));
    loop.start();
    const { saveMs, undoMs } = await saved.saveAndUndo(before, sizes.touched);
    loop.stop();
    times.after.add(saveMs);
    times.undo.add(undoMs);
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
