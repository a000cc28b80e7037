import { type Failed, type Store, StoreFailure } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";

import { createAudit } from "./audit.ts";
import { commitTo } from "./commits.ts";
import { blobIdOf, blobKeyOf, emptyData, type ReferenceData, type SessionWatcher } from "./data.ts";
import { createLeases } from "./leases.ts";
import { prune, purgeSession } from "./purge.ts";
import { createRegister } from "./outbox.ts";
import { createReads } from "./reads.ts";
import { createRequests } from "./requests.ts";
import { createSearch } from "./search.ts";
import { createWork } from "./work.ts";

export interface ReferenceStore extends Store {
  /** Another handle on the same data, like another process's. */
  open(): ReferenceStore;
}

export interface ReferenceStoreOptions {
  readonly clock?: () => number;
}

/** The store that keeps nothing: for tests, and as the plainest statement of what the others do. */
export function createReferenceStore({
  clock = Date.now,
}: ReferenceStoreOptions = {}): ReferenceStore {
  return openHandle(emptyData(clock));
}

function openHandle(data: ReferenceData): ReferenceStore {
  const state = { closed: false };
  const watchers = new Set<SessionWatcher>();
  const unlessClosed = <T>(write: () => T): Promise<T | Failed> =>
    Promise.resolve(state.closed ? closedFailure : write());
  const refuseReads = () => {
    if (state.closed) throw new StoreFailure("store_closed", closedFailure.message);
  };
  const leases = createLeases(data);
  const requests = createRequests(data);
  const register = createRegister(data);

  return {
    kind: "memory",
    reads: withGuard(createReads(data), refuseReads),
    leases: {
      ...withGuard(leases, refuseReads),
      acquire: async (request) => (state.closed ? closedFailure : leases.acquire(request)),
      renew: async (refs, ttlMs) => (state.closed ? closedFailure : leases.renew(refs, ttlMs)),
      release: async (ref) => (state.closed ? closedFailure : leases.release(ref)),
    },
    work: withGuard(createWork(data), refuseReads),
    requests: {
      ...withGuard(requests, refuseReads),
      keep: async (request) => (state.closed ? closedFailure : requests.keep(request)),
    },
    register: {
      ...withGuard(register, refuseReads),
      put: async (change) => (state.closed ? closedFailure : register.put(change)),
    },
    search: withGuard(createSearch(data), refuseReads),
    audit: createAudit(data),

    commit: (commit) => unlessClosed(() => commitTo(data, commit)),
    putBlob: (owner, bytes, mediaType) =>
      unlessClosed(() => putBlob(data, owner, bytes, mediaType)),
    purge: (owner, session) => unlessClosed(() => purgeSession(data, owner, session)),
    prune: (limit) => unlessClosed(() => ({ status: "pruned", rows: prune(data, limit) }) as const),

    watch(session, _pace, wake) {
      const watcher: SessionWatcher = { session, wake };
      data.watchers.add(watcher);
      watchers.add(watcher);
      return () => void (data.watchers.delete(watcher), watchers.delete(watcher));
    },

    async now() {
      refuseReads();
      return data.clock();
    },

    async close() {
      state.closed = true;
      for (const watcher of watchers) data.watchers.delete(watcher);
    },

    open: () => openHandle(data),
  };
}

const closedFailure: Failed = {
  status: "failed",
  code: "store_closed",
  message: "This handle was closed.",
};

/** The same methods with a check before each call. */
function withGuard<T extends object>(methods: T, check: () => void): T {
  return new Proxy(methods, {
    get(target, name, receiver) {
      const method: unknown = Reflect.get(target, name, receiver);
      if (typeof method !== "function") return method;
      return async (...args: unknown[]): Promise<unknown> => {
        check();
        return Reflect.apply(method, target, args) as unknown;
      };
    },
  });
}

function putBlob(data: ReferenceData, owner: OwnerId, bytes: Uint8Array, mediaType: string) {
  const id = blobIdOf(bytes);
  const key = blobKeyOf(owner, id);
  const size = bytes.byteLength;
  const known = data.blobs.get(key);
  const createdAt = Math.max(data.clock(), known?.row.createdAt ?? 0);
  // Storing an unreferenced blob again restarts its day of grace: its event may be on the way.
  if (known !== undefined) known.row = { ...known.row, createdAt };
  else {
    const row = { owner, id, size, mediaType, refs: 0, createdAt };
    data.blobs.set(key, { row, bytes: bytes.slice() });
  }
  return { status: "stored", id, size } as const;
}
