import type { Client } from "@holdfast/client";
import type { SessionId } from "@holdfast/protocol";
import { valueOf } from "../served-host.ts";

/** A conversation with these texts, in turns of a person and the model. */
export async function importConversation(
  client: Client,
  title: string,
  texts: readonly string[],
): Promise<SessionId> {
  const entries = texts.map((text, index) => ({
    type: "message",
    role: index % 2 === 0 ? "user" : "assistant",
    at: index * 1_000,
    parts: [{ type: "text", text }],
  }));
  const session = { title, project: null, tags: [], createdAt: 0 };
  const document = {
    format: "holdfast.session",
    version: 1,
    exportedAt: 0,
    session,
    entries,
    blobs: [],
  };
  const { sessions } = valueOf(await client.importSessions({ body: { format: "json", document } }));
  const [imported] = sessions;
  if (imported === undefined) throw new Error("nothing was imported");
  return imported.id;
}
