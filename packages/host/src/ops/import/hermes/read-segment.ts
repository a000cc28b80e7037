import type { HermesDatabase, StoredMessage, StoredSession } from "./database.ts";
import type { Report } from "../reading/folder.ts";

/** All sessions of the database. A damaged table can have the same id twice: its rows are of one conversation. */
export function readSessions(
  database: HermesDatabase | null,
  report: Report,
): readonly StoredSession[] {
  const byId = new Map<string, StoredSession>();
  try {
    for (const session of database?.sessions() ?? []) {
      if (byId.has(session.id))
        report({
          code: "duplicate_id",
          outcome: "damaged",
          path: "state.db",
          session: session.id,
          text: "The database has this session more than once. The newest row was used.",
        });
      byId.set(session.id, session);
    }
  } catch (error) {
    report({
      code: "unreadable",
      outcome: "damaged",
      path: "state.db",
      text: `Its sessions can't be read (${error instanceof Error ? error.message : "unknown error"}).`,
    });
  }
  return [...byId.values()];
}

/** The rows of one session, in their order. What can't be read is reported with its bytes. */
export function readSegment(
  database: HermesDatabase,
  id: string,
  report: Report,
): readonly StoredMessage[] {
  const problems: Omit<Parameters<Report>[0], "session" | "path">[] = [];
  const stored: StoredMessage[] = [];
  try {
    const rows = database.messages(id, ({ row, kind, bytes }) =>
      problems.push({
        code: kind,
        outcome: "damaged",
        text:
          kind === "broken_text"
            ? `The text of row ${row} isn't valid UTF-8.`
            : `The tool calls of row ${row} can't be read.`,
        bytes,
      }),
    );
    for (const each of rows) {
      if ("message" in each) stored.push(each);
      else if ("unknown" in each)
        problems.push({
          code: "unknown_row",
          outcome: "damaged",
          text: `Row ${each.row} has an unknown role.`,
          bytes: Buffer.from(each.unknown),
        });
    }
  } catch (error) {
    problems.push({
      code: "unreadable",
      outcome: "damaged",
      text: `Its rows can't be read (${error instanceof Error ? error.message : "unknown error"}).`,
    });
  }
  for (const problem of problems) report({ ...problem, path: "state.db", session: id });
  return stored;
}
