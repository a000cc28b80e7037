import { parentPort } from "node:worker_threads";

import type { Store } from "@holdfast/engine";

import type { PeerReply, PeerRequest } from "./peer.ts";
import type { PeerRuns } from "./peer-runs.ts";
import type { ProcessIdentity } from "./test-database.ts";

export interface PeerParts<Address> {
  readonly openStore: (address: Address) => Promise<Store>;
  readonly identity: ProcessIdentity;
}

/** Operates a store on behalf of the test that started this process or thread with `startPeer`. */
export function servePeer<Address>({ openStore, identity }: PeerParts<Address>): void {
  let store: Store | undefined;
  let runs: Promise<PeerRuns> | undefined;

  function requireStore(): Store {
    if (store === undefined) throw new Error("No store is open here.");
    return store;
  }

  /** Loaded on demand: most tests have no runs elsewhere. */
  function loadRuns(): Promise<PeerRuns> {
    runs ??= import("./peer-runs.ts").then(({ createPeerRuns }) =>
      createPeerRuns(requireStore(), identity),
    );
    return runs;
  }

  /** Calls reads, writes, leases and runs by their names on the port. */
  async function call(path: string, args: readonly unknown[]): Promise<unknown> {
    const [group = "", method] = path.split(".");
    const target: unknown = await targetOf(group, method);
    if (typeof target !== "object" || target === null) throw new Error(`There is no ${path}.`);
    const found: unknown = Reflect.get(target, method ?? group);
    if (typeof found !== "function") throw new Error(`There is no ${path}.`);
    return Reflect.apply(found, target, args) as unknown;
  }

  function targetOf(group: string, method: string | undefined): unknown {
    if (method === undefined) return requireStore();
    return group === "runs" ? loadRuns() : Reflect.get(requireStore(), group);
  }

  async function handleRequest(request: PeerRequest): Promise<unknown> {
    switch (request.op) {
      case "open":
        // The test and its peers are the same version, so the address needs no parsing.
        store = await openStore(request.address as Address);
        return undefined;
      case "call":
        return call(request.path, request.args);
      case "holder":
        return identity.currentHolder(request.agent);
      case "meet":
        // Blocks until the start time, so that all peers begin at the same moment.
        while (Date.now() < request.at);
        return undefined;
      case "close":
        await (await runs)?.stop();
        await store?.close();
        [store, runs] = [undefined, undefined];
        return undefined;
    }
  }

  const send = (reply: PeerReply): void =>
    parentPort === null ? void process.send?.(reply) : parentPort.postMessage(reply, []);

  async function answer({ id, request }: { id: number; request: PeerRequest }): Promise<void> {
    try {
      send({ id, value: await handleRequest(request) });
    } catch (error) {
      send({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  }

  const source = parentPort ?? process;
  source.on("message", (message: { id: number; request: PeerRequest }) => void answer(message));
  process.on("disconnect", () => process.exit());
  send({ id: 0, value: "ready" });
}
