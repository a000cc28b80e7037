import {
  type Attachment,
  type MemoryAccess,
  type OwnerId,
  type Part,
  type SessionId,
  withTimeout,
} from "@holdfast/protocol";

import type { Clock } from "../ports/clock.ts";
import type { MemoryHandle, MemoryOwner, MemoryProviders, Recollection } from "../ports/memory.ts";

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
  /** Nothing is recalled for a message without access to memory. */
  readonly memory?: MemoryAccess;
}

/** Finds what the model should get alongside a message; an empty list if there is nothing. */
export interface Recall {
  (question: RecallQuery): Promise<readonly Part[]>;
}

/** Equal for all handles to a provider with the same configuration. */
export function ownerKey({ provider, configuration }: MemoryOwner): string {
  return `${provider} ${configuration}`;
}

const maxQueryLength = 4_000;

/**
 * Queries the current provider for a short time. A message never waits for a memory that is away, and never fails
 * because of it. The handle is reused while its owner is the current one.
 */
export function createRecall({
  providers,
  clock,
  timeoutMs = 1_500,
  maxBytes = 4_096,
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
    if (question.text === "" || question.memory === "none") return [];
    const found = await withTimeout({ clock, ms: timeoutMs }, (signal) =>
      ask(question, signal).catch((): readonly Recollection[] => []),
    );
    const recollections = found.status === "done" ? found.value : [];
    const text = joinWithinBytes(
      recollections.map((recollection) => `- ${recollection.text}`),
      maxBytes,
    );
    return text === "" ? [] : [{ type: "attached", source: "memory", text }];
  };
}

/** Whole recollections only: half of one may say something else. */
function joinWithinBytes(lines: readonly string[], limitBytes: number): string {
  let text = "";
  for (const line of lines) {
    const next = text === "" ? line : `${text}\n${line}`;
    if (new TextEncoder().encode(next).length > limitBytes) break;
    text = next;
  }
  return text;
}

/** What the model gets with a message: what memory recalls, and the paths of attachments. */
export function withPlacedAttachments(recall: Recall, place: Recall | undefined): Recall {
  if (place === undefined) return recall;
  return async (query) => (await Promise.all([recall(query), place(query)])).flat();
}
