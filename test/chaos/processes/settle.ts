import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as rest } from "node:timers/promises";

import { answerApproval, type Log } from "@holdfast/engine";
import { ids, type OwnerId, type SessionId } from "@holdfast/protocol";

import type { KnownSessions } from "./known-sessions.ts";
import type { ProcessEndpoint } from "./endpoints.ts";
import type { History } from "./history.ts";
import { type ClientResponse, exitTimeoutMs } from "./protocol.ts";

export interface SettleOptions {
  readonly members: readonly ProcessEndpoint[];
  readonly knownSessions: KnownSessions;
  readonly history: History;
  readonly log: Log;
  readonly owner: OwnerId;
  /** When everything is done and every process is still up. */
  readonly beforeLeaving?: () => Promise<void>;
}

/** What each process read of each session in the end. */
export type FinalReads = ReadonlyMap<SessionId, ReadonlyMap<string, ClientResponse>>;

const timeoutMs = 180_000;

/** Without faults everything must finish: every run, every follower, every process. */
export async function settle(options: SettleOptions): Promise<FinalReads> {
  const { members, history } = options;
  const wrong = (what: string): void => history.note({ kind: "wrong", what });
  for (const { member } of members) member.start();
  if (!(await within(timeoutMs, () => members.every(({ isUp }) => isUp))))
    wrong("not every process came up again");
  await restoreTrashed(options);
  if (!(await within(timeoutMs, () => isDone(options))))
    wrong(`after ${timeoutMs} ms of peace there is still work: ${await workLeft(options)}`);
  const blind = await followersBehind(options);
  if (blind.length > 0) wrong(`not shown to the end: ${blind.join(", ")}`);
  const reads = await readEverywhere(options);
  await options.beforeLeaving?.();
  await Promise.all(members.map(({ member }) => member.leave(exitTimeoutMs)));
  return reads;
}

async function within(ms: number, condition: () => boolean | Promise<boolean>): Promise<boolean> {
  const until = performance.now() + ms;
  while (performance.now() < until) {
    if (await condition()) return true;
    await rest(50);
  }
  return false;
}

async function restoreTrashed({ log, knownSessions, owner }: SettleOptions): Promise<void> {
  for (const id of knownSessions.all.keys()) {
    const row = await log.store.reads.session(owner, id);
    if (row !== null && row.trashedAt !== null) await log.restoreSession(owner, id);
  }
}

/** Answers open approvals until nothing is left to do. */
async function isDone(options: SettleOptions): Promise<boolean> {
  const { log, owner } = options;
  const { approvals, live, queued } = await readWork(options);
  for (const { id } of approvals) await answerApproval(log, ids, owner, id, "once");
  if (approvals.length + live.length + queued.length > 0) return false;
  // Between those reads a message may have become a run, or a run may have made room for one, so each session is
  // checked by itself.
  return everyAsync(options.knownSessions.all.keys(), async (id) => {
    const snapshot = await log.store.reads.snapshot(owner, id, { limit: 1 });
    return snapshot === null || (snapshot.run === null && snapshot.inbox.length === 0);
  });
}

async function everyAsync<T>(items: Iterable<T>, condition: (item: T) => Promise<boolean>) {
  for (const item of items) if (!(await condition(item))) return false;
  return true;
}

async function readWork({ log: { store }, owner }: SettleOptions) {
  const { approvals } = await store.reads.approvals(owner, { limit: 100 });
  return { approvals, live: await store.work.live(5), queued: await store.work.queued(5) };
}

async function workLeft(options: SettleOptions): Promise<string> {
  return JSON.stringify(await readWork(options));
}

/** P5: followers are shown everything, to the last event, of each session in use. */
async function followersBehind({
  knownSessions,
  history,
  log,
  owner,
}: SettleOptions): Promise<string[]> {
  let lagging: string[] = [];
  await within(timeoutMs, async () => {
    lagging = [];
    for (const { id } of knownSessions.active) {
      const head = (await log.store.reads.session(owner, id))?.head ?? 0;
      for (const by of ["page", "tail"])
        if ((history.shown.get(`${by} ${id}`) ?? 0) < head)
          lagging.push(`${by} ${id} up to ${head}`);
    }
    return lagging.length === 0;
  });
  return lagging;
}

async function readEverywhere({
  members,
  knownSessions,
  history,
}: SettleOptions): Promise<FinalReads> {
  const reads = new Map<SessionId, Map<string, ClientResponse>>();
  for (const session of knownSessions.all.keys()) {
    // A read may itself ingest what a runner had spilled; the next one then sees it.
    await within(60_000, async () => {
      const answers = new Map<string, ClientResponse>();
      for (const endpoint of members)
        answers.set(
          endpoint.name,
          await endpoint.ask(history.nextNumber(), { act: "read", session }),
        );
      reads.set(session, answers);
      return new Set([...answers.values()].map((answer) => JSON.stringify(answer))).size === 1;
    });
  }
  return reads;
}

/** Processes with this text in their environment: those that were started here, and their children. */
export function processesWith(text: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => environmentOf(name).includes(text))
    .map(Number);
}

function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8");
  } catch {
    // It is gone, or belongs to somebody else.
    return "";
  }
}
