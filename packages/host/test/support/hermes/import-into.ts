import { join } from "node:path";
import { createLog, type Store } from "@holdfast/engine";
import { type ImportKind, type ImportSourceName, ownerId } from "@holdfast/protocol";

import { openPersonaStore } from "../../../src/agent/instructions/persona-store.ts";
import { openAddedServers } from "../../../src/agent/mcp/added-servers.ts";
import { openFactStore } from "../../../src/agent/memory/fact-store.ts";
import { childSource } from "../../../src/ops/import/child-source.ts";
import { readers } from "../../../src/ops/import/readers.ts";
import { parseReport, type ReportItem, type StoredReport } from "../../../src/ops/import/report.ts";
import { type FinishedImport, runImport } from "../../../src/ops/import/run-import.ts";
import { openSecrets } from "../../../src/ops/secrets/secrets.ts";
import { keySettings } from "../providers/models.ts";
import { readFileSync } from "node:fs";

export const owner = ownerId.parse("owner");

export interface ImportOptions {
  /** Without a process of its own: faster. */
  readonly where?: "child" | "here";
  readonly source?: ImportSourceName;
  readonly mode?: "write" | "dry";
  readonly secrets?: "taken" | "left";
  readonly only?: readonly ImportKind[];
  readonly profile?: string;
}

/** Where things other than sessions go; the same for several imports. */
export async function openTaker(home: string, store: Store) {
  const { register } = store;
  const { secrets, rows } = await openSecrets(keySettings(home), store, (error) => {
    throw error;
  });
  return {
    log: createLog(store),
    owner,
    home,
    facts: openFactStore({ register, home }),
    personas: openPersonaStore({ register, home }),
    secrets,
    addedServers: openAddedServers(rows),
  };
}
export type Taker = Awaited<ReturnType<typeof openTaker>>;

let count = 0;

/** Imports the data of another program, through the process that reads it. */
export async function importInto(
  taker: Taker,
  path: string,
  {
    source = "hermes",
    where = "child",
    mode = "write",
    secrets = "left",
    only = [],
    profile,
  }: ImportOptions = {},
): Promise<
  FinishedImport & { readonly items: readonly ReportItem[]; readonly report: StoredReport | null }
> {
  count += 1;
  const { signal } = new AbortController();
  const scratch = join(taker.home, "imports", `.${count}`);
  const about = { source, path, scratch, secrets, now: 1 } as const;
  const request = { ...about, only: [...only], ...(profile !== undefined && { profile }) };
  const items =
    where === "child"
      ? childSource(request, signal)
      : { name: source, items: () => readers[source](request) };
  const finished = await runImport(
    { ...taker, mode },
    {
      id: `import-${count}`,
      source: items,
      path,
      folder: join(taker.home, "imports"),
      startedAt: count,
      now: () => count,
      signal,
      onProgress: () => {},
    },
  );
  return { ...finished, ...(await readReport(finished.reportPath)) };
}

export async function readReport(path: string): Promise<{
  readonly items: readonly ReportItem[];
  readonly report: StoredReport | null;
}> {
  const items: ReportItem[] = [];
  const lines = readFileSync(path, "utf8").split("\n");
  const report = await parseReport(lines, (item) => items.push(item));
  return { items, report };
}
