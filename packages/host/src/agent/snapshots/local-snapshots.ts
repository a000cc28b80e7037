import { createHash } from "node:crypto";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";

import { ownerId, sessionId, type UnsavedReason, unsavedReason } from "@holdfast/protocol";
import { z } from "zod";

import { withFileLock, writeFileAtomically } from "../../util/atomic-file.ts";
import { mapParallel } from "../../util/map-parallel.ts";
import { serialQueue } from "../../util/serial-queue.ts";
import { Jail } from "../workspace/jail.ts";
import type {
  FileSnapshots,
  NotSaved,
  SavedChange,
  SavedChanges,
  SavedState,
  SessionRef,
} from "./file-snapshots.ts";
import { GitIndex, type IndexEntry, type ScannedFolder, type TreeChange } from "./git-index.ts";
import { ObjectFiles } from "./object-files.ts";
import { readWhole } from "./read-saved.ts";
import { chooseOldest, listSaved, noteRemoval, sizeOf } from "./saved-size.ts";

/** A snapshot as it is stored: a tree in git's own format, without the contents of what has not changed. */
const storedSnapshot = z.strictObject({
  tree: z.string().nullable(),
  missing: unsavedReason.optional(),
  notSaved: z.array(z.strictObject({ path: z.string(), reason: unsavedReason })),
});
type StoredSnapshot = z.infer<typeof storedSnapshot>;

const workspaceName = /^[0-9a-f]{32}$/;
const maxFiles = 10_000;
const maxTotalBytes = 256 * 1024 * 1024;
const parallelReads = 16;
const maxNotSaved = 100;
const lockTries = 200;
const lockRetryMs = 50;

export interface LocalSnapshotsDeps {
  /** Where snapshots are stored. */
  readonly folder: string;
  /** The path of git; `null` without it. */
  readonly git: string | null;
  /** Beyond this the oldest contents are removed; without it there is no limit. */
  readonly mostBytes?: number;
  /** How long git may look for changes. */
  readonly scanLimitMs?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

const usualScanLimitMs = 10_000;
/** So long a folder that git could not scan in time is left alone. */
const restMs = 10 * 60_000;
const trimEveryMs = 60_000;

/** Keeps snapshots in a folder of this machine. Git finds what has changed, with an index and a folder of our own. */
export class LocalFileSnapshots implements FileSnapshots {
  readonly #deps: LocalSnapshotsDeps;
  readonly #indexes = new Map<string, Promise<GitIndex>>();
  readonly #queues = new Map<string, ReturnType<typeof serialQueue>>();
  readonly #kept = new Set<string>();
  readonly #restingUntil = new Map<string, number>();
  /** What is saved, as far as it is known: counted once, and then what is written is added. */
  #savedBytes = 0;
  /** Nothing is old enough to make room. */
  #isFull = false;
  #nextTrimAt = 0;

  constructor(deps: LocalSnapshotsDeps) {
    this.#deps = deps;
  }

  workspaceOf(folder: string): string {
    return createHash("sha256").update(folder).digest("hex").slice(0, 32);
  }

  idOf(content: Uint8Array): string {
    return ObjectFiles.idOf(content);
  }

  put(workspace: string, content: Uint8Array): Promise<string> {
    return this.#objects(workspace).put(content, "synced");
  }

  get(workspace: string, id: string): Promise<Uint8Array | null> {
    return this.#objects(workspace).get(id);
  }

  async take(folder: string, signal: AbortSignal): Promise<string> {
    const workspace = this.workspaceOf(folder);
    const snapshot = await this.#exclusively(workspace, () => this.#capture(folder, signal));
    const text = JSON.stringify(snapshot);
    return this.#objects(workspace).put(Buffer.from(text), "cached");
  }

