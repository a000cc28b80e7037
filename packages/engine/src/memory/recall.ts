import type { Attachment, OwnerId, Part, SessionId } from "@holdfast/protocol";

import type { Clock } from "../ports/clock.ts";
import type { MemoryHandle, MemoryProviders, Recollection } from "../ports/memory.ts";
import { ownerKey } from "./segment.ts";

export interface RecallDeps {
  readonly providers: MemoryProviders;
  readonly clock: Clock;
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
}

export interface RecallQuery {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly text: string;
  readonly attachments?: readonly Attachment[];
}

/** What there is to say to a message, as it is given to the model beside it; nothing at all when there is nothing to say. */
export interface Recall {
  (question: RecallQuery): Promise<readonly Part[]>;
}

const maxQueryLength = 4_000;

/**
 * Asks the current provider, for a short time. A message never waits for a memory that is away, and never fails because
 * of it. The handle is kept while its owner is the current one.
 */
export function createRecall({
  providers,
  clock,
  timeoutMs: patienceMs = 1_500,
  maxBytes: mostBytes = 4_096,
}: RecallDeps): Recall {
  let open: { readonly key: string; readonly handle: Promise<MemoryHandle | null> } | null = null;

  function current(): Promise<MemoryHandle | null> {
    const owner = providers.current();
    if (owner === null) return Promise.resolve(null);
    const key = ownerKey(owner);
    if (open?.key !== key) {
      void open?.handle.then((handle) => handle?.close()).catch(() => {});
      open = { key, handle: providers.open(owner).catch(() => null) };
    }
    return open.handle;
  }

  async function ask(question: RecallQuery, signal: AbortSignal): Promise<readonly Recollection[]> {
    const handle = await current();
    if (handle === null || signal.aborted) return [];
    const { owner, session, text } = question;
    return handle.recall({ owner, session, text: text.slice(0, maxQueryLength) }, signal);
  }

  return async (question) => {
    if (question.text === "") return [];
    const over = new AbortController();
    const late = clock.sleep(patienceMs, over.signal).then((): readonly Recollection[] => []);
    const found = ask(question, over.signal).catch((): readonly Recollection[] => []);
    const recollections = await Promise.race([found, late]);
    over.abort();
    const text = joinWithinBytes(
      recollections.map((each) => `- ${each.text}`),
      mostBytes,
    );
    return text === "" ? [] : [{ type: "attached", source: "memory", text }];
  };
}

/** Whole recollections only: half of one says something else. */
function joinWithinBytes(lines: readonly string[], most: number): string {
  let text = "";
  for (const line of lines) {
    const next = text === "" ? line : `${text}\n${line}`;
    if (new TextEncoder().encode(next).length > most) break;
    text = next;
  }
  return text;
}
