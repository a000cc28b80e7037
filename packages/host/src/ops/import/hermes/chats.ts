import { z } from "zod";

import type { ImportedChat } from "../source.ts";
import type { HermesDatabase } from "./database.ts";
import { parseJson, record, text } from "../reading/json.ts";

/** The chats that go on in a session, by its id. */
export function readChats(
  database: HermesDatabase | null,
  routing: string | null,
  bot: string | null,
): ReadonlyMap<string, ImportedChat> {
  const chats = new Map<string, ImportedChat>();
  const origin = z.object({
    platform: text,
    chat_id: z.coerce.string(),
    chat_type: text,
    thread_id: z.coerce.string().nullish().catch(null),
  });
  const entry = z.object({ session_id: z.string(), origin });
  const add = (value: unknown): void => {
    const read = entry.safeParse(value).data;
    if (read?.origin.platform !== "telegram") return;
    const { chat_id: chat, chat_type: type, thread_id: thread } = read.origin;
    chats.set(read.session_id, {
      platform: "telegram",
      bot,
      chat,
      thread: thread == null || thread === "null" || thread === "" ? null : thread,
      chatKind: type === "dm" || type === "private" ? "private" : "group",
    });
  };
  const routed = z.object({ entry_json: z.string() });
  for (const row of database?.table("gateway_routing") ?? [])
    add(parseJson(routed.safeParse(row).data?.entry_json ?? ""));
  for (const value of Object.values(record.parse(parseJson(routing ?? "{}")))) add(value);
  return chats;
}
