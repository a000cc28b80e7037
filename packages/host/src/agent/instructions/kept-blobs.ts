import { keptBlobPrefix, keptByNobody, type Register } from "@holdfast/engine";
import type { BlobId, OwnerId } from "@holdfast/protocol";
import { z } from "zod";

import { changeRow } from "./change-row.ts";

const holders = z.array(z.string());

/** Keeps blobs that no event names from being collected. */
export interface KeptBlobs {
  /** Writes even if nothing changes: a release that was decided before this one must not win. */
  keep(owner: OwnerId, blob: BlobId, holder: string): Promise<void>;
  /** Unless `isNeeded` says, at the last moment, that the holder still needs it. */
  release(
    owner: OwnerId,
    blob: BlobId,
    holder: string,
    isNeeded: () => Promise<boolean>,
  ): Promise<void>;
}

export function openKeptBlobs(register: Register): KeptBlobs {
  const decode = (value: string | null): readonly string[] =>
    value === null ? [] : holders.parse(JSON.parse(value));
  const encode = (all: readonly string[]): string =>
    all.length === 0 ? keptByNobody : JSON.stringify(all);
  return {
    async keep(owner, blob, holder) {
      await changeRow(register, { owner, key: `${keptBlobPrefix}${blob}` }, (value) =>
        encode([...new Set([...decode(value), holder])]),
      );
    },
    async release(owner, blob, holder, isNeeded) {
      await changeRow(register, { owner, key: `${keptBlobPrefix}${blob}` }, async (value) =>
        (await isNeeded()) ? null : encode(decode(value).filter((each) => each !== holder)),
      );
    },
  };
}
