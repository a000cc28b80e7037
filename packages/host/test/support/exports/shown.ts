import type { Store } from "@holdfast/engine";
import { type OwnerId, type SessionId, sessionId, type StoredEvent } from "@holdfast/protocol";
import { z } from "zod";

const shownData = z.looseObject({
  text: z.string().optional(),
  kind: z.string().optional(),
  added: z.boolean().optional(),
  parts: z
    .array(
      z.looseObject({
        type: z.string(),
        text: z.string().optional(),
        name: z.string().optional(),
        output: z.string().optional(),
        outcome: z.string().optional(),
      }),
    )
    .optional(),
});

/** What is in view of a session, a line for each entry. */
export async function shownLines(
  store: Pick<Store, "reads">,
  owner: OwnerId,
  session: SessionId | string | undefined,
): Promise<readonly string[]> {
  const entries: StoredEvent[] = [];
  const id = sessionId.parse(session);
  for (let before: StoredEvent["seq"] | undefined; ;) {
    const position = before === undefined ? {} : { before };
    const page = await store.reads.entries(owner, id, { limit: 500, ...position });
    entries.unshift(...(page?.entries ?? []));
    before = page?.entries[0]?.seq;
    if (page?.more !== true) break;
  }
  return entries.flatMap(({ type, data }) => {
    const { text = "", parts, kind = "" } = shownData.parse(data);
    if (type === "notice.added") return [`${kind}: ${text}`];
    if (type === "context.compacted") return ["summary"];
    if (parts === undefined) return [];
    const said = parts.map((part) => {
      if (part.type === "text") return part.text ?? "";
      if (part.type === "tool_result") return `=${part.name} ${part.outcome} ${part.output}`;
      return `[${part.type} ${part.name ?? part.text ?? ""}]`;
    });
    return [`${type.slice("message.".length)}: ${said.join(" ")}`];
  });
}