  async changesSince(folder: string, name: string, signal: AbortSignal): Promise<SavedChanges> {
    const stored = await this.get(this.workspaceOf(folder), name);
    const before = stored === null ? null : decodeSnapshot(stored);
    if (before === null) return nothingKnown("failed");
    if (before.tree === null) return nothingKnown(before.missing ?? "failed");
    const { tree } = before;
    return this.#exclusively(this.workspaceOf(folder), async () => {
      const after = await this.#capture(folder, signal);
      if (after.tree === null) return nothingKnown(after.missing ?? "failed");
      const index = await this.#index(folder, signal);
      const changes = await index?.compare(tree, after.tree, signal);
      if (index == null || changes == null) return nothingKnown("failed");
      if (changes.length > maxFiles) return nothingKnown("too_many");
      const notSaved = [...before.notSaved, ...after.notSaved];
      const known = new Set(notSaved.map(({ path }) => path));
      const listed = changes.filter(({ path }) => !known.has(path));
      return this.#keepContents(folder, index, listed, { notSaved, signal });
    });
  }

  async keepFor(workspace: string, { owner, session }: SessionRef): Promise<void> {
    const file = join(this.#folderOf(workspace), "sessions", session);
    if (this.#kept.has(file)) return;
    // An empty file would say that no session needs what is saved.
    await writeFileAtomically(file, owner);
    this.#kept.add(file);
  }

  async prune(exists: (session: SessionRef) => Promise<boolean>): Promise<void> {
    for (const workspace of await namesIn(this.#deps.folder)) {
      if (!workspaceName.test(workspace)) continue;
      const sessions = join(this.#folderOf(workspace), "sessions");
      let isNeeded = false;
      for (const name of await namesIn(sessions)) {
        const session = sessionId.safeParse(name);
        const owner = ownerId.safeParse(await readFile(join(sessions, name), "utf8"));
        const ref = session.success &&
          owner.success && { owner: owner.data, session: session.data };
        if (ref !== false && (await exists(ref))) isNeeded = true;
        else await rm(join(sessions, name), { force: true });
      }
      if (isNeeded) continue;
      this.#indexes.delete(workspace);
      this.#kept.clear();
      await rm(this.#folderOf(workspace), { recursive: true, force: true });
    }
    await this.#trim();
  }

  #grow(bytes: number): void {
    const { mostBytes = Infinity, now = Date.now } = this.#deps;
    this.#savedBytes += bytes;
    if (this.#savedBytes <= mostBytes || now() < this.#nextTrimAt) return;
    this.#nextTrimAt = now() + trimEveryMs;
    // Nobody waits for it. What cannot be removed now is tried again later.
    this.#trim().catch(() => undefined);
  }

  /** Removes the oldest contents if there are too many. An undo that needs one of them says that it is not saved. */
  async #trim(): Promise<void> {
    const { folder, mostBytes = Infinity, now = Date.now } = this.#deps;
    const saved = await listSaved(folder);
    const chosen = chooseOldest(saved, { mostBytes, now: now() });
    for (const workspace of new Set(chosen.map((each) => each.workspace)))
      await this.#exclusively(workspace, async () => {
        const own = chosen.filter((each) => each.workspace === workspace);
        // The index may name trees that go.
        this.#indexes.delete(workspace);
        await rm(join(this.#folderOf(workspace), "index"), { force: true });
        await mapParallel(own, parallelReads, ({ path }) => rm(path, { force: true }));
      });
    this.#savedBytes = sizeOf(saved) - sizeOf(chosen);
    this.#isFull = this.#savedBytes > mostBytes;
    const newest = chosen.at(-1);
    if (newest !== undefined)
      await noteRemoval(folder, { at: now(), upTo: newest.writtenAt, bytes: sizeOf(chosen) });
  }

  async #capture(folder: string, signal: AbortSignal): Promise<StoredSnapshot> {
    const { scanLimitMs = usualScanLimitMs, now = Date.now } = this.#deps;
    const workspace = this.workspaceOf(folder);
    const isResting = now() < (this.#restingUntil.get(workspace) ?? 0);
    if (this.#isFull) this.#grow(0);
    if (isResting || this.#isFull) return unavailable("failed");
    const index = await this.#index(folder, signal);
    if (index === null) return unavailable("no_git");
    const failed = (): StoredSnapshot => {
      // The next command begins anew: our folder may have been deleted.
      this.#indexes.delete(workspace);
      return unavailable("failed");
    };
    const limit = AbortSignal.timeout(scanLimitMs);
    const scanned = await index.scan(AbortSignal.any([signal, limit]));
    // Git waits for ever at a FIFO that is named like one of its files. Every command would wait with it.
    if (scanned === null && limit.aborted) this.#restingUntil.set(workspace, now() + restMs);
    if (scanned === null) return failed();
    if (scanned.touched.length > maxFiles) return unavailable("too_many");
    const jail = await Jail.open(folder);
    if (!jail.ok) return failed();
    const notSaved: NotSaved[] = notRead(scanned);
    const entries = await this.#saveFiles(jail.value, scanned.touched, notSaved);
    if (entries === null) return unavailable("too_many");
    const tree = signal.aborted ? null : await index.write(entries, signal);
    if (tree === null) return failed();
    return { tree, notSaved: notSaved.slice(0, maxNotSaved) };
  }

  async #saveFiles(
    jail: Jail,
    paths: readonly string[],
    notSaved: NotSaved[],
  ): Promise<readonly IndexEntry[] | null> {
    const objects = this.#objects(this.workspaceOf(jail.root));
    const entries: IndexEntry[] = [];
    let room = maxTotalBytes;
    await mapParallel(paths, parallelReads, async (path) => {
      if (room < 0) return;
      const file = await readWhole(jail, path);
      if (file.kind === "refused") notSaved.push({ path, reason: file.reason });
      if (file.kind === "absent") entries.push([path, null]);
      if (file.kind !== "file") return;
      room -= file.content.byteLength;
      const id = await objects.put(file.content, "cached");
      entries.push([path, { id, mode: file.mode }]);
    });
    return room < 0 ? null : entries;
  }

  /** The repository may lose what it has; what an undo needs is copied. */
  async #keepContents(
    folder: string,
    index: GitIndex,
    listed: readonly TreeChange[],
    { notSaved, signal }: { readonly notSaved: readonly NotSaved[]; readonly signal: AbortSignal },
  ): Promise<SavedChanges> {
    const objects = this.#objects(this.workspaceOf(folder));
    const changes: SavedChange[] = [];
    const lost: NotSaved[] = [...notSaved];
    const needed = new Set<string>();
    for (const { before } of listed)
      if (before !== null && before !== "other" && !(await objects.has(before.id)))
        needed.add(before.id);
    const copied = await index.readFromSource([...needed], signal);
    const contents = [...copied.values()];
    await mapParallel(contents, parallelReads, (content) => objects.put(content, "cached"));
    for (const { path, before, after } of listed) {
      if (before === "other" || after === "other") lost.push({ path, reason: "link" });
      else if (isLost(before, needed, copied)) lost.push({ path, reason: "unreadable" });
      else changes.push({ path, before, after });
    }
    return { changes, notSaved: lost };
  }

  async #index(folder: string, signal: AbortSignal): Promise<GitIndex | null> {
    const { git } = this.#deps;
    if (git === null) return null;
    const workspace = this.workspaceOf(folder);
    const open = this.#indexes.get(workspace);
    if (open !== undefined) return open;
    const opening = GitIndex.open(git, this.#folderOf(workspace), folder, signal);
    this.#indexes.set(workspace, opening);
    // The next command tries again.
    opening.catch(() => this.#indexes.delete(workspace));
    return opening;
  }

  /** Git's index has one writer at a time, here and in other processes on this home. */
  #exclusively<T>(workspace: string, work: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(workspace) ?? serialQueue();
    this.#queues.set(workspace, queue);
    return queue(async () => {
      for (let attempt = 1; attempt <= lockTries; attempt += 1) {
        const result = await withFileLock(join(this.#folderOf(workspace), "writer"), work);
        if (result !== "busy") return result;
        await new Promise((resolve) => setTimeout(resolve, lockRetryMs));
      }
      throw new Error("Another process is saving files of this workspace.");
    });
  }

  #objects(workspace: string): ObjectFiles {
    return new ObjectFiles(join(this.#folderOf(workspace), "objects"), (bytes) =>
      this.#grow(bytes),
    );
  }

  #folderOf(workspace: string): string {
    return join(this.#deps.folder, workspace);
  }
}

function isLost(
  before: SavedState | null,
  needed: ReadonlySet<string>,
  copied: ReadonlyMap<string, Uint8Array>,
): boolean {
  return before !== null && needed.has(before.id) && !copied.has(before.id);
}

function notRead({ repositories }: ScannedFolder): NotSaved[] {
  return repositories.map((path) => ({ path, reason: "repository" }));
}

function unavailable(missing: UnsavedReason): StoredSnapshot {
  return { tree: null, missing, notSaved: [] };
}

function nothingKnown(missing: UnsavedReason): SavedChanges {
  return { changes: [], notSaved: [], missing };
}

function decodeSnapshot(bytes: Uint8Array): StoredSnapshot | null {
  try {
    return storedSnapshot.safeParse(JSON.parse(Buffer.from(bytes).toString("utf8"))).data ?? null;
  } catch {
    return null;
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}
