import type { MessageEntry, SessionId } from "@holdfast/protocol";

import type { ApiRig } from "./api-rig.ts";

type ApiClient = Pick<ApiRig, "client">;

export function valueOf<T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

export async function newSession({ client }: ApiClient): Promise<SessionId> {
  return valueOf(await client.createSession({ body: {} })).session.id;
}

/** Follows the session until its run ends, and returns the state a page would show. */
export async function untilEnded({ client }: ApiClient, id: SessionId) {
  for await (const item of client.open(id)) {
    if (item.kind === "ended") throw new Error(JSON.stringify(item.error));
    if (item.kind === "state" && item.state.run?.endedAt && item.state.inbox.length === 0)
      return item.state;
  }
  throw new Error("The stream ended.");
}

/** Follows the session until a live run has output. */
export async function untilStreaming({ client }: ApiClient, id: SessionId): Promise<void> {
  for await (const item of client.open(id)) {
    if (item.kind === "ended") throw new Error(JSON.stringify(item.error));
    if (item.kind === "state" && item.state.live?.messages.length === 1) return;
  }
}

/** Sends messages and waits for each run to end. */
export async function sendAndWait(rig: ApiClient, id: SessionId, ...texts: readonly string[]) {
  for (const text of texts) {
    const body = { clientId: `say-${text.slice(0, 40).replaceAll(" ", "-")}`, text };
    valueOf(await rig.client.sendMessage({ params: { id }, body }));
    await untilEnded(rig, id);
  }
}

/** The visible texts of the conversation. */
export async function shownTexts({ client }: ApiClient, id: SessionId): Promise<string[]> {
  const { entries } = valueOf(await client.readSession({ params: { id } }));
  return entries.filter((entry) => entry.type === "message").map(textOf);
}

function textOf({ parts }: MessageEntry): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
