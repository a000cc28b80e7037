import { readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { type Clock, type Store, StoreFailure, systemClock } from "@holdfast/engine";
import { ownerId } from "@holdfast/protocol";
import { thisSystem } from "@holdfast/store/identity";
import { z } from "zod";
import { sealedSecret, type Keyring } from "../ops/secrets/secrets-key.ts";
import { isLoopback } from "../util/ip-networks.ts";

/** A host is a home: several processes with roles of their own may serve one. */
export interface KnownHost {
  readonly id: string;
  /** The machine's name, for people. */
  readonly name: string;
  /** Where this host reaches it; null if it cannot. */
  readonly address: string | null;
  /** Whether agents run there. */
  readonly runs: boolean;
  /** Whether it has been heard from lately. */
  readonly isUp: boolean;
  /** When it was last heard from, by the store's clock. */
  readonly seenAt: number;
}

/** The hosts that share a store. */
export interface Hosts {
  readonly id: () => Promise<string>;
  /** Null if it has never been heard of. */
  find(id: string): Promise<KnownHost | null>;
  all(): Promise<readonly KnownHost[]>;
  /** Begins to tell others that this host is up, and where it is reached. */
  start(address: string | null): void;
  stop(): void;
}

export interface HostsDeps {
  readonly store: Pick<Store, "register" | "now">;
  readonly id: () => Promise<string>;
  readonly keyring: Keyring;
  /** Whether agents run in this process. */
  readonly runs: boolean;
  /** Tells the processes of one home apart. */
  readonly process: string;
  readonly leaseMs: number;
  /** The address that the operator gives this host for others. */
  readonly internalAddress?: string | undefined;
  readonly clock?: Clock;
  readonly machine?: string;
  readonly report: (bug: Error) => void;
}

const hostRow = z.object({
  name: z.string(),
  runs: z.boolean(),
  /** Sealed with the key of the hosts, so that nobody else can name an address. */
  address: sealedSecret.nullable(),
  /** How long after a heartbeat the host counts as up. */
  upMs: z.int().positive(),
});

const sealedAddress = z.object({ url: z.string(), machine: z.string().nullable() });

const hostsOwner = ownerId.parse("holdfast:hosts");
const maxHosts = 2_000;
/** How old the list of hosts may be. */
const freshMs = 1_000;

/** A heartbeat is two statements, and hosts at rest send no more than two a second in all. */
const beatsPerLease = 2;
/** Three heartbeats may be missed. */
const upLeases = 1.5;
/** While the store is away. Every host is silent then, and none is lost for that. */
const retryMs = 1_000;

export function openHosts(deps: HostsDeps): Hosts {
  const { store, keyring, clock = systemClock, machine = thisMachine() } = deps;
  const stopping = new AbortController();
  let cached: { readonly at: number; readonly hosts: Promise<readonly KnownHost[]> } | undefined;

  function seal(id: string, address: string | null) {
    if (address === null || !keyring.hasKey()) return null;
    const isHere = isLoopback(hostnameOf(address));
    const text = JSON.stringify({ url: address, machine: isHere ? machine : null });
    return keyring.seal(aboutAddress(id), text);
  }

  /** Another host may have been given a new key, which this one reads with the next request. */
  function unseal(id: string, sealed: z.infer<typeof sealedSecret>): string | null {
    if (!keyring.has(sealed.key)) keyring.reload();
    const text = keyring.unseal(aboutAddress(id), sealed);
    const found = text === null ? undefined : sealedAddress.safeParse(JSON.parse(text)).data;
    // An address like 127.0.0.1 means another host on another machine.
    if (found === undefined || (found.machine !== null && found.machine !== machine)) return null;
    return found.url;
  }

  async function beat(address: string | null): Promise<void> {
    const id = await deps.id();
    const key = `${id}/${deps.process}`;
    const value = JSON.stringify({
      name: hostname(),
      runs: deps.runs,
      address: seal(id, address),
      upMs: Math.round(deps.leaseMs * upLeases),
    });
    let expect = revision ?? (await store.register.read(hostsOwner, key))?.revision ?? 0;
    for (;;) {
      const put = await store.register.put({ owner: hostsOwner, key, value, expect });
      if (put.status === "failed") throw new StoreFailure(put.code, put.message);
      revision = put.row?.revision ?? 0;
      if (put.status === "put") return;
      expect = revision;
    }
  }
  let revision: number | undefined;

  const beatMs = deps.leaseMs / beatsPerLease;
  let beatAt = clock.now();
  let isAway = false;
  /** After an outage the others also need a moment for their next heartbeat. */
  let outage: { readonly since: number; readonly until: number } | undefined;

  async function keepBeating(address: string | null): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await beat(address);
        const now = clock.now();
        if (isAway) outage = { since: beatAt, until: now + beatMs };
        isAway = false;
        beatAt = now;
      } catch (error) {
        isAway = true;
        // Outages of the store are reported elsewhere.
        if (!(error instanceof StoreFailure))
          deps.report(error instanceof Error ? error : new Error(String(error)));
      }
      await clock.sleep(isAway ? Math.min(retryMs, beatMs) : beatMs, stopping.signal);
    }
  }

  /** For how long nobody may have been able to be heard. */
  function outageMs(): number {
    const now = clock.now();
    if (isAway) return now - beatAt;
    return outage !== undefined && now < outage.until ? now - outage.since : 0;
  }

  async function read(): Promise<readonly KnownHost[]> {
    const rows = await store.register.list(hostsOwner, "", maxHosts);
    const now = await store.now();
    const silentMs = outageMs();
    const byId = new Map<string, KnownHost>();
    for (const { key, value, at } of rows) {
      const [id = ""] = key.split("/");
      const row = decode(value);
      if (row === null) continue;
      const isUp = now - at <= row.upMs + silentMs;
      const address = row.address === null ? null : unseal(id, row.address);
      const found = { id, name: row.name, address, runs: row.runs, isUp, seenAt: at };
      byId.set(id, merge(byId.get(id), found));
    }
    return [...byId.values()];
  }

  function all(): Promise<readonly KnownHost[]> {
    const now = clock.now();
    if (cached === undefined || now - cached.at >= freshMs) {
      const hosts = read();
      cached = { at: now, hosts };
      hosts.catch(() => (cached = undefined));
    }
    return cached.hosts;
  }

  return {
    id: deps.id,
    all,
    async find(id) {
      return (await all()).find((host) => host.id === id) ?? null;
    },
    start(served) {
      void keepBeating(deps.internalAddress?.replace(/\/$/, "") ?? served);
    },
    stop: () => stopping.abort(),
  };
}

/** What is true of any process of the home is true of the home, if that process is up. */
function merge(known: KnownHost | undefined, found: KnownHost): KnownHost {
  if (known === undefined || (found.isUp && !known.isUp)) return found;
  if (!found.isUp && known.isUp) return known;
  return {
    ...known,
    address: known.address ?? found.address,
    runs: known.runs || found.runs,
    seenAt: Math.max(known.seenAt, found.seenAt),
  };
}

function decode(value: string): z.infer<typeof hostRow> | null {
  try {
    return hostRow.safeParse(JSON.parse(value)).data ?? null;
  } catch {
    return null;
  }
}

const aboutAddress = (id: string): string => `host address\0${id}`;

function hostnameOf(address: string): string {
  return new URL(address).hostname.replace(/^\[|\]$/g, "");
}

/** Whose loopback addresses are the same: one network namespace of one boot. */
function thisMachine(): string {
  let network: string;
  try {
    network = readlinkSync("/proc/self/ns/net");
  } catch {
    network = "";
  }
  return `${thisSystem.host()} ${thisSystem.boot() ?? ""} ${network}`;
}
