import { createHash } from "node:crypto";
import { type Store, StoreFailure } from "@holdfast/engine";
import {
  blobId,
  type BlobId,
  maxProjectFileBytes,
  maxProjectFiles,
  type OwnerId,
} from "@holdfast/protocol";
import { z } from "zod";

import { safeFileName } from "../../util/safe-file-name.ts";
import { decodeText, isPdf } from "../documents/attachment-text.ts";
import { changeRow } from "./change-row.ts";
import { openKeptBlobs } from "./kept-blobs.ts";

const storedFile = z.looseObject({
  id: z.string(),
  name: z.string(),
  blobId,
  mediaType: z.string(),
  size: z.number(),
  addedAt: z.number(),
});
export type ProjectFile = z.infer<typeof storedFile>;
const storedFiles = z.looseObject({ files: z.array(storedFile) });

export interface NewProjectFile {
  readonly name: string;
  readonly blobId: BlobId;
  /** Otherwise a file of the same name is an error. */
  readonly replace: "same name" | "nothing";
  readonly now: number;
}

export type FileRefusal = "exists" | "too_many" | "too_large" | "not_text" | "no_blob";

/** The files of each project: blobs, and a row that names them and keeps them. */
export interface ProjectFiles {
  /** By name. */
  list(owner: OwnerId, project: string): Promise<readonly ProjectFile[]>;
  add(owner: OwnerId, project: string, file: NewProjectFile): Promise<ProjectFile | FileRefusal>;
  remove(owner: OwnerId, project: string, id: string): Promise<"removed" | "not_found">;
  /** Of a project that was deleted. */
  removeAll(owner: OwnerId, project: string): Promise<void>;
}

export function openProjectFiles(
  store: Pick<Store, "register" | "reads" | "putBlob">,
): ProjectFiles {
  const { register, reads } = store;
  const kept = openKeptBlobs(register);
  const keyOf = (project: string): string => `project-files/${project}`;

  async function list(owner: OwnerId, project: string): Promise<readonly ProjectFile[]> {
    const row = await register.read(owner, keyOf(project));
    return decode(row?.value ?? null);
  }

  async function releaseUnused(owner: OwnerId, project: string, blob: BlobId): Promise<void> {
    await kept.release(owner, blob, project, async () =>
      (await list(owner, project)).some((file) => file.blobId === blob),
    );
  }

  /** The blob is kept before the row names it and again after: a removal of the same bytes may come between. */
  async function write(
    owner: OwnerId,
    project: string,
    file: ProjectFile,
    replace: NewProjectFile["replace"],
  ): Promise<ProjectFile | "exists" | "too_many"> {
    let result: ProjectFile | "exists" | "too_many" = file;
    let replaced: BlobId | null = null;
    await kept.keep(owner, file.blobId, project);
    await changeRow(register, { owner, key: keyOf(project) }, (value) => {
      const known = decode(value);
      const same = known.find(({ id }) => id === file.id);
      const others = known.filter(({ id }) => id !== file.id);
      replaced = same?.blobId ?? null;
      result = file;
      // Also when the same request is sent again.
      if (same !== undefined && same.blobId === file.blobId && same.name === file.name)
        result = same;
      else if (same !== undefined && replace === "nothing") result = "exists";
      else if (others.length >= maxProjectFiles) result = "too_many";
      else return encode([...others, file]);
      return null;
    });
    if (typeof result === "string") await releaseUnused(owner, project, file.blobId);
    else await kept.keep(owner, file.blobId, project);
    if (replaced !== null && replaced !== file.blobId)
      await releaseUnused(owner, project, replaced);
    return result;
  }

  return {
    list,
    async add(owner, project, { name: given, blobId: blob, replace, now }) {
      const found = await reads.blob(owner, blob);
      if (found === null) return "no_blob";
      const { bytes, mediaType } = found;
      if (bytes.byteLength > maxProjectFileBytes) return "too_large";
      if (!isPdf(mediaType, bytes) && decodeText(bytes) === null) return "not_text";
      // Restarts its day of grace, so that it cannot be collected before it is kept.
      const put = await store.putBlob(owner, bytes, mediaType);
      if (put.status === "failed") throw new StoreFailure(put.code, put.message);
      const name = safeFileName(given);
      const id = createHash("sha256").update(name.toLowerCase()).digest("hex").slice(0, 24);
      const file = { id, name, blobId: blob, mediaType, size: bytes.byteLength, addedAt: now };
      return write(owner, project, { ...file, mediaType: mediaType.slice(0, 100) }, replace);
    },
    async remove(owner, project, id) {
      let removed: BlobId | null = null;
      await changeRow(register, { owner, key: keyOf(project) }, (value) => {
        const known = decode(value);
        removed = known.find((file) => file.id === id)?.blobId ?? null;
        return removed === null ? null : encode(known.filter((file) => file.id !== id));
      });
      if (removed === null) return "not_found";
      await releaseUnused(owner, project, removed);
      return "removed";
    },
    async removeAll(owner, project) {
      const files = await list(owner, project);
      if (files.length === 0) return;
      await changeRow(register, { owner, key: keyOf(project) }, () => encode([]));
      for (const file of files) await releaseUnused(owner, project, file.blobId);
    },
  };
}

function decode(value: string | null): readonly ProjectFile[] {
  return value === null ? [] : storedFiles.parse(JSON.parse(value)).files;
}

function encode(files: readonly ProjectFile[]): string {
  const sorted = files.toSorted((a, b) => a.name.localeCompare(b.name, "en"));
  return JSON.stringify({ files: sorted });
}
