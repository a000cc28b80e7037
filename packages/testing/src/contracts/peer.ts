import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";

import type { Holder, Store } from "@holdfast/engine";

import type { PeerRuns } from "./peer-runs.ts";
import type { SharedDatabase } from "./test-database.ts";

export type PeerKind = "process" | "thread";

export type PeerRequest =
  | { readonly op: "open"; readonly address: unknown }
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
  readonly store: RemoteStore;
  readonly runs: PeerRuns;
  /** The identity that takes leases there. */
  holder(agent: string): Promise<Holder>;
  /** Delays all later calls to that moment of the system clock. */
  startAt(at: number): void;
  /** For a process only. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void;
  /** `kill -9` for a process; resolves when it is gone. */
  kill(): Promise<void>;
  /** Closes the peer's store and ends the peer. */
  end(): Promise<void>;
}

interface PeerLink {
  send(message: { id: number; request: PeerRequest }): void;
  onReply(listen: (reply: PeerReply) => void): void;
  onEnd(listen: () => void): void;
  signal(signal: "SIGSTOP" | "SIGCONT"): void;
  kill(): Promise<unknown>;
}

function forkProcess(script: URL): PeerLink {
  const child = fork(fileURLToPath(script), {
    execArgv: [],
    serialization: "advanced",
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const exited = once(child, "exit");
  return {
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

function startWorker(script: URL): PeerLink {
  const worker = new Worker(script);
  return {
    send: (message) => worker.postMessage(message, []),
    onReply: (listen) => void worker.on("message", (reply: PeerReply) => listen(reply)),
    onEnd: (listen) => void worker.on("exit", listen),
    signal() {
      throw new Error("A thread takes no signals.");
    },
    kill: () => worker.terminate(),
  };
}

/** Starts a script that calls `servePeer`, and sends it the store's address, which may be any cloneable value. */
export async function startPeer(script: URL, kind: PeerKind, address: unknown): Promise<Peer> {
  const link = kind === "process" ? forkProcess(script) : startWorker(script);
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
  await ask({ op: "open", address }).catch(async (error: unknown) => {
    await link.kill();
    throw error;
  });
  return {
    store: remoteStore(call),
    runs: remoteMember<PeerRuns>("runs", call),
    holder: (agent) => ask({ op: "holder", agent }) as Promise<Holder>,
    startAt: (at) => void ask({ op: "meet", at }),
    signal: (signal) => link.signal(signal),
    async kill() {
      await link.kill();
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
export function startPeers(
  database: SharedDatabase,
  kind: PeerKind,
  count: number,
): Promise<Peer[]> {
  return Promise.all(Array.from({ length: count }, () => database.startPeer(kind)));
}

export async function endPeers(peers: readonly Peer[]): Promise<void> {
  await Promise.all(peers.map((peer) => peer.end()));
}

/** Soon, but late enough that everybody has got the message. */
export function nearFuture(): number {
  return Date.now() + 60;
}
