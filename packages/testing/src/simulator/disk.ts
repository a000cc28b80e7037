import type { NewEvent } from "@holdfast/protocol";

import type {
  SpillReadResult,
  SpillStore,
  SpillBeginResult,
  SpillEnd,
  SpillFile,
  SpillHeader,
  SpillRef,
  SpillResult,
} from "@holdfast/engine";
import type { SimHost } from "./host.ts";
import type { SimWorld } from "./world.ts";

interface SpilledFile {
  readonly header: SpillHeader;
  readonly events: NewEvent[];
  end: SpillEnd | null;
}

/** The disk of one host: it outlives the host's crashes, and no other host can read it. */
export class SimDisk {
  readonly place: string;
  readonly files = new Map<string, SpilledFile>();

  constructor(place: string) {
    this.place = place;
  }
}

const kept: SpillResult = { status: "kept" };
const full = { status: "failed", code: "spill_full", message: "simulated" } as const;

/** A host's access to its disk: fast, and sometimes full. Records what was acknowledged as kept. */
export function simSpills(world: SimWorld, host: SimHost, disk: SimDisk): SpillStore {
  const { scheduler, record, profile } = world;
  const writing = new Set<string>();

  function call<T>(what: string, act: () => T): Promise<T> {
    return new Promise((resolve) => {
      scheduler.after(scheduler.chance.between(0, 2), host, what, () => {
        const result = act();
        scheduler.after(scheduler.chance.between(0, 2), host, `${what}: done`, () =>
          resolve(result),
        );
      });
    });
  }

  const isFull = (): boolean => world.faultsEnabled && scheduler.chance.happens(profile.diskFull);

  function fileFor(name: string, file: SpilledFile): SpillFile {
    return {
      async append(events) {
        const result = await call("spill.append", (): SpillResult => {
          if (isFull()) return full;
          file.events.push(...events);
          return kept;
        });
        if (result.status === "kept")
          for (const event of events) record.spilled.push({ session: file.header.session, event });
        return result;
      },
      seal: (end) =>
        call("spill.seal", (): SpillResult => {
          if (isFull()) return full;
          file.end = end;
          return kept;
        }),
      close: () => call("spill.close", () => void writing.delete(name)),
      discard: () =>
        call("spill.discard", () => {
          writing.delete(name);
          disk.files.delete(name);
        }),
    };
  }

  return {
    place: disk.place,
    reserve: async () => {},
    begin: (header) =>
      call("spill.begin", (): SpillBeginResult => {
        if (isFull()) return full;
        const name = fileName(header);
        const file: SpilledFile = { header, events: [], end: null };
        disk.files.set(name, file);
        writing.add(name);
        return { status: "begun", file: fileFor(name, file) };
      }),
    isReady: async (ref) => disk.files.has(fileName(ref)) || ref.place === disk.place,
    read: (ref) =>
      call("spill.read", (): SpillReadResult => {
        const file = disk.files.get(fileName(ref));
        if (file === undefined)
          return { status: ref.place === disk.place ? "known_empty" : "arriving" };
        const { header, end } = file;
        if (file.events.length > 0)
          return { status: "output", header, events: [...file.events], end, damage: [] };
        return end === null
          ? { status: "arriving", isBegun: true }
          : { status: "sealed", header, damage: [] };
      }),
    forget: (ref) => call("spill.forget", () => void disk.files.delete(fileName(ref))),
    left: () =>
      call("spill.left", () =>
        [...disk.files].filter(([name]) => !writing.has(name)).map(([, { header }]) => header),
      ),
    all: () => call("spill.all", () => [...disk.files.values()].map(({ header }) => header)),
  };
}

function fileName({ runId, fence }: SpillRef): string {
  return `${runId} ${fence}`;
}
