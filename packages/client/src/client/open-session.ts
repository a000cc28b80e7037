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
import { type CallOptions, waitBeforeRetry, type Transport, type Result } from "./call-route.ts";

/** What is needed to keep a session's state current. */
interface SessionReader {
  readSession(
    input: { readonly params: { id: SessionId } },
    options: CallOptions,
  ): Promise<Result<SessionRead>>;
  follow(id: SessionId, after: Seq, options: StreamOptions): AsyncIterable<FollowItem>;
}

export type OpenItem =
  /** `by` is the event that produced the state, `null` after a read. */
  | { readonly kind: "state"; readonly state: SessionState; readonly by: StoredEvent | null }
  | { readonly kind: "status"; readonly status: StreamStatus }
  | StreamEnded;

export interface OpenOptions extends StreamOptions {
  /**
   * The state that the next event is reduced into: the last one, to which the caller may have added earlier entries or
   * from which it may have dropped some. Without this the client drops old entries.
   */
  readonly heldState?: () => SessionState | null;
}

/**
 * A session's state as it changes: read, followed, and read again whenever events alone do not suffice. This is all a
 * page or a terminal has to show.
 */
export async function* openSession(
  transport: Transport,
  client: SessionReader,
  id: SessionId,
  options: OpenOptions,
): AsyncGenerator<OpenItem, void, undefined> {
  const signal = options.signal ?? new AbortController().signal;
  const notify = notifyOnChange(options);
  for (let failures = 1; !signal.aborted; failures++) {
    const read = await client.readSession({ params: { id } }, { signal });
    if (read.ok) {
      failures = 0;
      const followed = followUntilReread(client, startState(read.value), {
        ...options,
        onConnection: notify,
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
    notify(connectionStateAfter(failures));
    await waitBeforeRetry(transport, failures, signal);
  }
}

/** Ends when the session must be read again. */
async function* followUntilReread(
  client: SessionReader,
  start: SessionState,
  { heldState, ...options }: OpenOptions,
): AsyncGenerator<OpenItem, void, undefined> {
  let state = start;
  yield { kind: "state", state, by: null };
  for await (const item of client.follow(state.session.id, state.seq, options)) {
    if (item.kind === "resync") return;
    if (item.kind === "event") {
      const next = reduceEvent(heldState?.() ?? state, item.event);
      state = heldState === undefined ? dropOldEntries(next) : next;
      yield { kind: "state", state, by: item.event };
      if (state.readAgain !== null) return;
    } else yield item;
  }
}
