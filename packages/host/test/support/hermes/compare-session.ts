import type { Store } from "@holdfast/engine";
import {
  blobId as blobName,
  type OwnerId,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";
import { z } from "zod";

import { sha256 } from "./home.ts";
import type { Compared, Differ, TakenSession, Truth } from "./truth.ts";

type Known = Truth["conversations"][number];

/** Compares one conversation with what is true of it. */
export async function compareSession(
  known: Known,
  { item, session }: TakenSession,
  compared: Compared,
  differ: Differ,
): Promise<{ readonly images: number; readonly calls: number }> {
  const { store, owner } = compared;
  const { id } = known;
  const row = await store.reads.session(owner, session);
  differ(id, "segments", item.ids, known.segments);
  const texts = await visibleTexts(compared, session);
  const said = known.messages.map(({ role, note, sha256: hash }) => [
    note === "card" ? "card" : role,
    hash,
  ]);
  differ(
    id,
    "messages",
    texts.map(({ role, hash }) => `${role} ${hash}`),
    said.map(([role, hash]) => `${role} ${hash}`),
  );
  for (const [index, message] of known.messages.entries()) {
    const here = texts[index];
    if (here === undefined) continue;
    const { tools, reasoning, images, note = "", where } = message;
    const at = `${id} ${index}`;
    differ(at, "calls", here.tools, tools);
    differ(at, "reasoning", here.reasoning, reasoning);
    const isElsewhere = here.images + here.missing === images;
    if (!isElsewhere) differ(at, "pictures", here.images, images);
    // The truth doesn't say how a run ended that only its journal knows.
    const isJournalOnly = where?.join() === "journal";
    if (!isJournalOnly || here.partial !== "interrupted")
      differ(at, "partial", here.partial, partialIn(note));
    const found = item.texts?.[index]?.[3].split(" ") ?? [];
    // It may be in the readable part of a torn file, too, which the truth doesn't count.
    differ(at, "where", where?.filter((name) => !found.includes(name)) ?? [], []);
  }
  if (known.stores !== undefined) {
    const shown = item.texts?.slice(0, texts.length) ?? [];
    const found = new Set(shown.flatMap(([, , , where]) => where.split(" ")));
    differ(
      id,
      "stores",
      known.stores.filter((name) => !found.has(name)),
      [],
    );
  }
  const isUntitled = known.title == null || known.title === "Untitled";
  if (!isUntitled) differ(id, "title", row?.title, known.title);
  if (known.source !== undefined) differ(id, "source", item.via, known.source);
  const isChild = known.hidden?.includes("subagent") === true;
  const { archived = false, pinned = false, project = null, tags = [] } = known.flags;
  differ(id, "archived", row?.archived, archived || isChild);
  differ(id, "pinned", row?.pinned, pinned);
  differ(id, "project", row?.project, project);
  differ(
    id,
    "tags",
    row?.tags.filter((tag) => !tag.startsWith("child-of:")),
    tags,
  );
  const remarks = item.remarks ?? [];
  const overheard = known.messages.filter(({ note }) => note === "overheard").length;
  differ(
    id,
    "overheard",
    remarks.filter(({ code }) => code === "overheard").length > 0,
    overheard > 0,
  );
  const isLost = known.messages.some(
    ({ note }) => note?.startsWith("its picture is lost") === true,
  );
  differ(
    id,
    "lost picture",
    remarks.some(({ code }) => code === "lost_picture"),
    isLost,
  );
  const draft = remarks.find(({ code }) => code === "draft")?.text ?? "";
  differ(id, "draft", draft.includes(known.draft ?? "") && draft !== "", known.draft !== undefined);
  compareHidden(known, item, differ);
  differ(id, "differing texts", item.differs ?? 0, 0);
  await compareLog(known, session, compared, differ);
  if (known.fork_of !== undefined && known.hidden === undefined) {
    const shared = texts.filter(({ isShared }) => isShared).length;
    differ(id, "shared messages", shared, known.fork_of.shared);
  }
  return {
    images: texts.reduce(
      (sum, { images, missing }, index) =>
        sum + images + (images < (known.messages[index]?.images ?? 0) ? missing : 0),
      0,
    ),
    calls: texts.reduce((sum, { tools }) => sum + tools.length, 0),
  };
}

function partialIn(note: string): string | null {
  switch (note) {
    case "partial: the server died":
      return "interrupted";
    case "partial: the provider refused":
      return "failed";
    case "partial: stopped by the person":
      return "cancelled";
    default:
      return null;
  }
}

/** What was taken back is there, out of view. */
function compareHidden(known: Known, item: TakenSession["item"], differ: Differ): void {
  const undone = known.not_shown.filter(({ why }) => /taken back|undone/.test(why));
  differ(known.id, "hidden messages", item.hidden ?? 0, undone.length);
  if (item.hidden === undefined || item.hidden === 0) return;
  const hashes = undone.map(({ role, sha256: hash }) => `${role} ${hash}`);
  if (undone.some(({ sha256: hash }) => hash === undefined)) return;
  const hidden = item.texts?.slice(-item.hidden).map(([role, , stored]) => `${role} ${stored}`);
  differ(known.id, "hidden texts", hidden?.toSorted(), hashes.toSorted());
}

const usageData = z.object({
  input: z.number(),
  output: z.number(),
  cacheRead: z.number(),
  cacheWrite: z.number(),
  costMicros: z.number(),
});
const createdData = z.object({ imported: z.object({ from: z.number() }) });

/** Its summaries, its costs and its beginning. */
async function compareLog(
  known: Known,
  session: SessionId,
  { store, owner }: Compared,
  differ: Differ,
): Promise<void> {
  const row = await store.reads.session(owner, session);
  let after = (row?.origin?.seq ?? 0) as StoredEvent["seq"];
  const used = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, costMicros: 0 };
  let summaries = 0;
  let from: number | null = null;
  for (;;) {
    const page = await store.reads.events(owner, session, { after, limit: 500 });
    for (const { type, data } of page?.events ?? []) {
      if (type === "context.compacted") summaries += 1;
      if (type === "session.created") from = createdData.parse(data).imported.from;
      if (type !== "usage.recorded") continue;
      const amounts = usageData.parse(data);
      for (const name of Object.keys(used) as (keyof typeof used)[]) used[name] += amounts[name];
    }
    const last = page?.events.at(-1);
    if (last === undefined || page?.more !== true) break;
    after = last.seq;
  }
  const written = known.not_shown.filter(({ why }) => why.startsWith("summary")).length;
  differ(known.id, "summaries", summaries, written);
  if (known.started_at != null && from !== null) {
    // The page wrote down its first message before the agent began the session.
    const began = Math.round(known.started_at * 1000);
    const isOnPage = known.source === "webui" && from < began && began - from < 60_000;
    if (!isOnPage) differ(known.id, "began", from, began);
  }
  // The page knows costs that the agent's rows don't have.
  if (known.session_rows?.some((each) => each.input_tokens > 0) !== true) return;
  const there = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, costMicros: 0 };
  for (const each of known.session_rows) {
    there.input += each.input_tokens;
    there.output += each.output_tokens;
    there.cacheRead += each.cache_read_tokens;
    there.cacheWrite += each.cache_write_tokens;
    const cost = each.actual_cost_usd ?? each.estimated_cost_usd ?? 0;
    there.costMicros += Math.round(cost * 1_000_000);
  }
  differ(known.id, "usage", used, there);
}

