import type { Commit, Reads, Store } from "@holdfast/engine";

/** A store whose commits are recorded and can be held back. */
export interface WatchedStore {
  readonly store: Store;
  /** `sent run.state+step.started`, `answered …`, in order. */
  readonly trace: string[];
  /** The fences of the commits. */
  readonly fences: number[];
  /** Lease renewals so far. */
  readonly renewals: () => number;
  /** Holds back the next commit with an event of this type until it is released. */
  holdNext(type: string): HeldCommit;
  /** Called after each commit, before its sender gets the result. */
  onCommitted: (types: readonly string[]) => Promise<void>;
}

export interface HeldCommit {
  readonly reached: Promise<void>;
  readonly release: () => void;
}

export function watchStore(inner: Store): WatchedStore {
  const held = new Map<string, { reached: () => void; released: Promise<void> }>();
  let renewals = 0;

  async function commit(asked: Commit) {
    const types = asked.events.map(({ type }) => type);
    const gate = types.flatMap((type) => held.get(type) ?? [])[0];
    for (const type of types) held.delete(type);
    gate?.reached();
    await gate?.released;
    watched.trace.push(`sent ${types.join("+")}`);
    if (asked.under !== undefined) watched.fences.push(asked.under.fence);
    const result = await inner.commit(asked);
    watched.trace.push(`answered ${types.join("+")}`);
    await watched.onCommitted(types);
    return result;
  }

  const watched: WatchedStore = {
    store: withMembers(inner, {
      commit,
      leases: {
        ...inner.leases,
        async renew(...args) {
          const result = await inner.leases.renew(...args);
          renewals += 1;
          return result;
        },
      },
    }),
    trace: [],
    fences: [],
    renewals: () => renewals,
    holdNext(type) {
      const reached = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      held.set(type, { reached: reached.resolve, released: released.promise });
      return { reached: reached.promise, release: released.resolve };
    },
    onCommitted: async () => undefined,
  };
  return watched;
}

/** The same store with some members replaced. */
export function withMembers(store: Store, members: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, key) {
      const own: unknown = Reflect.get(members, key);
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

/** A store on which others can write between a caller's read and the commit based on it. */
export interface InterruptedStore {
  readonly store: Store;
  /** Runs the action once, after the next read of this kind and before its caller gets the result. */
  readonly afterNext: (read: keyof Reads, action: () => Promise<unknown>) => void;
}

export function interruptReads(inner: Store): InterruptedStore {
  const actions = new Map<PropertyKey, () => Promise<unknown>>();
  const reads = new Proxy(inner.reads, {
    get(target, name) {
      const read: unknown = Reflect.get(target, name);
      if (typeof read !== "function") return read;
      return async (...args: readonly unknown[]): Promise<unknown> => {
        const result: unknown = await Reflect.apply(read, target, args);
        const action = actions.get(name);
        actions.delete(name);
        await action?.();
        return result;
      };
    },
  });
  return {
    store: withMembers(inner, { reads }),
    afterNext: (read, action) => void actions.set(read, action),
  };
}

/** A moment in a writer's life: just before or just after its first commit with this event. */
export interface CrashPoint {
  readonly when: "before" | "after";
  readonly matches: (commit: Commit) => boolean;
}

/** A store as seen by a process that is killed at some moment: from then on nothing is answered. */
export function crashingStore(
  store: Store,
  { when, matches }: CrashPoint,
  onDeath: () => void,
): Store {
  const never = new Promise<never>(() => {});
  let died = false;
  return withMembers(store, {
    async commit(commit) {
      if (died) return never;
      const isLast = matches(commit);
      died = isLast;
      if (isLast && when === "before") return (onDeath(), never);
      const result = await store.commit(commit);
      return isLast ? (onDeath(), never) : result;
    },
  });
}

export function withEvent(type: string, data: object = {}): CrashPoint["matches"] {
  return ({ events }) =>
    events.some(
      (event) =>
        event.type === type &&
        Object.entries(data).every(([key, value]) => event.data[key] === value),
    );
}
