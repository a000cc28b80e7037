import { z } from "zod";

import type { Conversation } from "./conversations.ts";
import type { HermesDatabase } from "./database.ts";
import type { Report } from "../reading/folder.ts";
import { text } from "../reading/json.ts";
import type { PageFolder } from "./page-files.ts";
import type { Sidecar } from "./sidecar.ts";

/** Sessions in which nothing was ever said aren't taken. */
export function reportGhost(
  { segments, rows }: Conversation,
  sidecar: Sidecar | null,
  report: Report,
): void {
  for (const session of segments)
    report({
      code: "ghost",
      outcome: "skipped",
      path: rows.length > 0 ? "state.db" : (sidecar?.path ?? "webui/sessions"),
      session,
      text: "It has no messages.",
    });
}

/** What a person deleted isn't brought back. */
export function reportDeleted(session: string, rows: number, report: Report): void {
  report({
    code: "deleted",
    outcome: "deleted",
    path: "webui/sessions/_deleted_webui_sessions.json",
    session,
    text:
      rows === 0
        ? "It was deleted on the page."
        : `It was deleted on the page; ${rows} of its rows are still in the database, and are not restored.`,
  });
}

/** The page's index is a cache, wrong in both directions. */
export function reportIndex(
  page: PageFolder | null,
  known: ReadonlySet<string>,
  sidecars: ReadonlyMap<string, Sidecar>,
  report: Report,
): void {
  if (page === null || page.indexed.size === 0) return;
  const path = "webui/sessions/_index.json";
  for (const session of sidecars.keys())
    if (!page.indexed.has(session))
      report({
        code: "index_lacks_session",
        outcome: "note",
        path,
        session,
        text: "The page's index does not list this session; its file was read.",
      });
  for (const session of page.indexed)
    if (page.files.get(session)?.sidecar !== true && !page.deleted.has(session))
      report({
        code: "index_names_missing_session",
        outcome: "note",
        path,
        session,
        text: known.has(session)
          ? "The page's index lists it but its file is missing. The other stores have it."
          : "The page's index lists it, but nothing of it is left.",
      });
}

/** Tables of the database without a place here. */
export function reportTables(database: HermesDatabase | null, report: Report): void {
  const lock = z.object({ session_id: text });
  for (const row of database?.table("compression_locks") ?? [])
    report({
      code: "leftover",
      outcome: "note",
      path: "state.db",
      session: lock.safeParse(row).data?.session_id ?? undefined,
      text: "A leftover lock of an interrupted compression. It has no effect here.",
    });
  const goal = z.object({ key: z.string(), value: text });
  for (const row of database?.table("state_meta") ?? []) {
    const read = goal.safeParse(row).data;
    if (read?.key.startsWith("goal:") !== true) continue;
    report({
      code: "not_supported",
      outcome: "skipped",
      path: "state.db",
      session: read.key.slice("goal:".length),
      text: "Goals of sessions are not supported.",
      bytes: Buffer.from(read.value ?? ""),
    });
  }
}
