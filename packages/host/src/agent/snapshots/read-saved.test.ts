import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";

import { Jail, type OpenFile } from "../workspace/jail.ts";
import { readWhole } from "./read-saved.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-read-saved-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "a.log"), "one\n");
});

/** A folder in which somebody writes to each file between the look at its size and the end of its content. */
async function openBusy(writes: number): Promise<Jail> {
  const opened = await Jail.open(folder);
  if (!opened.ok) throw new Error(opened.refusal.message);
  const jail = opened.value;
  let left = writes;
  const during = ({ handle, ...file }: OpenFile): OpenFile => {
    const read = (...args: Parameters<FileHandle["read"]>) => {
      if (left > 0) {
        left -= 1;
        appendFileSync(join(folder, file.path), "more\n");
      }
      return handle.read(...args);
    };
    const busy = { stat: () => handle.stat(), read } as unknown as FileHandle;
    return { ...file, handle: busy };
  };
  const read: Jail["read"] = (path, use) => jail.read(path, (file) => use(during(file)));
  return new Proxy(jail, {
    get: (target, name): unknown => (name === "read" ? read : Reflect.get(target, name, target)),
  });
}

test("a file that changed while it was read is read again, and is whole", async () => {
  const read = await readWhole(await openBusy(1), "a.log");
  expect(read.kind === "file" && Buffer.from(read.content).toString()).toBe("one\nmore\n");
});

test("a file that keeps changing is named and not saved half", async () => {
  const read = await readWhole(await openBusy(100), "a.log");
  expect(read).toEqual({ kind: "refused", reason: "changing" });
});
