import {
  type MessageId,
  newEvent,
  type NewEvent,
  type Part,
  type StoredEvent,
} from "@holdfast/protocol";

import type { Log } from "../log/log.ts";
import type { Recall } from "../memory/recall.ts";
import type { InputRow } from "../ports/rows.ts";
import type { RunHandle } from "./run-handle.ts";
import type { RunEvents } from "./settle.ts";

/**
 * A waiting message as the entry that it becomes. One without words says that its run continues another: it has nothing to
 * add to the conversation, and is gone from the inbox.
 */
export function inputEntry(
  run: RunEvents,
  input: InputRow,
  attached: readonly Part[] = [],
): NewEvent {
  const { messageId, clientId, lane, content } = input;
  if (isContinuation(input)) return run.event("input.removed", { messageId });
  const text: Part[] =
    content === null || content.text === "" ? [] : [{ type: "text", text: content.text }];
  return run.event("message.user", {
    messageId,
    parts: [...text, ...(content?.attachments ?? []), ...attached],
    clientId,
    ...(lane !== null && { lane }),
  });
}

/** Words or an attachment are asked of every message that a person sends. */
function isContinuation({ content }: InputRow): boolean {
  return content !== null && content.text === "" && content.attachments.length === 0;
}

export interface SteerDeps {
  readonly log: Log;
  /** Puts what is attached to a message where tools find it, and says where. It never fails. */
  readonly placeAttachments?: Recall;
}

function hasAttachments({ content }: InputRow): boolean {
  return content !== null && content.attachments.length > 0;
}

/**
 * Gives the model what was said to steer it, before its next step. A steering message has a run of its own from its
 * acceptance; here that run is done. One that came before this run began was meant for another, and waits for its turn
 * like any other. Returns how many were taken.
 */
export async function takeSteering(
  { log, placeAttachments: place }: SteerDeps,
  run: RunHandle,
  entries: readonly StoredEvent[],
): Promise<number> {
  const { owner, session, runId } = run;
  const begun = entries.find((entry) => entry.type === "message.user" && entry.runId === runId);
  const isForThisRun = ({ mode, seq }: InputRow) => mode === "steer" && seq > (begun?.seq ?? 0);
  const placed = new Map<MessageId, readonly Part[]>();
  for (;;) {
    const snapshot = await log.store.reads.snapshot(owner, session, { limit: 1 });
    const steering = snapshot?.inbox.filter(isForThisRun) ?? [];
    if (snapshot === null || steering.length === 0) return 0;
    const bare = steering.filter((each) => hasAttachments(each) && !placed.has(each.messageId));
    if (place !== undefined && bare.length > 0) {
      for (const { messageId, content } of bare)
        if (content !== null) placed.set(messageId, await place({ owner, session, ...content }));
      // The session may have gone on while they were placed.
      continue;
    }
    const events = steering.flatMap((input) => [
      inputEntry(run, input, placed.get(input.messageId)),
      newEvent(
        run.ids.make("event"),
        "run.state",
        { state: "completed", cause: "steered" },
        input.runId,
      ),
    ]);
    const result = await run.send({ events, expect: { head: snapshot.session.head } });
    if (result.status === "committed") return steering.length;
    if (result.status !== "refused" || result.code !== "head_moved") return 0;
  }
}
