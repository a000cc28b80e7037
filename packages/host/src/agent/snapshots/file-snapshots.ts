import type { OwnerId, SessionId, UnsavedReason } from "@holdfast/protocol";
import { z } from "zod";

/** A file's content, by its hash, and its permissions. */
const savedState = z.strictObject({ id: z.string(), mode: z.int().nonnegative() }).readonly();
export type SavedState = z.infer<typeof savedState>;

/** What happened to one file. `null`: there was no such file. Paths are relative to the workspace. */
const savedChange = z
  .strictObject({
    path: z.string(),
    before: savedState.nullable(),
    after: savedState.nullable(),
  })
  .readonly();
export type SavedChange = z.infer<typeof savedChange>;

export const changeList = z.array(savedChange);

export interface NotSaved {
  readonly path: string;
  readonly reason: UnsavedReason;
}

export interface SessionRef {
  readonly owner: OwnerId;
  readonly session: SessionId;
}

export interface SavedChanges {
  readonly changes: readonly SavedChange[];
  readonly notSaved: readonly NotSaved[];
  /** Why there may be changes that are not listed. */
  readonly missing?: UnsavedReason | undefined;
}

/**
 * Saves files of workspaces outside of them, by their content. What it returns are names that stay valid until `prune`
 * finds that nobody needs them. A folder is absolute and without links.
 */
export interface FileSnapshots {
  /** Names a folder. Contents are kept for each folder, so that they can be deleted together. */
  workspaceOf(folder: string): string;
  /** Returns once the content is on the disk. */
  put(workspace: string, content: Uint8Array): Promise<string>;
  /** `null` if it is not here or damaged. */
  get(workspace: string, id: string): Promise<Uint8Array | null>;
  /** The id that `put` would return. */
  idOf(content: Uint8Array): string;
  /** Saves the files of a folder that can be saved, and returns the snapshot's name. */
  take(folder: string, signal: AbortSignal): Promise<string>;
  /** Keeps everything that is saved of this workspace while the session exists. */
  keepFor(workspace: string, session: SessionRef): Promise<void>;
  /** Deletes what is saved of workspaces that no session needs any more. */
  prune(exists: (session: SessionRef) => Promise<boolean>): Promise<void>;
  /** What has changed in the folder since this snapshot. Both states of every listed file are saved. */
  changesSince(folder: string, snapshot: string, signal: AbortSignal): Promise<SavedChanges>;
}
