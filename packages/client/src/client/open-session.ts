import type { StoredEvent, SessionRead, Seq, SessionId, StreamStatus } from "@holdfast/protocol";
import { dropOldEntries, type SessionState, startState } from "../reducer/state.ts";
import { reduceEvent } from "../reducer/reduce.ts";
import {
  notifyOnChange,
  isTransient,
  connectionStateAfter,
  type StreamEnded,
  type StreamOptions,
  type FollowItem,
} from "./follow.ts";
import { type CallOptions, backoffMs, type Transport, type Result } from "./call-route.ts";

/** What it takes to keep a session's state current. */
interface SessionReader {
  readSession(
    input: { readonly params: { id: SessionId } },
    options: CallOptions,
  ): Promise<Result<SessionRead>>;
  follow(id: SessionId, after: Seq, options: StreamOptions): AsyncIterable<FollowItem>;
}

export type OpenItem =
  /** `by` is the event that led here, `null` after a read: who holds earlier entries too reduces it into its own. */
  | { readonly kind: "state"; readonly state: SessionState; readonly by: StoredEvent | null }
  | { readonly kind: "status"; readonly status: StreamStatus }
  | StreamEnded;

/**
 * A session as it is and as it becomes: read, followed, and read again whenever events alone do not lead
 * on. This is all that a page or a terminal has to show.
 */
export async function* openSession(
  link: Transport,
  client: SessionReader,
  id: SessionId,
  options: StreamOptions,
): AsyncGenerator<OpenItem, void, undefined> {
  const signal = options.signal ?? new AbortController().signal;
  const tell = notifyOnChange(options);
  for (let failures = 1; !signal.aborted; failures++) {
    const read = await client.readSession({ params: { id } }, { signal });
    if (read.ok) {
      failures = 0;
      const followed = followUntilReread(client, startState(read.value), {
        ...options,
        onConnection: tell,
      });
      for await (const item of followed) {
        yield item;
        if (item.kind === "ended") return;
      }
      continue;
    }
    if (!isTransient(read.error)) {
      yield { kind: "ended", error: read.error };
      return;
    }
    if (signal.aborted) return;
    tell(connectionStateAfter(failures));
    await link.sleep(backoffMs(failures, link.random), signal);
  }
}

/** Ends where the session must be read again. */
async function* followUntilReread(
  client: SessionReader,
  start: SessionState,
  options: StreamOptions,
): AsyncGenerator<OpenItem, void, undefined> {
  let state = start;
  yield { kind: "state", state, by: null };
  for await (const item of client.follow(state.session.id, state.seq, options)) {
    if (item.kind === "resync") return;
    if (item.kind === "event") {
      state = dropOldEntries(reduceEvent(state, item.event));
      yield { kind: "state", state, by: item.event };
      if (state.readAgain !== null) return;
    } else yield item;
  }
}
