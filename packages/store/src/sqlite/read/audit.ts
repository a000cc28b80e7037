import { type Audit, type Failed, StoreFailure } from "@holdfast/engine/ports";

import type { Queries } from "./queries.ts";
import type { Operations } from "../write/operations.ts";

interface AuditDeps {
  readonly query: <Name extends keyof Queries>(
    name: Name,
    args: Parameters<Queries[Name]>,
  ) => Promise<ReturnType<Queries[Name]>>;
  readonly write: <Name extends keyof Operations>(
    name: Name,
    request: Operations[Name]["request"],
  ) => Promise<Operations[Name]["result"] | Failed>;
}

const pageSize = 500;
const blobPageSize = 8;

/** Keyset pages as one sequence. */
async function* pages<Item, Key>(
  first: Key,
  read: (after: Key) => Promise<readonly Item[]>,
  keyOf: (item: Item) => Key,
): AsyncGenerator<Item> {
  let after = first;
  for (;;) {
    const page = await read(after);
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    after = keyOf(last);
  }
}

async function* yieldAll<Item>(items: Promise<readonly Item[]>): AsyncGenerator<Item> {
  yield* await items;
}

function orThrow<Result extends { readonly status: string }>(
  result: Result | Failed,
): Exclude<Result, Failed> {
  if (result.status === "failed") {
    const { code, message } = result as Failed;
    throw new StoreFailure(code, message);
  }
  return result as Exclude<Result, Failed>;
}

export function createAudit({ query: ask, write }: AuditDeps): Audit {
  return {
    sessions: () =>
      pages(
        "",
        (after) => ask("auditSessions", [after, pageSize]),
        ({ id }): string => id,
      ),
    events: (session) =>
      pages(
        0,
        (after) => ask("auditEvents", [session, after, pageSize]),
        (event): number => event.seq,
      ),
    derived: (session) => ask("auditDerived", [session]),
    leases: () => yieldAll(ask("auditLeases", [])),
    async *blobs() {
      for await (const { blob } of pages(
        0,
        (after) => ask("auditBlobs", [after, blobPageSize]),
        ({ key }) => key,
      )) {
        yield blob;
      }
    },
    purges: () => yieldAll(ask("auditPurges", [])),
    orphans: () => yieldAll(ask("auditOrphans", [])),
    integrity: () => ask("auditIntegrity", []),
    replaceDerived: async (derived) => orThrow(await write("replaceDerived", derived)).status,
    async replaceBlobRefs(refs, owner) {
      orThrow(await write("replaceBlobRefs", { owner, refs }));
    },
  };
}
