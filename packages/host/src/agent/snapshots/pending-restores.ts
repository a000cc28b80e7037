import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";

import { eventId, type EventId, ownerId, seq, sessionId } from "@holdfast/protocol";
import { z } from "zod";

import { readTextOrEmpty, withFileLock, writeFileAtomically } from "../../util/atomic-file.ts";

/** A restore that was begun: written before the first file is touched, and deleted when the log has its result. */
const pendingRestore = z.strictObject({
  owner: ownerId,
  session: sessionId,
  /** The event that will say what was done. */
  event: eventId,
  /** The event that changes the conversation, if one has to be in the log first. */
  needs: eventId.nullable(),
  cause: z.enum(["undo", "redo", "switch"]),
  to: seq,
  folder: z.string(),
  /** The wanted changes, in the snapshots of the folder. */
  changes: z.string(),
  kept: z.array(
    z.strictObject({ path: z.string(), reason: z.enum(["changed", "lost", "failed"]) }),
  ),
});
export type PendingRestore = z.infer<typeof pendingRestore>;

export class PendingRestores {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async add(restore: PendingRestore): Promise<void> {
    await writeFileAtomically(this.#fileOf(restore.event), JSON.stringify(restore));
  }

  async remove(event: EventId): Promise<void> {
    await rm(this.#fileOf(event), { force: true });
  }

  /** Runs `work` unless this process or another one on this home is at it. */
  exclusively<T>(event: EventId, work: () => Promise<T>): Promise<T | "busy"> {
    return withFileLock(this.#fileOf(event), work);
  }

  async list(): Promise<readonly PendingRestore[]> {
    const names = await readdir(this.#folder).catch(() => []);
    const found: PendingRestore[] = [];
    for (const name of names.filter((each) => each.endsWith(".json"))) {
      const read = pendingRestore.safeParse(parse(await readTextOrEmpty(join(this.#folder, name))));
      if (read.success) found.push(read.data);
    }
    return found;
  }

  #fileOf(event: EventId): string {
    return join(this.#folder, `${event}.json`);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
