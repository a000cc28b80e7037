import type { Client } from "@holdfast/client";
import type { SessionView } from "@holdfast/protocol";

/** A row that is new or changed; `null` when one is gone, or when some may have been missed. */
export type OnHint = (session: SessionView | null) => void;

/** What the host says of the list, until somebody leaves. */
export function followListHints(client: Client, onHint: OnHint): () => void {
  const leaving = new AbortController();
  void readListHints(client, onHint, leaving.signal);
  return () => leaving.abort();
}

async function readListHints(client: Client, onHint: OnHint, signal: AbortSignal): Promise<void> {
  // What happened before the line was up is not told on it.
  const onConnection = (state: string): void => {
    if (state === "live") onHint(null);
  };
  for await (const item of client.watch(new Map(), { signal, onConnection })) {
    if (signal.aborted || item.kind === "ended") return;
    if (item.kind === "list") onHint(item.hint.session);
  }
}
