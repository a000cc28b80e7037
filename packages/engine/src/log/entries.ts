import type { OwnerId, Seq, SessionId, StoredEvent } from "@holdfast/protocol";

import type { Reads } from "../ports/reads.ts";

const entryPageSize = 100;

/** The visible entries from the newest backwards, page by page, as far as the caller goes. `before` is exclusive. */
export async function* newestFirst(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
  before?: Seq,
): AsyncGenerator<StoredEvent> {
  let from = before;
  for (;;) {
    const query = { limit: entryPageSize, ...(from !== undefined && { before: from }) };
    const page = await reads.entries(owner, session, query);
    if (page === null) return;
    yield* page.entries.toReversed();
    const [first] = page.entries;
    if (!page.more || first === undefined) return;
    from = first.seq;
  }
}
