import { type Failed, type FailureCode, type Store, StoreFailure } from "@holdfast/engine";
import { type Actor, createActor } from "./scheduler.ts";
import type { SimHost } from "./host.ts";
import type { SimWorld } from "./world.ts";

/** A request that has left its host: it arrives whatever happens to the host, unless a crash has cut it off. */
export interface Wire extends Actor {
  readonly sender: SimHost;
}

const pollMs = 250;

/**
 * A host's access to the store. Each call is two steps, its arrival at the store and its answer at the host, so that
 * anything can happen before, between and after them; each may be slow, fail, or succeed without an answer.
 */
export function faultyStore(inner: Store, host: SimHost, world: SimWorld): Store {
  const { scheduler } = world;
  const wire: Wire = { ...createActor(`${host.name} >>`), sender: host };

  const answer = (what: string, act: () => void): void =>
    void scheduler.after(world.latency(), host, what, act);

  function write<T extends { readonly status: string }>(
    what: string,
    act: () => Promise<T | Failed>,
  ): Promise<T | Failed> {
    return new Promise((resolve) => {
      scheduler.after(world.latency(), wire, what, () => {
        const failure = world.failureOf(host);
        if (failure !== null && failure !== "store_unknown")
          return answer(`${what}: ${failure}`, () => resolve(failed(failure)));
        if (failure === "store_unknown" && scheduler.chance.happens(0.5))
          return answer(`${what}: unknown`, () => resolve(failed("store_unknown")));
        const notify = (result: T | Failed): void =>
          failure === null
            ? answer(`${what}: ${shortResult(result)}`, () => resolve(result))
            : answer(`${what}: ${shortResult(result)}, not told`, () => resolve(failed(failure)));
        void act().then(notify);
      });
    });
  }

  /** A read returns what was there when it arrived: its answer may be stale when it comes. */
  function read<T>(what: string, act: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      scheduler.after(world.latency(), wire, what, () => {
        const failure = world.failureOf(host);
        if (failure !== null) {
          const code = failure === "store_unknown" ? "store_unavailable" : failure;
          return answer(`${what}: ${code}`, () => reject(new StoreFailure(code, "simulated")));
        }
        void act().then((found) => answer(`${what}: read`, () => resolve(found)), reject);
      });
    });
  }

  const reading = <T extends object>(group: string, methods: T): T =>
    new Proxy(methods, {
      get(target, name, receiver) {
        const method: unknown = Reflect.get(target, name, receiver);
        if (typeof method !== "function") return method;
        return (...args: unknown[]): Promise<unknown> =>
          read(
            `${group}.${String(name)}`,
            async () => Reflect.apply(method, target, args) as unknown,
          );
      },
    });

  const { leases } = inner;
  return {
    ...inner,
    reads: reading("reads", inner.reads),
    work: reading("work", inner.work),
    leases: {
      ...reading("leases", leases),
      acquire: (request) => write("leases.acquire", () => leases.acquire(request)),
      renew: (refs, ttlMs) => write("leases.renew", () => leases.renew(refs, ttlMs)),
      release: (ref) => write("leases.release", () => leases.release(ref)),
      read: (kind, session) => read("leases.read", () => leases.read(kind, session)),
      expired: (kind, limit) => read("leases.expired", () => leases.expired(kind, limit)),
    },
    commit: (commit) => {
      const types = commit.events.map((event) => event.type).join(" ");
      const under = commit.under === undefined ? "" : ` under ${commit.under.fence}`;
      const what = `commit ${world.nameOf(commit.session)}${under} [${types}]`;
      return write(what, () => inner.commit(commit));
    },
    putBlob: (owner, bytes, mediaType) =>
      write("putBlob", () => inner.putBlob(owner, bytes, mediaType)),
    prune: (limit) => write("prune", () => inner.prune(limit)),
    now: () => read("now", () => inner.now()),
    watch: (session, pace, wake) => watch(inner, host, world, session, pace, wake),
  };
}

/** A wake-up may come late (then polling notices) or twice, but it comes. */
function watch(
  inner: Store,
  host: SimHost,
  world: SimWorld,
  ...[session, pace, wake]: Parameters<Store["watch"]>
): () => void {
  const { scheduler, profile } = world;
  let watching = true;
  const hint = (ms: number): void =>
    void scheduler.after(ms, host, `hint of ${world.nameOf(session)}`, () => {
      if (watching) wake();
    });
  const unwatch = inner.watch(session, pace, () => {
    const isLost = world.faultsEnabled && scheduler.chance.happens(profile.lostWake);
    hint(isLost ? pollMs : world.latency());
    if (world.faultsEnabled && scheduler.chance.happens(profile.doubleWake)) hint(world.latency());
  });
  return () => {
    watching = false;
    unwatch();
  };
}

function failed(code: FailureCode): Failed {
  return { status: "failed", code, message: "simulated" };
}

function shortResult(result: { readonly status: string }): string {
  return "code" in result ? `${result.status} ${String(result.code)}` : result.status;
}