interface ShownText {
  readonly role: string;
  readonly hash: string;
  /** In the log of the session that it branched off. */
  readonly isShared: boolean;
  readonly tools: readonly string[];
  readonly reasoning: boolean;
  readonly images: number;
  /** Pictures and files that weren't there. */
  readonly missing: number;
  readonly partial: string | null;
}

const partSchema = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  output: z.string().optional(),
  blobId: z.string().optional(),
  whole: z.string().optional(),
  name: z.string().optional(),
  kind: z.string().optional(),
});
const messageData = z.object({
  parts: z.array(partSchema),
  added: z.boolean().optional(),
  partial: z.string().nullish(),
});
const noticeData = z.object({ kind: z.string(), text: z.string() });

/** What a person sees of a session, oldest first. */
export async function visibleTexts(
  { store, owner }: Pick<Compared, "owner"> & { readonly store: Pick<Store, "reads"> },
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
      const hash = sha256(notice.text);
      texts.push({
        role,
        hash,
        isShared,
        tools: [],
        reasoning: false,
        images: 0,
        missing: 0,
        partial: null,
      });
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
    const { parts, partial = null } = message;
    texts.push({
      role: type.slice("message.".length),
      hash: sha256(said.join("\n")),
      isShared,
      tools: parts.flatMap(({ type: kind, name = "" }) => (kind === "tool_call" ? [name] : [])),
      reasoning: parts.some(({ type: kind }) => kind === "reasoning"),
      images: parts.filter(({ type: kind }) => kind === "image").length,
      missing: parts.filter(({ kind }) => kind === "attachment_missing").length,
      partial,
    });
  }
  return texts;
}

async function blobText(store: Pick<Store, "reads">, owner: OwnerId, id: string): Promise<string> {
  const blob = await store.reads.blob(owner, blobName.parse(id));
  return new TextDecoder().decode(blob?.bytes);
}
