import type { Store } from "@holdfast/engine";
import { type OwnerId, sessionId, type SessionId } from "@holdfast/protocol";
import { z } from "zod";

import type { ReportItem } from "../../../src/ops/import/report.ts";
import { differencesOfHome, homeTruth } from "./compare-home.ts";
import { compareSession } from "./compare-session.ts";
import type { Taker } from "./import-into.ts";

const knownMessage = z.object({
  role: z.string(),
  sha256: z.string(),
  /** `card`, `overheard`, `partial: …`, or why something of it is lost. */
  note: z.string().optional(),
  /** In which stores it is. */
  where: z.array(z.string()).optional(),
  /** The names of its calls. */
  tools: z.array(z.string()).default([]),
  reasoning: z.boolean().default(false),
  images: z.number().default(0),
});

const hiddenMessage = z.object({
  why: z.string(),
  role: z.string().optional(),
  sha256: z.string().optional(),
});

const knownUsage = z.object({
  input_tokens: z.number().default(0),
  output_tokens: z.number().default(0),
  cache_read_tokens: z.number().default(0),
  cache_write_tokens: z.number().default(0),
  estimated_cost_usd: z.number().nullish(),
  actual_cost_usd: z.number().nullish(),
  model: z.string().nullish(),
});

/** What is known of a home apart from what an import says: as the truth beside a genuine one has it. */
export const truthSchema = z.object({
  counts: z.object({ images: z.number(), tool_calls: z.number() }).optional(),
  conversations: z.array(
    z.object({
      /** Its newest session. */
      id: z.string(),
      segments: z.array(z.string()),
      source: z.string().optional(),
      title: z.string().nullish(),
      flags: z
        .object({
          archived: z.boolean().optional(),
          pinned: z.boolean().optional(),
          project: z.string().optional(),
          tags: z.array(z.string()).optional(),
        })
        .default({}),
      fork_of: z.object({ id: z.string(), shared: z.number() }).optional(),
      hidden: z.string().optional(),
      draft: z.string().optional(),
      /** In seconds. */
      started_at: z.number().nullish(),
      stores: z.array(z.string()).optional(),
      session_rows: z.array(knownUsage).optional(),
      messages: z.array(knownMessage),
      /** Of these, what the person took back is kept out of view; copies and summaries are no messages. */
      not_shown: z.array(hiddenMessage).default([]),
    }),
  ),
  damaged: z
    .array(z.object({ kind: z.string(), path: z.string(), session: z.string() }))
    .default([]),
  leftovers: z.array(z.object({ kind: z.string(), session: z.string() })).optional(),
  ghosts: z.array(z.object({ id: z.string(), where: z.string().optional() })).default([]),
  deleted: z.array(z.object({ id: z.string(), rows_left: z.number().optional() })).default([]),
  home: homeTruth.optional(),
});
export type Truth = z.infer<typeof truthSchema>;
export type TruthInput = z.input<typeof truthSchema>;

export interface Compared {
  readonly store: Pick<Store, "reads" | "register">;
  readonly owner: OwnerId;
  readonly items: readonly ReportItem[];
}

/** Notes a difference unless both are the same. */
export type Differ = (id: string, what: string, here: unknown, there: unknown) => void;

/**
 * Compares what was imported with the truth, and returns each difference. How the two name things: `card` and `system`
 * messages are notices here; the page's "Untitled" is no title; a subagent's session is archived and has its parent's
 * tag; what the truth calls damaged is a finding of the same code, path and session.
 */
