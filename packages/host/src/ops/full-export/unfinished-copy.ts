import { type Store, StoreFailure } from "@holdfast/engine";
import { ownerId, sessionId } from "@holdfast/protocol";
import { z } from "zod";

import { done, failed, type Outcome } from "../../util/outcome.ts";

const host = ownerId.parse("holdfast:host");
const markKey = "import/unfinished";
const unfinishedMark = z.object({
  /** Of the file. */
  sha256: z.string(),
  /** The session of which nothing was here, and which is to be deleted once it is copied. */
  deleting: sessionId.nullable(),
});
type UnfinishedCopy = z.infer<typeof unfinishedMark>;

/** The import that was begun on this store and has not ended: no host may work on half of it. */
export async function unfinishedCopy({
  register,
}: Pick<Store, "register">): Promise<UnfinishedCopy | null> {
  const row = await register.read(host, markKey);
  return row === null ? null : (unfinishedMark.safeParse(JSON.parse(row.value)).data ?? null);
}

/** Half of an export would look like all of it, and its runs would be taken over. */
export async function refuseUnfinishedCopy(store: Pick<Store, "register">): Promise<Outcome<void>> {
  // A store that cannot be read at the moment has its own way to say so.
  const unfinished = await unfinishedCopy(store).catch(() => null);
  if (unfinished === null) return done(undefined);
  return failed(
    "store.unusable",
    "An import of everything into this store has not finished. Finish it with the same command: holdfast import <file>",
  );
}

export async function setUnfinishedCopy(
  { register }: Pick<Store, "register">,
  mark: UnfinishedCopy | null,
): Promise<void> {
  for (;;) {
    const row = await register.read(host, markKey);
    const value = JSON.stringify(mark);
    if (row?.value === value) return;
    const put = await register.put({
      owner: host,
      key: markKey,
      value,
      expect: row?.revision ?? 0,
    });
    if (put.status === "failed") throw new StoreFailure(put.code, put.message);
    if (put.status === "put") return;
  }
}
