import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { type Clock, systemClock } from "@holdfast/engine";
import { readTextOrEmpty, withFileLock, writeFileAtomically } from "../util/atomic-file.ts";

const pollMs = 100;

/** The id of a home, kept in it: it tells the files and processes of this home from those of others. */
export function openHomeId(home: string, clock: Clock = systemClock): () => Promise<string> {
  let id: Promise<string> | undefined;
  return () => {
    id ??= readOrCreate(join(home, "processes", "place"), clock).catch((error: unknown) => {
      // The disk may be writable again later.
      id = undefined;
      throw error;
    });
    return id;
  };
}

/** Several hosts may start on one home: the first one creates its id. */
async function readOrCreate(file: string, clock: Clock): Promise<string> {
  for (;;) {
    const existing = await readTextOrEmpty(file);
    if (existing !== "") return existing;
    const created = await withFileLock(file, async () => {
      const current = await readTextOrEmpty(file);
      if (current !== "") return current;
      const name = randomUUID();
      await writeFileAtomically(file, name);
      return name;
    });
    if (created !== "busy") return created;
    await clock.sleep(pollMs);
  }
}
