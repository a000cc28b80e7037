import { z } from "zod";

import type { Connection } from "../connection.ts";

const progressShape = z.object({
  pos: z.int(),
  event_id: z.string().nullable(),
  goal: z.int(),
  next_doc: z.int(),
  purges: z.int(),
});

/** How far the index has come. */
export type IndexProgress = z.infer<typeof progressShape>;

/** How far the store has come. */
export interface StoreHead {
  readonly pos: number;
  readonly purges: number;
}

export function readProgress(index: Connection): IndexProgress | undefined {
  const row = index.sql("SELECT pos, event_id, goal, next_doc, purges FROM progress").get();
  return row === undefined ? undefined : progressShape.parse(row);
}

/** Takes everything out of the index; what is committed now is its goal. */
export function beginProgress(index: Connection, { pos: goal, purges }: StoreHead): IndexProgress {
  index.exec("INSERT INTO postings (postings) VALUES ('delete-all')");
  for (const table of ["documents", "stretches", "titles", "purged", "progress"]) {
    index.exec(`DELETE FROM ${table}`);
  }
  // Sessions purged before now are not in what is indexed from now on.
  index.sql("INSERT INTO progress VALUES (0, NULL, ?, 1, ?)").run(goal, purges);
  return { pos: 0, event_id: null, goal, next_doc: 1, purges };
}

export function writeProgress(index: Connection, progress: IndexProgress): void {
  const { pos, event_id, goal, next_doc, purges } = progress;
  index
    .sql("UPDATE progress SET pos = ?, event_id = ?, goal = ?, next_doc = ?, purges = ?")
    .run(pos, event_id, goal, next_doc, purges);
}
