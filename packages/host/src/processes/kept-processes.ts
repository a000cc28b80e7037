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
import { holder } from "@holdfast/store/identity";
import { z } from "zod";

import { processEnd } from "./files.ts";

const kept = z.object({
  id: processId,
  session: sessionId,
  runId,
  /** Where the message of its run came from, if its answers are delivered there. */
  lane: laneKey.nullable(),
  /** The home whose folder has its files, and the machine that this was on. */
  place: z.string(),
  host: z.string(),
  /** Who started it. */
  by: holder,
  shown: z.string(),
  startedAt: z.int(),
  timeLimitMs: z.int(),
  /** Why it is to end, where somebody wants that. */
  stop: z.enum(["asked", "session"]).nullable(),
  end: processEnd.nullable(),
  endedAt: z.int().nullable(),
  /** What became of the word about its end: `accepted`, `silent`, or why it was refused. */
  told: z.string().nullable(),
});
export type Process = z.infer<typeof kept>;

export interface KeptProcess {
  readonly owner: OwnerId;
  readonly process: Process;
  readonly revision: number;
  readonly key: string;
}

const prefix = "process/";
/** A row of the register each. One that has ended leaves its place to another when all are taken. */
const places = 200;
const mostTries = 20;

/** The background processes of all hosts on the store, in its register. */
export class KeptProcesses {
  readonly #register: Register;

  constructor(register: Register) {
    this.#register = register;
  }

  /** The oldest first. */
  async list(owner: OwnerId): Promise<readonly KeptProcess[]> {
    const rows = await this.#register.list(owner, prefix, places);
    return rows
      .flatMap(({ key, value, revision }) => {
        const process = decode(value);
        return process === null ? [] : [{ owner, process, revision, key }];
      })
      .toSorted((a, b) => a.process.startedAt - b.process.startedAt);
  }

  async find(
    owner: OwnerId,
    session: SessionId | null,
    id: ProcessId,
  ): Promise<KeptProcess | null> {
    const all = await this.list(owner);
    const found = all.find(({ process }) => process.id === id);
    const isTheirs = session === null || found?.process.session === session;
    return found !== undefined && isTheirs ? found : null;
  }

  /** `false`: there is no place for it, or the store does not take it now. */
  async add(owner: OwnerId, process: Process): Promise<boolean> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const rows = await this.#register.list(owner, prefix, places);
      const place = freePlace(rows);
      if (place === null) return false;
      const put = await this.#register.put({ owner, ...place, value: JSON.stringify(process) });
      if (put.status === "put") return true;
      if (put.status === "failed") return false;
    }
    return false;
  }

  /** `false`: somebody else was faster, and it is to be looked at again. */
  async change({ owner, key, revision, process }: KeptProcess): Promise<boolean> {
    const value = JSON.stringify(process);
    return (await this.#register.put({ owner, key, value, expect: revision })).status === "put";
  }
}

function freePlace(rows: readonly { key: string; value: string; revision: number }[]) {
  const taken = new Set(rows.map(({ key }) => key));
  for (let place = 0; place < places; place += 1) {
    const key = `${prefix}${String(place).padStart(3, "0")}`;
    if (!taken.has(key)) return { key, expect: 0 };
  }
  const over = rows
    .map(({ key, value, revision }) => ({ key, expect: revision, process: decode(value) }))
    .filter(({ process }) => process === null || process.told !== null)
    .toSorted((a, b) => (a.process?.startedAt ?? 0) - (b.process?.startedAt ?? 0));
  const [oldest] = over;
  return oldest === undefined ? null : { key: oldest.key, expect: oldest.expect };
}

function decode(value: string): Process | null {
  try {
    return kept.parse(JSON.parse(value));
  } catch {
    return null;
  }
}
