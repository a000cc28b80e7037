import { similarNames } from "@holdfast/client";
import { type BlobObjects, StoreFailure } from "@holdfast/engine";
import type { MoveProgress } from "../../object-storage/move-blobs.ts";
import { type ObjectStorage, ObjectStorageError } from "../../object-storage/object-storage.ts";
import { openStore } from "../../open-store.ts";
import { readConfig } from "../../ops/config/read-config.ts";
import { type Command, exit, type Terminal } from "../command.ts";
import { cleanLine } from "../screen/text.ts";
import { blobsStrings as texts } from "../strings/data.ts";
import { programStrings } from "../strings/program.ts";

const progressMs = 2_000;

/** Where blobs are, and moving them. It works on the store itself, also beside hosts that run. */
export const blobs: Command = {
  usage: ["blobs", "blobs move objects|database", "blobs clean"],
  about: texts.about,
  examples: [
    ["holdfast blobs", texts.examples.list],
    ["holdfast blobs move objects", texts.examples.move],
    ["holdfast blobs clean", texts.examples.clean],
  ],
  settings: "none",
  async run(given, terminal) {
    const [action = "list", to] = given.words;
    const known = ["list", "move", "clean"];
    if (!known.includes(action)) {
      const similar = similarNames(action, known);
      terminal.printError(programStrings.unknownAction("blobs", cleanLine(action), similar, known));
      return exit.misuse;
    }
    if (action === "move" && to !== "objects" && to !== "database") {
      terminal.printError(texts.whereTo);
      return exit.misuse;
    }
    const fail = (sentence: string): number => {
      terminal.printError(cleanLine(sentence));
      return exit.failed;
    };
    const config = readConfig({ ...terminal, flags: given.flags });
    if (!config.ok) return fail(config.failure.message);
    if (config.value.url.value !== undefined) return fail(texts.notThroughUrl);
    const opened = await openStore(config.value, (bug) => terminal.printError(bug.message));
    if (!opened.ok) return fail(opened.failure.message);
    const { store, objects: storage } = opened.value;
    const { blobObjects: objects } = store;
    try {
      if (objects === undefined) return fail(texts.notConfigured);
      if (action === "list") return await list(objects, terminal);
      if (storage === undefined) return fail(texts.notConfigured);
      return action === "clean"
        ? await clean(objects, storage, terminal)
        : await move(objects, storage, to === "objects" ? "objects" : "rows", terminal);
    } catch (error) {
      if (error instanceof StoreFailure)
        return fail(texts.stopped(`${error.message} [${error.code}]`));
      if (error instanceof ObjectStorageError) return fail(texts.stopped(error.message));
      throw error;
    } finally {
      await store.close();
    }
  },
};

async function list(objects: BlobObjects, terminal: Terminal): Promise<number> {
  const totals = await objects.totals();
  terminal.print(texts.inDatabase(totals.rows.count, totals.rows.bytes));
  terminal.print(texts.inObjects(totals.objects.count, totals.objects.bytes));
  if (totals.pending > 0) terminal.print(texts.pending(totals.pending));
  return exit.done;
}

async function move(
  objects: BlobObjects,
  storage: ObjectStorage,
  to: "objects" | "rows",
  terminal: Terminal,
): Promise<number> {
  const { moveBlobs } = await import("../../object-storage/move-blobs.ts");
  let shownAt = Date.now();
  const onProgress = ({ blobs: moved, bytes }: MoveProgress): void => {
    if (Date.now() - shownAt < progressMs) return;
    shownAt = Date.now();
    terminal.printError(texts.progress(moved, bytes));
  };
  const report = await moveBlobs(objects, storage, { to, onProgress });
  for (const { id, failure } of report.unreadable)
    terminal.printError(cleanLine(texts.unreadable(id, failure.message, failure.advice)));
  terminal.print(texts.moved(report.blobs, report.bytes));
  return report.unreadable.length === 0 ? exit.done : exit.failed;
}

async function clean(
  objects: BlobObjects,
  storage: ObjectStorage,
  terminal: Terminal,
): Promise<number> {
  const { deleteGarbage, deleteUnrecorded } =
    await import("../../object-storage/delete-garbage.ts");
  const garbage = await deleteGarbage(objects, storage);
  if (!garbage.ok) throw new ObjectStorageError(garbage.failure);
  const unrecorded = await deleteUnrecorded(objects, storage, Date.now());
  if (!unrecorded.ok) throw new ObjectStorageError(unrecorded.failure);
  terminal.print(texts.cleaned(garbage.value, unrecorded.value.deleted, unrecorded.value.seen));
  return exit.done;
}
