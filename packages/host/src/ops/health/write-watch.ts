import { type Clock, type Failed, type Store, StoreFailure } from "@holdfast/engine";
import { ownerId } from "@holdfast/protocol";

/** Whether what is written stays, for those who watch over the host. */
export interface WriteHealth {
  /** The store as it was, with an eye on how its writes end. Everybody writes through this one. */
  readonly store: Store;
  /**
   * Why writes fail; nothing while they do not. While they do it tries one of its own first: one at a time, and at most one
   * a second however many ask.
   */
  failure(): Promise<Failed | undefined>;
}

export interface WriteHealthDeps {
  readonly clock: Clock;
  /** Told when writes begin to fail. */
  readonly onFailure: (failure: StoreFailure) => void;
}

const probeIntervalMs = 1_000;

/**
 * Belongs to no person: a row that nobody reads, written over itself. As large as a row may be, since a disk that is nearly
 * full takes a lease or a title long after it has refused what people say.
 */
const probe = {
  owner: ownerId.parse("holdfast:host"),
  key: "write-probe",
  value: JSON.stringify("…".repeat(15_000)),
};

type WriteOutcome = { readonly status: string };

export function monitorWrites(
  store: Store,
  { clock, onFailure: onTrouble }: WriteHealthDeps,
): WriteHealth {
  let trouble: Failed | undefined;
  let tried: { readonly at: number; readonly end: Promise<void> } | undefined;

  async function noting<T extends WriteOutcome | Failed>(write: Promise<T>): Promise<T> {
    const result: WriteOutcome | Failed = await write;
    if ("message" in result && result.status === "failed") begin(result);
    return write;
  }

  function begin(failure: Failed): void {
    // A host that is stopping closes its store: nothing is wrong with that.
    if (failure.code === "store_closed") return;
    const isNews = trouble === undefined;
    trouble = failure;
    if (isNews) onTrouble(new StoreFailure(failure.code, failure.message));
  }

  async function tryOne(): Promise<void> {
    try {
      const row = await store.register.read(probe.owner, probe.key);
      const end = await store.register.put({ ...probe, expect: row?.revision ?? 0 });
      if (end.status === "failed") begin(end);
      // `moved`: another host was faster, on a disk that may be another one. The next try tells.
      else if (end.status === "put") trouble = undefined;
    } catch {
      // What cannot be read is told by those who read.
    }
  }

  return {
    store: observeWrites(store, noting),
    async failure() {
      if (trouble === undefined) return undefined;
      if (tried === undefined || clock.now() - tried.at >= probeIntervalMs)
        tried = { at: clock.now(), end: tryOne() };
      await tried.end;
      return trouble;
    },
  };
}

function observeWrites(
  store: Store,
  noting: <T extends WriteOutcome | Failed>(write: Promise<T>) => Promise<T>,
): Store {
  const { leases, requests, register } = store;
  return {
    kind: store.kind,
    reads: store.reads,
    work: store.work,
    search: store.search,
    audit: store.audit,
    leases: {
      ...leases,
      acquire: (request) => noting(leases.acquire(request)),
      renew: (held, ttlMs) => noting(leases.renew(held, ttlMs)),
      release: (lease) => noting(leases.release(lease)),
    },
    requests: { ...requests, keep: (request) => noting(requests.keep(request)) },
    register: { ...register, put: (change) => noting(register.put(change)) },
    commit: (commit) => noting(store.commit(commit)),
    putBlob: (...blob) => noting(store.putBlob(...blob)),
    purge: (...session) => noting(store.purge(...session)),
    prune: (limit) => noting(store.prune(limit)),
    watch: (...watch) => store.watch(...watch),
    now: () => store.now(),
    close: () => store.close(),
    ...(store.backup && { backup: (to: string) => store.backup?.(to) ?? Promise.resolve() }),
  };
}
