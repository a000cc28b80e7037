import type { Store } from "@holdfast/engine";

export interface DyingStore {
  readonly store: Store;
  writes(): number;
}

/** Kills this process at the given write: with an even number behind it, with an odd one before. */
export function dieAtWrite(store: Store, last: number): DyingStore {
  let writes = 0;
  async function counted<T>(write: () => Promise<T>): Promise<T> {
    writes += 1;
    const isLast = writes === last;
    if (isLast && writes % 2 === 1) process.kill(process.pid, "SIGKILL");
    const result = await write();
    if (isLast) process.kill(process.pid, "SIGKILL");
    return result;
  }
  return {
    writes: () => writes,
    store: {
      kind: store.kind,
      reads: store.reads,
      leases: store.leases,
      work: store.work,
      requests: store.requests,
      search: store.search,
      audit: store.audit,
      register: {
        read: (...row) => store.register.read(...row),
        list: (...rows) => store.register.list(...rows),
        put: (change) => counted(() => store.register.put(change)),
      },
      commit: (commit) => counted(() => store.commit(commit)),
      putBlob: (...blob) => counted(() => store.putBlob(...blob)),
      purge: (...session) => counted(() => store.purge(...session)),
      prune: (limit) => store.prune(limit),
      watch: (...watched) => store.watch(...watched),
      now: () => store.now(),
      close: () => store.close(),
    },
  };
}