export async function differencesFrom(
  truth: Truth,
  compared: Compared & { readonly taker: Taker },
): Promise<string[]> {
  const found: string[] = [];
  const differ: Differ = (id, what, here, there) => {
    const [a, b] = [JSON.stringify(here), JSON.stringify(there)];
    if (a !== b) found.push(`${id}: ${what}: ${a} instead of ${b}`);
  };
  const { items } = compared;
  const taken = sessionsIn(items);
  const sums = { images: 0, tool_calls: 0 };
  for (const known of truth.conversations) {
    const here = taken.get(known.id);
    if (here === undefined) {
      found.push(`${known.id}: missing`);
      continue;
    }
    const { images, calls } = await compareSession(known, here, compared, differ);
    sums.images += images;
    sums.tool_calls += calls;
  }
  const profiles = Object.values(truth.home?.profiles ?? {}).map(({ session }) => session);
  const others = [...taken.keys()].filter((id) => !profiles.includes(id));
  const expected = truth.conversations.map(({ id }) => id);
  differ("home", "conversations", others.toSorted(), expected.toSorted());
  if (truth.counts !== undefined) {
    const { images, tool_calls } = truth.counts;
    differ("home", "pictures and calls", sums, { images, tool_calls });
  }
  compareFindings(truth, items, differ);
  if (truth.home !== undefined) await differencesOfHome(truth.home, compared, taken, differ);
  return found;
}

export type TakenSessions = ReadonlyMap<string, TakenSession>;
export interface TakenSession {
  readonly item: ReportItem;
  readonly session: SessionId;
}

function sessionsIn(items: readonly ReportItem[]): TakenSessions {
  return new Map(
    items.flatMap((item) => {
      const session = sessionId.safeParse(item.session).data;
      const tip = item.ids?.at(-1);
      return item.item !== "session" || session === undefined || tip === undefined
        ? []
        : [[tip, { item, session }] as const];
    }),
  );
}

/** Each damage is reported with its place, and nothing else is called so. */
function compareFindings(truth: Truth, items: readonly ReportItem[], differ: Differ): void {
  const remarks = items.flatMap((item) => [
    ...(item.item === "finding" ? [{ ...item, text: item.name }] : []),
    ...(item.remarks ?? []),
  ]);
  const kinds = new Set(truth.damaged.map(({ kind }) => kind));
  const nameOf = (code: unknown, path: unknown, session: unknown): string =>
    `${String(code)} ${String(path)} ${String(session)}`;
  const reported = remarks.flatMap(({ code, path, session }) =>
    kinds.has(code ?? "") ? [nameOf(code, path, session)] : [],
  );
  const damaged = truth.damaged.map(({ kind, path, session }) => nameOf(kind, path, session));
  differ("home", "damaged", [...new Set(reported)].toSorted(), damaged.toSorted());
  const named = (wanted: string) => remarks.filter(({ code }) => code === wanted);
  differ(
    "home",
    "ghosts",
    named("ghost")
      .map(({ session }) => session ?? "")
      .toSorted(),
    truth.ghosts.map(({ id }) => id).toSorted(),
  );
  for (const { id, where } of truth.ghosts) {
    const path = named("ghost").find(({ session }) => session === id)?.path;
    if (where !== undefined)
      differ(id, "place of a ghost", path === "state.db", where === "state.db");
  }
  differ(
    "home",
    "deleted",
    named("deleted")
      .map(({ session }) => session ?? "")
      .toSorted(),
    truth.deleted.map(({ id }) => id).toSorted(),
  );
  for (const { id, rows_left: rows } of truth.deleted) {
    const said = named("deleted").find(({ session }) => session === id)?.text ?? "";
    const left = Number(/(\d+) of its rows/.exec(said)?.[1] ?? 0);
    if (rows !== undefined) differ(id, "rows that a deletion left", left, rows);
  }
  const leftovers = named("leftover").map(({ session, path }) =>
    path?.endsWith("-wal") === true ? "write-ahead log" : (session ?? ""),
  );
  const left = truth.leftovers?.map(({ kind, session }) =>
    kind === "write_ahead_log" ? "write-ahead log" : session,
  );
  if (left !== undefined) differ("home", "leftovers", leftovers.toSorted(), left.toSorted());
}
