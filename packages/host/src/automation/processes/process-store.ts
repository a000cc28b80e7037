import type { Register } from "@holdfast/engine";
import {
  laneKey,
  type OwnerId,
  type ProcessId,
  processId,
  runId,
  type SessionId,
  sessionId,
} from "@holdfast/protocol";
import { holderSchema } from "@holdfast/store/identity";
import { z } from "zod";

import { processEnd } from "./process-folder.ts";

const processRow = z.object({
  id: processId,
  session: sessionId,
  runId,
  /** Where the message of its run came from, if its answers are delivered there. */
  lane: laneKey.nullable(),
  /** The home whose folder has its files, and the machine that this was on. */
  place: z.string(),
  host: z.string(),
  /** Who started it. */
  by: holderSchema,
  shown: z.string(),
  startedAt: z.int(),
  timeLimitMs: z.int(),
  /** Why it is to end, where somebody wants that. */
  stop: z.enum(["asked", "session"]).nullable(),
  end: processEnd.nullable(),
  endedAt: z.int().nullable(),
  /** How its end is told, decided with it. */
  tells: z.enum(["turn", "notice"]).optional(),
  /** What became of the word about its end: `accepted`, `silent`, or why it was refused. */
  told: z.string().nullable(),
});
export type ProcessRecord = z.infer<typeof processRow>;

export interface StoredProcess {
  readonly owner: OwnerId;
  readonly process: ProcessRecord;
  readonly revision: number;
  readonly key: string;
}

const registerPrefix = "process/";
/** A row of the register each. One that has ended leaves its place to another when all are taken. */
const maxProcesses = 200;
const maxTries = 20;

/** The background processes of all hosts on the store, in its register. */
export class ProcessStore {
  readonly #register: Register;

  constructor(register: Register) {
    this.#register = register;
  }

  /** The oldest first. */
  async list(owner: OwnerId): Promise<readonly StoredProcess[]> {
    const rows = await this.#register.list(owner, registerPrefix, maxProcesses);
    return rows
      .flatMap(({ key, value, revision }) => {
        const process = decodeProcess(value);
        return process === null ? [] : [{ owner, process, revision, key }];
      })
      .toSorted((a, b) => a.process.startedAt - b.process.startedAt);
  }

  async find(
    owner: OwnerId,
    session: SessionId | null,
    id: ProcessId,
  ): Promise<StoredProcess | null> {
    const all = await this.list(owner);
    const found = all.find(({ process }) => process.id === id);
    const isTheirs = session === null || found?.process.session === session;
    return found !== undefined && isTheirs ? found : null;
  }

  /** With whom it was that had its place before. `full`: there is none for it, or the store does not take it now. */
  async add(
    owner: OwnerId,
    process: ProcessRecord,
  ): Promise<
    { readonly status: "added"; readonly before: ProcessRecord | null } | { status: "full" }
  > {
    for (let tries = 0; tries < maxTries; tries += 1) {
      const rows = await this.#register.list(owner, registerPrefix, maxProcesses);
      const place = findFreeSlot(rows);
      if (place === null) break;
      const { before, ...free } = place;
      const put = await this.#register.put({ owner, ...free, value: JSON.stringify(process) });
      if (put.status === "put") return { status: "added", before };
      if (put.status === "failed") break;
    }
    return { status: "full" };
  }

  /** `false`: somebody else was faster, and it is to be looked at again. */
  async change({ owner, key, revision, process }: StoredProcess): Promise<boolean> {
    const value = JSON.stringify(process);
    return (await this.#register.put({ owner, key, value, expect: revision })).status === "put";
  }
}

function findFreeSlot(rows: readonly { key: string; value: string; revision: number }[]) {
  const taken = new Set(rows.map(({ key }) => key));
  for (let place = 0; place < maxProcesses; place += 1) {
    const key = `${registerPrefix}${String(place).padStart(3, "0")}`;
    if (!taken.has(key)) return { key, expect: 0, before: null };
  }
  const over = rows
    .map(({ key, value, revision }) => ({ key, expect: revision, process: decodeProcess(value) }))
    .filter(({ process }) => process === null || process.told !== null)
    .toSorted((a, b) => (a.process?.startedAt ?? 0) - (b.process?.startedAt ?? 0));
  const [oldest] = over;
  if (oldest === undefined) return null;
  return { key: oldest.key, expect: oldest.expect, before: oldest.process };
}

function decodeProcess(value: string): ProcessRecord | null {
  try {
    return processRow.parse(JSON.parse(value));
  } catch {
    return null;
  }
}
