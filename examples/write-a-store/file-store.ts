import {
  type Commit,
  type Derived,
  type Failed,
  type LeaseRef,
  type LeaseRequest,
  type RegisterChange,
  type RequestRow,
  type Store,
  StoreFailure,
} from "@holdfast/engine";
import type { BlobId, OwnerId, SessionId } from "@holdfast/protocol";
import { processIdentity } from "@holdfast/store/identity";
import { createReferenceStore, type ReferenceStore } from "@holdfast/testing/reference-store/store";
import { WriteAheadLog } from "./write-ahead-log.ts";

/**
 * Every write of the port. Arguments are JSON and each write is deterministic, so the file can hold the writes
 * themselves, and opening it replays them.
 */
const operations = {
  commit: (rows: Store, commit: Commit) => rows.commit(commit),
  putBlob: (rows: Store, owner: OwnerId, base64: string, mediaType: string) =>
    rows.putBlob(owner, Buffer.from(base64, "base64"), mediaType),
  purge: (rows: Store, owner: OwnerId, session: SessionId) => rows.purge(owner, session),
  prune: (rows: Store, limit: number) => rows.prune(limit),
  acquire: (rows: Store, request: LeaseRequest) => rows.leases.acquire(request),
  renew: (rows: Store, refs: readonly LeaseRef[], ttlMs: number) => rows.leases.renew(refs, ttlMs),
  release: (rows: Store, lease: LeaseRef) => rows.leases.release(lease),
  keep: (rows: Store, request: Omit<RequestRow, "at">) => rows.requests.keep(request),
  put: (rows: Store, change: RegisterChange) => rows.register.put(change),
  replaceDerived: (rows: Store, derived: Derived) => rows.audit.replaceDerived(derived),
  replaceBlobRefs: (rows: Store, refs: readonly (readonly [BlobId, number])[], owner: OwnerId) =>
    rows.audit.replaceBlobRefs(new Map(refs), owner),
};
type Operations = typeof operations;
type OperationName = keyof Operations;
type Arguments<K extends OperationName> =
  Parameters<Operations[K]> extends [Store, ...infer Rest] ? Rest : never;
type Answer<K extends OperationName> = Awaited<ReturnType<Operations[K]>>;

/** One line of the file. Writes read the clock, so the line records its time. */
interface Entry {
  readonly at: number;
  readonly name: OperationName;
  readonly args: readonly unknown[];
}

interface Waiting {
  readonly entry: Entry;
  readonly answer: (answer: unknown) => void;
}

export interface FileStore extends Store {
  /** Another handle on the same data. Closing the last one closes the file. */
  open(): FileStore;
}

export interface FileStoreOptions {
  readonly file: string;
  readonly clock?: () => number;
}

/** A durable store for one process: rows are in memory, and every write is synced to a file first. */
export async function openFileStore({
  file,
  clock = Date.now,
}: FileStoreOptions): Promise<FileStore> {
  const writer = new Writer(clock);
  await writer.open(file);
  return openHandle(writer);
}

/** Applies writes one after another: to the file first and, once that is synced, to the rows. */
class Writer {
  readonly rows: ReferenceStore;
  readonly #clock: () => number;
  readonly #queue: Waiting[] = [];
  #log!: WriteAheadLog;
  #writing: Promise<void> | null = null;
  /** The time of the write being applied. */
  #at: number | null = null;
  handles = 0;

  constructor(clock: () => number) {
    this.#clock = clock;
    this.rows = createReferenceStore({ clock: () => this.#at ?? clock() });
  }

  async open(file: string): Promise<void> {
    // No validation: this class wrote the file, and each line passed its checksum.
    this.#log = await WriteAheadLog.open(file, async (value) => {
      await this.#apply(value as Entry);
    });
  }

  write<K extends OperationName>(name: K, ...args: Arguments<K>): Promise<Answer<K> | Failed> {
    const { promise, resolve } = Promise.withResolvers<Answer<K> | Failed>();
    const answer = (value: unknown) => resolve(value as Answer<K> | Failed);
    this.#queue.push({ entry: { at: this.#clock(), name, args }, answer });
    this.#writing ??= this.#writeAll();
    return promise;
  }

  /** Writes that arrive while the disk is busy share the next sync. */
  async #writeAll(): Promise<void> {
    while (this.#queue.length > 0) {
      const group = this.#queue.splice(0);
      try {
        await this.#log.append(group.map(({ entry }) => entry));
      } catch (error) {
        for (const { answer } of group) answer(failureOf(error));
        continue;
      }
      for (const { entry, answer } of group) answer(await this.#apply(entry));
    }
    this.#writing = null;
  }

  async #apply({ at, name, args }: Entry): Promise<unknown> {
    const operation = operations[name] as (rows: Store, ...args: unknown[]) => Promise<unknown>;
    this.#at = at;
    try {
      return await operation(this.rows, ...args);
    } finally {
      this.#at = null;
    }
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#log.close();
  }
}

/** The write may be in the file; the caller finds out by repeating it. */
function failureOf(error: unknown): Failed {
  const message = error instanceof Error ? error.message : String(error);
  return { status: "failed", code: "store_unknown", message };
}

function openHandle(writer: Writer): FileStore {
  const reader = writer.rows.open();
  let isClosed = false;
  writer.handles += 1;

  async function write<K extends OperationName>(
    name: K,
    ...args: Arguments<K>
  ): Promise<Answer<K> | Failed> {
    const message = "This handle is closed.";
    if (isClosed) return { status: "failed", code: "store_closed", message };
    return writer.write(name, ...args);
  }

  return {
    ...reader,
    // A restarted process knows that its predecessor is dead and need not wait for its leases to expire.
    identity: processIdentity,
    commit: (commit) => write("commit", commit),
    putBlob: (owner, bytes, mediaType) =>
      write("putBlob", owner, Buffer.from(bytes).toString("base64"), mediaType),
    purge: (owner, session) => write("purge", owner, session),
    prune: (limit) => write("prune", limit),
    leases: {
      read: (kind, session) => reader.leases.read(kind, session),
      expired: (kind, limit) => reader.leases.expired(kind, limit),
      acquire: (request) => write("acquire", request),
      renew: (refs, ttlMs) => write("renew", refs, ttlMs),
      release: (lease) => write("release", lease),
    },
    requests: {
      find: (owner, key) => reader.requests.find(owner, key),
      keep: (request) => write("keep", request),
    },
    register: {
      read: (owner, key) => reader.register.read(owner, key),
      list: (owner, prefix, limit) => reader.register.list(owner, prefix, limit),
      put: (change) => write("put", change),
    },
    audit: {
      ...reader.audit,
      replaceDerived: async (derived) => orThrow(await write("replaceDerived", derived)),
      replaceBlobRefs: async (refs, owner) =>
        orThrow(await write("replaceBlobRefs", [...refs], owner)),
    },
    open: () => openHandle(writer),
    async close() {
      if (isClosed) return;
      isClosed = true;
      await reader.close();
      writer.handles -= 1;
      if (writer.handles === 0) await writer.close();
    },
  };
}

/** The result types of repairs have no failure. */
function orThrow<T extends string | void>(answer: T | Failed): T {
  if (typeof answer === "object") throw new StoreFailure(answer.code, answer.message);
  return answer;
}
