import { newestFirst, type SessionRow, trash } from "@holdfast/engine";
import {
  decodeEvent,
  eventsInReadingOrder,
  newEvent,
  type OwnerId,
  type RunId,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";
import { z } from "zod";
import { problemCodes } from "../api/problem-codes.ts";
import { mountProtocolRoute, type ProtocolCall, type ProtocolProblem } from "../http/protocol.ts";
import type { Route } from "../http/routing.ts";
import type { ClientTurn } from "./client-request.ts";
import { isRefusal, refuse, type Refusal, sendRefusal } from "./errors.ts";
import { conversationId, parseConversationId } from "./identifiers.ts";
import { metadata, openKeptFacts } from "./kept-facts.ts";
import { readBody } from "./openai-call.ts";
import type { OpenAiDeps } from "./openai.ts";
import { idOf, pageOf, textItem, textItemId, toolItem, userItem } from "./output-items.ts";
import { badPage, pageQuery, unknownAfter, unknownConversation } from "./responses.ts";

const givenItem = z.looseObject({
  type: z.string().optional(),
  role: z.enum(["user", "assistant", "system", "developer"]),
  content: z.union(
    [
      z.string(),
      z
        .array(z.looseObject({ text: z.string() }))
        .min(1)
        .max(200),
    ],
    {
      error: "only text can be added; send images and files with a response",
    },
  ),
});
const pendingItem = z.object({ id: z.string(), role: z.string(), text: z.string() });
type PendingItem = z.infer<typeof pendingItem>;
const keptConversation = z.object({
  metadata: z.record(z.string(), z.string()),
  items: z.array(pendingItem),
  /** The runs that were told about items; each keeps which ones. */
  told: z.array(z.string()).default([]),
});
const toldItems = z.array(pendingItem);
type KeptConversation = z.infer<typeof keptConversation>;

const createRequest = z.looseObject({
  metadata: metadata.nullish(),
  items: z.array(givenItem).max(20).nullish(),
});
const updateRequest = z.looseObject({ metadata: metadata.nullish() });
const itemsRequest = z.looseObject({ items: z.array(givenItem).min(1).max(20) });

/** Items that a client put into a conversation without asking for an answer: the next turn tells the model of them. */
export interface PendingItems {
  turns(owner: OwnerId, session: SessionId): Promise<readonly PendingTurn[]>;
  /** They wait no longer; others may have come meanwhile. They stay items of the conversation. */
  markTold(
    owner: OwnerId,
    session: SessionId,
    told: readonly PendingTurn[],
    run: RunId,
  ): Promise<void>;
}

export interface PendingTurn extends ClientTurn {
  readonly id: string;
}

export function conversationRoutes(deps: OpenAiDeps): {
  readonly routes: readonly Route[];
  readonly pending: PendingItems;
} {
  const { reads, log, ids } = deps;
  const kept = openKeptFacts(log.store.register, "openai-conversation", keptConversation);
  const keptTold = openKeptFacts(log.store.register, "openai-told", toldItems);
  const read = async (owner: OwnerId, id: SessionId): Promise<KeptConversation> =>
    (await kept.read(owner, id)) ?? nothingKept;

  async function find({ c, owner }: ProtocolCall): Promise<SessionRow | Refusal> {
    const id = c.req.param("id") ?? "";
    const session = parseConversationId(id);
    const row = session && (await reads.session(owner, session));
    return row === null || row.trashedAt !== null ? unknownConversation(id) : row;
  }

  function makePending(items: readonly z.infer<typeof givenItem>[]): PendingItem[] {
    return items.map(({ role, content }) => ({
      id: ids.make("message"),
      role,
      text: typeof content === "string" ? content : content.map(({ text }) => text).join(""),
    }));
  }

  async function create({ c, owner }: ProtocolCall): Promise<Response | ProtocolProblem> {
    const request = await readBody(c, createRequest);
    if (isRefusal(request)) return sendRefusal(c, request);
    const { metadata: given, items } = request.body;
    const session = ids.make("session");
    const value = { ...nothingKept, metadata: given ?? {}, items: makePending(items ?? []) };
    if ((await kept.put(owner, session, value)) === "too_large") return sendRefusal(c, tooLarge);
    const events = [newEvent(ids.make("event"), "session.created", {})];
    const result = await log.commit({ owner, session, events });
    if (result.status !== "committed") return { code: problemCodes[result.code] };
    return c.json(conversationObject(session, result.at, value.metadata));
  }

  async function retrieve(call: ProtocolCall): Promise<Response> {
    const row = await find(call);
    if (isRefusal(row)) return sendRefusal(call.c, row);
    const { metadata: given } = await read(call.owner, row.id);
    return call.c.json(conversationObject(row.id, row.createdAt, given));
  }

  async function update(call: ProtocolCall): Promise<Response | ProtocolProblem> {
    const { c, owner } = call;
    const row = await find(call);
    if (isRefusal(row)) return sendRefusal(c, row);
    const request = await readBody(c, updateRequest);
    if (isRefusal(request)) return sendRefusal(c, request);
    const given = request.body.metadata ?? {};
    const put = await kept.change(owner, row.id, (known) => ({
      ...(known ?? nothingKept),
      metadata: given,
    }));
    if (put === "failed") return { code: "store_busy" };
    return put === "too_large"
      ? sendRefusal(c, tooLarge)
      : c.json(conversationObject(row.id, row.createdAt, given));
  }

  /** P13: into the trash, from where it can be restored. */
  async function remove(call: ProtocolCall): Promise<Response | ProtocolProblem> {
    const row = await find(call);
    if (isRefusal(row)) return sendRefusal(call.c, row);
    const result = await trash(deps, { owner: call.owner, session: row.id });
    if (result.status !== "committed") return { code: problemCodes[result.code] };
    return call.c.json({
      id: conversationId(row.id),
      object: "conversation.deleted",
      deleted: true,
    });
  }

  async function itemsOf(owner: OwnerId, session: SessionId): Promise<readonly object[]> {
    const entries: StoredEvent[] = [];
    for await (const entry of newestFirst(reads, owner, session)) {
      entries.unshift(entry);
      if (entries.length >= maxEntries) break;
    }
    const { items, told } = await read(owner, session);
    const toldBy = new Map<string, readonly PendingItem[]>();
    for (const run of told) toldBy.set(run, (await keptTold.read(owner, run)) ?? []);
    return [...itemsIn(entries, toldBy), ...items.map(pendingObject)];
  }

  async function list(call: ProtocolCall): Promise<Response> {
    const row = await find(call);
    if (isRefusal(row)) return sendRefusal(call.c, row);
    const query = pageQuery.safeParse(call.c.req.query());
    if (!query.success) return sendRefusal(call.c, badPage);
    const { after, limit, order } = query.data;
    const page = pageOf(await itemsOf(call.owner, row.id), { after, limit, order });
    return page === null ? sendRefusal(call.c, unknownAfter) : call.c.json(page);
  }

  async function addItems(call: ProtocolCall): Promise<Response | ProtocolProblem> {
    const { c, owner } = call;
    const row = await find(call);
    if (isRefusal(row)) return sendRefusal(c, row);
    const request = await readBody(c, itemsRequest);
    if (isRefusal(request)) return sendRefusal(c, request);
    const added = makePending(request.body.items);
    const put = await kept.change(owner, row.id, (known) => ({
      ...(known ?? nothingKept),
      items: [...(known?.items ?? []), ...added],
    }));
    if (put === "failed") return { code: "store_busy" };
    const page = { after: undefined, limit: 100, order: "asc" } as const;
    return put === "too_large"
      ? sendRefusal(c, tooLarge)
      : c.json(pageOf(added.map(pendingObject), page));
  }

  async function retrieveItem(call: ProtocolCall): Promise<Response> {
    const row = await find(call);
    if (isRefusal(row)) return sendRefusal(call.c, row);
    const id = call.c.req.param("item") ?? "";
    const item = (await itemsOf(call.owner, row.id)).find((candidate) => idOf(candidate) === id);
    return item === undefined ? sendRefusal(call.c, unknownItem(id)) : call.c.json(item);
  }

  async function removeItem(call: ProtocolCall): Promise<Response | ProtocolProblem> {
    const { c, owner } = call;
    const row = await find(call);
    if (isRefusal(row)) return sendRefusal(c, row);
    const id = c.req.param("item") ?? "";
    const known = await read(owner, row.id);
    if (!known.items.some((item) => item.id === id)) {
      const isSaid = (await itemsOf(owner, row.id)).some((item) => idOf(item) === id);
      return sendRefusal(c, isSaid ? saidItem : unknownItem(id));
    }
    const dropped = await kept.change(owner, row.id, (current) => withoutItems(current, [id]));
    if (dropped === "failed") return { code: "store_busy" };
    return c.json(conversationObject(row.id, row.createdAt, known.metadata));
  }

  const route = (
    method: "GET" | "POST" | "DELETE",
    path: string,
    handle: (call: ProtocolCall) => Promise<Response | ProtocolProblem>,
  ): Route => mountProtocolRoute(deps, { method, path: `/v1/conversations${path}`, handle });

  return {
    routes: [
      route("POST", "", create),
      route("GET", "/:id", retrieve),
      route("POST", "/:id", update),
      route("DELETE", "/:id", remove),
      route("GET", "/:id/items", list),
      route("POST", "/:id/items", addItems),
      route("GET", "/:id/items/:item", retrieveItem),
      route("DELETE", "/:id/items/:item", removeItem),
    ],
    pending: {
      async turns(owner, session) {
        const { items } = await read(owner, session);
        return items.map(({ id, role, text }) =>
          role === "assistant"
            ? { id, user: "", assistant: text }
            : { id, user: text, assistant: "" },
        );
      },
      async markTold(owner, session, turns, run) {
        const toldIds = turns.map(({ id }) => id);
        const { items } = await read(owner, session);
        // First where they are listed from then on, so that a crash between both loses none.
        await keptTold.put(
          owner,
          run,
          items.filter(({ id }) => toldIds.includes(id)),
        );
        await kept.change(owner, session, (known) => {
          const rest = withoutItems(known, toldIds);
          return { ...rest, told: [...rest.told.slice(1 - maxToldRuns), run] };
        });
      },
    },
  };
}

const nothingKept: KeptConversation = { metadata: {}, items: [], told: [] };
/** Items of earlier runs are no longer listed; the conversation itself still has them. */
const maxToldRuns = 100;

function withoutItems(known: KeptConversation | null, ids: readonly string[]): KeptConversation {
  const { items, ...rest } = known ?? nothingKept;
  return { ...rest, items: items.filter(({ id }) => !ids.includes(id)) };
}

const maxEntries = 2_000;

const tooLarge = refuse(
  400,
  "conversation_too_large",
  "Items that wait and metadata have 15,000 characters at most. Send longer text with a response, as its input.",
  "items",
);

const saidItem = refuse(
  400,
  "item_said",
  "What was said stays in the log. Branch the conversation, or undo its last turns on the page.",
  "item_id",
);

function unknownItem(id: string): Refusal {
  return refuse(
    404,
    "item_not_found",
    `There is no item ${JSON.stringify(id.slice(0, 60))} here.`,
    "item_id",
  );
}

function conversationObject(session: SessionId, createdAt: number, given: object) {
  const created_at = Math.floor(createdAt / 1000);
  return { id: conversationId(session), object: "conversation", created_at, metadata: given };
}

function pendingObject({ id, role, text }: PendingItem): object {
  const type = role === "assistant" ? "output_text" : "input_text";
  return { id, type: "message", role, status: "completed", content: [{ type, text }] };
}

/** The visible entries as items, oldest first, each run behind what it was told of. */
function itemsIn(
  entries: readonly StoredEvent[],
  toldBy: ReadonlyMap<string, readonly PendingItem[]>,
): readonly object[] {
  return eventsInReadingOrder(entries).flatMap((entry): object[] => {
    const decoded = decodeEvent(entry);
    if (decoded.kind !== "known") return [];
    const { event } = decoded;
    if (event.type === "message.user")
      return [
        ...(toldBy.get(event.runId ?? "") ?? []).map(pendingObject),
        userItem(event.data.messageId, event.data.parts),
      ];
    if (event.type !== "message.assistant") return [];
    const { messageId, parts, partial } = event.data;
    const status = partial === undefined ? "completed" : "incomplete";
    const texts = parts.filter((part) => part.type === "text" || part.type === "reasoning");
    return [
      ...texts.map(({ type, text }, part) =>
        textItem(type, textItemId(type, messageId, part), status, text),
      ),
      ...parts.flatMap((part) => (part.type === "tool_call" ? [toolItem(part)] : [])),
    ];
  });
}
