import type { OwnerId, Seq, SessionId, StoredEvent } from "@holdfast/protocol";

import type { Reads } from "../ports/index.ts";

const pageSize = 500;

/**
 * P7: which calls of the newest answer were ever begun, also by a runner whose journal a take-over has put aside. Of these
 * nobody may say that they were not run.
 */
export async function callsBegun(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
  entries: readonly StoredEvent[],
): Promise<ReadonlySet<unknown>> {
  const begun = new Set<unknown>();
  const asked = entries.findLast(({ type }) => type === "message.assistant");
  let after: Seq | undefined = asked?.seq;
  while (after !== undefined) {
    const page = await reads.events(owner, session, { after, limit: pageSize });
    for (const { type, data } of page?.events ?? [])
      if (type === "tool.started") begun.add(data["callId"]);
    after = page?.more === true ? page.events.at(-1)?.seq : undefined;
  }
  return begun;
}
