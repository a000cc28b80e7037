import type { Store } from "@holdfast/engine";
import {
  blobId as blobName,
  type OwnerId,
  sessionId,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";
import { z } from "zod";

import type { ReportItem } from "../../../src/ops/import/report.ts";
import { sha256 } from "./home.ts";

/** What is known of a home apart from what an import says: as the truth beside a genuine one has it. */
export const truthSchema = z.object({
  conversations: z.array(
    z.object({
      /** Its newest session. */
      id: z.string(),
      segments: z.array(z.string()),
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
      messages: z.array(
        z.object({ role: z.string(), sha256: z.string(), note: z.string().optional() }),
      ),
      /** Of these, what the person took back is kept out of view; copies and summaries are no messages. */
      not_shown: z.array(z.object({ why: z.string() })).default([]),
    }),
  ),
  damaged: z
    .array(z.object({ kind: z.string(), path: z.string(), session: z.string() }))
    .default([]),
  ghosts: z.array(z.object({ id: z.string() })).default([]),
  deleted: z.array(z.object({ id: z.string() })).default([]),
});
export type Truth = z.infer<typeof truthSchema>;

interface Compared {
  readonly store: Pick<Store, "reads">;
  readonly owner: OwnerId;
  readonly items: readonly ReportItem[];
}

/**
 * Compares what was imported with the truth, and returns each difference. How the two name things: `card` and `system`
 * messages are notices here; the page's "Untitled" is no title; a subagent's session is archived and has its parent's
 * tag; what the truth calls damaged is a finding of the same code, path and session.
 */
export async function differencesFrom(truth: Truth, compared: Compared): Promise<string[]> {
  const found: string[] = [];
  const differ = (id: string, what: string, here: unknown, there: unknown): void => {
    const [a, b] = [JSON.stringify(here), JSON.stringify(there)];
    if (a !== b) found.push(`${id}: ${what}: ${a} instead of ${b}`);
  };
  const { store, owner, items } = compared;
  const taken = new Map(
    items.flatMap((item) => {
      const session = sessionId.safeParse(item.session).data;
      const tip = item.ids?.at(-1);
      return item.item !== "session" || session === undefined || tip === undefined
        ? []
        : [[tip, { item, session }] as const];
    }),
  );
  for (const known of truth.conversations) {
    const here = taken.get(known.id);
    if (here === undefined) {
      found.push(`${known.id}: missing`);
      continue;
    }
    const { item, session } = here;
    const row = await store.reads.session(owner, session);
    differ(known.id, "segments", item.ids, known.segments);
    const texts = await visibleTexts(compared, session);
    const said = known.messages.map(
      ({ role, note, sha256: hash }) => `${note === "card" ? "card" : role} ${hash}`,
    );
    differ(
      known.id,
      "messages",
      texts.map(({ role, hash }) => `${role} ${hash}`),
      said,
    );
    const isUntitled = known.title == null || known.title === "Untitled";
    if (!isUntitled) differ(known.id, "title", row?.title, known.title);
    const isChild = known.hidden?.includes("subagent") === true;
    const { archived = false, pinned = false, project = null, tags = [] } = known.flags;
    differ(known.id, "archived", row?.archived, archived || isChild);
    differ(known.id, "pinned", row?.pinned, pinned);
    differ(known.id, "project", row?.project, project);
    differ(
      known.id,
      "tags",
      row?.tags.filter((tag) => !tag.startsWith("child-of:")),
      tags,
    );
    const undone = known.not_shown.filter(({ why }) => /taken back|undone/.test(why)).length;
    differ(known.id, "hidden messages", item.hidden ?? 0, undone);
    differ(known.id, "differing texts", item.differs ?? 0, 0);
    if (known.fork_of === undefined || known.hidden !== undefined) continue;
    const shared = texts.filter(({ isShared }) => isShared).length;
    differ(known.id, "shared messages", shared, known.fork_of.shared);
  }
  const codes = new Set(
    items.flatMap((item) => [
      ...(item.item === "finding" ? [`${item.code} ${item.path} ${item.session}`] : []),
      ...(item.remarks ?? []).map(({ code, path, session }) => `${code} ${path} ${session}`),
    ]),
  );
  for (const { kind, path, session } of truth.damaged)
    if (!codes.has(`${kind} ${path} ${session}`))
      found.push(`${session}: no finding ${kind}, ${path}`);
  const named = (code: string): string[] =>
    items.flatMap((item) => (item.code === code ? [item.session ?? ""] : [])).toSorted();
  differ("home", "ghosts", named("ghost"), truth.ghosts.map(({ id }) => id).toSorted());
  differ("home", "deleted", named("deleted"), truth.deleted.map(({ id }) => id).toSorted());
  return found;
}

interface ShownText {
  readonly role: string;
  readonly hash: string;
  /** In the log of the session that it branched off. */
  readonly isShared: boolean;
}

const partSchema = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  output: z.string().optional(),
  blobId: z.string().optional(),
  whole: z.string().optional(),
});
const messageData = z.object({ parts: z.array(partSchema), added: z.boolean().optional() });
const noticeData = z.object({ kind: z.string(), text: z.string() });

/** What a person sees of a session, oldest first. */
export async function visibleTexts(
  { store, owner }: Omit<Compared, "items">,
  session: SessionId,
): Promise<readonly ShownText[]> {
  const row = await store.reads.session(owner, session);
  const entries: StoredEvent[] = [];
  for (let before: StoredEvent["seq"] | undefined; ;) {
    const page = await store.reads.entries(owner, session, {
      limit: 500,
      ...(before !== undefined && { before }),
    });
    entries.unshift(...(page?.entries ?? []));
    before = page?.entries[0]?.seq;
    if (page?.more !== true) break;
  }
  const texts: ShownText[] = [];
  for (const { type, data, seq } of entries) {
    const isShared = row?.origin != null && seq <= row.origin.seq;
    const notice = type === "notice.added" ? noticeData.safeParse(data).data : undefined;
    if (notice !== undefined) {
      const role = notice.kind === "system_message" ? "system" : "card";
      texts.push({ role, hash: sha256(notice.text), isShared });
    }
    const message = messageData.safeParse(data).data;
    if (!type.startsWith("message.") || message === undefined || message.added === true) continue;
    const said: string[] = [];
    for (const { type: kind, text = "", output = "", blobId, whole } of message.parts) {
      const blob = kind === "tool_result" ? blobId : whole;
      const own = kind === "tool_result" ? output : text;
      if (kind !== "tool_result" && kind !== "text") continue;
      said.push(blob === undefined ? own : await blobText(store, owner, blob));
    }
    texts.push({ role: type.slice("message.".length), hash: sha256(said.join("\n")), isShared });
  }
  return texts;
}

async function blobText(store: Pick<Store, "reads">, owner: OwnerId, id: string): Promise<string> {
  const blob = await store.reads.blob(owner, blobName.parse(id));
  return new TextDecoder().decode(blob?.bytes);
}
