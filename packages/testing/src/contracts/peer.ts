import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";

import type { Holder, Store } from "@holdfast/engine";

import type { StoreAddress } from "./test-database.ts";
import type { PeerRuns } from "./peer-runs.ts";

export type PeerRequest =
  | { readonly op: "open"; readonly place: StoreAddress; readonly probeModule?: string }
  | { readonly op: "call"; readonly path: string; readonly args: readonly unknown[] }
  | { readonly op: "holder"; readonly agent: string }
  | { readonly op: "meet"; readonly at: number }
  | { readonly op: "close" };

export interface PeerReply {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** The part of a store that can be used remotely. */
export type RemoteStore = Pick<Store, "reads" | "leases" | "commit">;

/** Another process or thread with its own store on the same data. */
export interface Peer {
  readonly pid: number | undefined;
  readonly store: RemoteStore;
  readonly runs: PeerRuns;
  open(address: StoreAddress, options?: { readonly probeModule?: string }): Promise<void>;
  /** The identity that takes leases there. */
  holder(agent: string): Promise<Holder>;
  /** Delays all later calls to that moment of the system clock. */
  startAt(at: number): void;
  /** For a process only. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void;
  /** `kill -9` for a process; resolves when it is gone. */
  kill(): Promise<void>;
  /** Closes the store there; another can be opened. */
  close(): Promise<void>;
  /** Ends it gracefully. */
  end(): Promise<void>;
}

const peerScript = new URL("./peer-main.ts", import.meta.url);

interface PeerLink {
  readonly pid: number | undefined;
  send(message: { id: number; request: PeerRequest }): void;
  onReply(listen: (reply: PeerReply) => void): void;
  onEnd(listen: () => void): void;
  signal(signal: "SIGSTOP" | "SIGCONT"): void;
  kill(): Promise<unknown>;
}

function forkProcess(): PeerLink {
  const child = fork(fileURLToPath(peerScript), {
    execArgv: [],
    serialization: "advanced",
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const exited = once(child, "exit");
  return {
    pid: child.pid,
    // A process that is gone doesn't answer; `onEnd` reports it.
    send: (message) => void child.send(message, () => undefined),
    onReply: (listen) => void child.on("message", (reply) => listen(reply as PeerReply)),
    onEnd: (listen) => void exited.then(listen),
    signal: (signal) => void child.kill(signal),
    kill() {
      child.kill("SIGKILL");
      return exited;
    },
  };
}

function startWorker(): PeerLink {
  const worker = new Worker(peerScript);
  return {
    pid: undefined,
    send: (message) => worker.postMessage(message, []),
    onReply: (listen) => void worker.on("message", (reply: PeerReply) => listen(reply)),
    onEnd: (listen) => void worker.on("exit", listen),
    signal() {
      throw new Error("A thread takes no signals.");
    },
    kill: () => worker.terminate(),
  };
}

export async function startPeer(kind: "process" | "thread"): Promise<Peer> {
  const link = kind === "process" ? forkProcess() : startWorker();
  const pending = new Map<number, PromiseWithResolvers<unknown>>();
  const ready = Promise.withResolvers<unknown>();
  pending.set(0, ready);
  let next = 1;
  link.onReply(({ id, value, error }) => {
    const waiting = pending.get(id);
    pending.delete(id);
    if (error === undefined) waiting?.resolve(value);
    else waiting?.reject(new Error(error));
  });
  let ended = false;
  link.onEnd(() => {
    ended = true;
    for (const { reject } of pending.values()) reject(new Error(`The ${kind} has ended.`));
    pending.clear();
  });

  function ask(request: PeerRequest): Promise<unknown> {
    const id = next++;
    const waiting = Promise.withResolvers<unknown>();
    // After a kill nobody may be waiting for the answer any more.
    waiting.promise.catch(() => undefined);
    if (ended) {
      waiting.reject(new Error(`The ${kind} has ended.`));
      return waiting.promise;
    }
    pending.set(id, waiting);
    link.send({ id, request });
    return waiting.promise;
  }

  const call: RemoteCall = (path, args) => ask({ op: "call", path, args });
  await ready.promise;
  return {
    pid: link.pid,
    store: remoteStore(call),
    runs: remoteMember<PeerRuns>("runs", call),
    async open(address, options = {}) {
      await ask({ op: "open", place: address, ...options });
    },
    holder: (agent) => ask({ op: "holder", agent }) as Promise<Holder>,
    startAt: (at) => void ask({ op: "meet", at }),
    signal: (signal) => link.signal(signal),
    async kill() {
      await link.kill();
    },
    async close() {
      await ask({ op: "close" });
    },
    async end() {
      // A peer that a failed test left blocked never answers.
      await Promise.race([ask({ op: "close" }).catch(() => undefined), wait(5_000)]);
      await link.kill();
    },
  };
}

type RemoteCall = (path: string, args: readonly unknown[]) => Promise<unknown>;

/** The other end is our own code of this version, so its answers need no parsing. */
function remoteMember<Group extends object>(group: string, call: RemoteCall): Group {
  return new Proxy({} as Group, {
    get:
      (_target, method) =>
      (...args: readonly unknown[]) =>
        call(`${group}.${String(method)}`, args),
  });
}

function remoteStore(call: RemoteCall): RemoteStore {
  return {
    reads: remoteMember<Store["reads"]>("reads", call),
    leases: remoteMember<Store["leases"]>("leases", call),
    commit: (commit) => call("commit", [commit]) as ReturnType<Store["commit"]>,
  };
}

/** Starts this many at once. */
export function startPeers(kind: "process" | "thread", count: number): Promise<Peer[]> {
  return Promise.all(Array.from({ length: count }, () => startPeer(kind)));
}

/** Soon, but late enough that everybody has got the message. */
export function nearFuture(): number {
  return Date.now() + 60;
}
