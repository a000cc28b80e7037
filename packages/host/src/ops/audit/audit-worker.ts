import {
  type Clock,
  type Commit,
  type CommitResult,
  type Log,
  StoreFailure,
} from "@holdfast/engine";
import {
  type IdSource,
  newEvent,
  type OwnerId,
  ownerId,
  type Seq,
  type SessionId,
} from "@holdfast/protocol";
import { addToHash, newSalt, rowOfEvent, startOfDigest } from "@holdfast/store/hash-chain";
import type { BackgroundWorker } from "../../automation/workers.ts";
import type { AuditKey } from "./audit-key.ts";
import { signCurrentHead } from "./signed-head.ts";

export interface AuditWorkerDeps {
  readonly log: Log;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly key: () => Promise<AuditKey>;
  readonly touched: Pick<TouchedSessions, "take">;
  readonly report: (bug: Error) => void;
  readonly signEveryMs?: number;
  readonly beginAfterMs?: number;
}

/** The sessions that this host has written to, whose heads are to be signed. */
export interface TouchedSessions {
  readonly observe: (commit: Commit, result: CommitResult) => void;
  readonly take: () => ReadonlyMap<SessionId, OwnerId>;
}

export function createTouchedSessions(): TouchedSessions {
  let touched = new Map<SessionId, OwnerId>();
  return {
    observe({ owner, session }, { status }) {
      if (status === "committed" && touched.size < maxTouched) touched.set(session, owner);
    },
    take() {
      const taken = touched;
      touched = new Map();
      return taken;
    },
  };
}

const defaultSignEveryMs = 60_000;
/** Hosts that only answer one command leave the logs of older versions to others. */
const defaultBeginAfterMs = 30_000;
const maxTouched = 10_000;
const sessionsPerPage = 200;
/** After each log, so that a home with many of them stays responsive. */
const beginPauseMs = 20;

/** Signs the heads of logs that this host has written to, and begins the chains of logs that are not linked yet. */
export function createAuditWorker(deps: AuditWorkerDeps): BackgroundWorker {
  const { clock, key, log, touched, report } = deps;
  const { signEveryMs = defaultSignEveryMs, beginAfterMs = defaultBeginAfterMs } = deps;
  const stopping = new AbortController();
  let working: readonly Promise<void>[] = [];

  async function signTouched(): Promise<void> {
    for (const [session, owner] of touched.take()) {
      await signCurrentHead(log.store, await key(), owner, session);
    }
  }

  async function untilStopped(work: () => Promise<void>, everyMs: number): Promise<void> {
    for (;;) {
      await clock.sleep(everyMs, stopping.signal);
      if (stopping.signal.aborted) return;
      await whileReachable(work, report);
    }
  }

  async function beginOnce(): Promise<void> {
    await clock.sleep(beginAfterMs, stopping.signal);
    if (stopping.signal.aborted) return;
    await whileReachable(() => beginChains(deps, stopping.signal), report);
  }

  return {
    start() {
      working = [untilStopped(signTouched, signEveryMs), beginOnce()];
    },
    async stop() {
      stopping.abort();
      await Promise.all(working);
      await whileReachable(signTouched, report);
    },
  };
}

/** What was not signed or begun is done with the next change, or by the next host. */
async function whileReachable(
  work: () => Promise<void>,
  report: (bug: Error) => void,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof StoreFailure))
      report(error instanceof Error ? error : new Error(String(error)));
  }
}

/**
 * Belongs to no person. Looking at the end of every log starts the reader thread and reads most of the database, so a
 * host that found all of them linked is the last one to look: every event that this schema stores has a link.
 */
const allLinked = { owner: ownerId.parse("holdfast:host"), key: "all-logs-linked", value: "true" };

/** An older version has linked nothing: what it wrote is hashed as a whole, and linked from here on. */
async function beginChains(
  { log, ids, clock }: Pick<AuditWorkerDeps, "log" | "ids" | "clock">,
  signal: AbortSignal,
): Promise<void> {
  const { audit, register } = log.store;
  if ((await register.read(allLinked.owner, allLinked.key)) !== null) return;
  let areAllLinked = true;
  for (let after: string | null = ""; after !== null;) {
    const page = await audit.unlinked(after, sessionsPerPage);
    if (page.sessions.length > 0) areAllLinked = false;
    for (const { owner, session } of page.sessions) {
      if (signal.aborted) return;
      await beginChain({ log, ids }, owner, session);
      await clock.sleep(beginPauseMs, signal);
    }
    after = page.last;
  }
  if (areAllLinked) await register.put({ ...allLinked, expect: 0 });
}

async function beginChain(
  { log, ids }: Pick<AuditWorkerDeps, "log" | "ids">,
  owner: OwnerId,
  session: SessionId,
): Promise<void> {
  const row = await log.store.reads.session(owner, session);
  if (row === null || row.trashedAt !== null || row.liveRun !== null) return;
  const salt = newSalt();
  let digest = startOfDigest(salt);
  for await (const { event, place } of log.store.audit.events(session))
    if (place === "log" && event !== null) digest = addToHash(digest, rowOfEvent(event));
  const data = { salt, digest: digest.hash, events: digest.count };
  // If something was added meanwhile, the next start of a host tries again.
  await log.commit({
    owner,
    session,
    expect: { head: row.head satisfies Seq },
    events: [newEvent(ids.make("event"), "chain.began", data)],
    touch: "quiet",
  });
}
