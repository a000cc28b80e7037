import type { Register } from "@holdfast/engine";
import {
  laneKey,
  type OwnerId,
  type ProcessId,
  processId,
  rights,
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
  /** The lane of the message that started its run, if answers are delivered there. */
  lane: laneKey.nullable(),
  /** What the message that started its run may cause, if that is limited. */
  rights: rights.optional(),
  /** The home that has its files, and the machine's name. */
  place: z.string(),
  host: z.string(),
  /** The host that started it. */
  by: holderSchema,
  shown: z.string(),
  startedAt: z.int(),
  timeLimitMs: z.int(),
  /** Why it is to be stopped, if it is. */
  stop: z.enum(["asked", "session"]).nullable(),
  end: processEnd.nullable(),
  endedAt: z.int().nullable(),
  /** How its end is reported, decided when it ends. */
  tells: z.enum(["turn", "notice"]).optional(),
  /** The outcome of reporting its end: `accepted`, `silent`, or why it was refused. */
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
/** One register row each. When all are taken, one that has ended is reused. */
const maxProcesses = 200;
const maxAttempts = 20;

/** The background processes of all hosts on the store, in its register. */
export class ProcessStore {
  readonly #register: Register;

  constructor(register: Register) {
    this.#register = register;
  }

  /** Oldest first. */
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

  /** `replaced` is the process whose slot it took. `full`: there is no free slot, or the store failed. */
  async add(
    owner: OwnerId,
    process: ProcessRecord,
  ): Promise<
    { readonly status: "added"; readonly replaced: ProcessRecord | null } | { status: "full" }
  > {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const rows = await this.#register.list(owner, registerPrefix, maxProcesses);
      const slot = findFreeSlot(rows);
      if (slot === null) break;
      const { replaced, ...row } = slot;
      const result = await this.#register.put({ owner, ...row, value: JSON.stringify(process) });
      if (result.status === "put") return { status: "added", replaced };
      if (result.status === "failed") break;
    }
    return { status: "full" };
  }

  /** `false`: another host changed it first; read it again. */
  async change({ owner, key, revision, process }: StoredProcess): Promise<boolean> {
    const value = JSON.stringify(process);
    return (await this.#register.put({ owner, key, value, expect: revision })).status === "put";
  }
}

function findFreeSlot(rows: readonly { key: string; value: string; revision: number }[]) {
  const usedKeys = new Set(rows.map(({ key }) => key));
  for (let index = 0; index < maxProcesses; index += 1) {
    const key = `${registerPrefix}${String(index).padStart(3, "0")}`;
    if (!usedKeys.has(key)) return { key, expect: 0, replaced: null };
  }
  const finished = rows
    .map(({ key, value, revision }) => ({ key, expect: revision, process: decodeProcess(value) }))
    .filter(({ process }) => process === null || process.told !== null)
    .toSorted((a, b) => (a.process?.startedAt ?? 0) - (b.process?.startedAt ?? 0));
  const [oldest] = finished;
  if (oldest === undefined) return null;
  return { key: oldest.key, expect: oldest.expect, replaced: oldest.process };
}

function decodeProcess(value: string): ProcessRecord | null {
  try {
    return processRow.parse(JSON.parse(value));
  } catch {
    return null;
  }
}
