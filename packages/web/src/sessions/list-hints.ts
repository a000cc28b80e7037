import type { Client, SessionView } from "@holdfast/protocol";

export interface HintListener {
  /** A row that is new or changed; `null` when one is gone, or when some may have been missed. */
  readonly onHint: (session: SessionView | null) => void;
}

/** Whether one tab can listen for all of them. Without that, as over plain HTTP from another machine, each asks by itself. */
export const canShareHints = (): boolean => "locks" in navigator;

/**
 * What the host says of the list, on one connection for all tabs of the browser: it gives a page few of them, and each open
 * conversation holds one. When the tab that listens is closed, another one does.
 */
export function followHints(client: Client, listener: HintListener): () => void {
  const leaving = new AbortController();
  const { signal } = leaving;
  void navigator.locks
    .request("holdfast:list-hints", { signal }, () => listen(client, listener, signal))
    .catch(() => undefined);
  return () => leaving.abort();
}

async function listen(
  client: Client,
  { onHint }: HintListener,
  signal: AbortSignal,
): Promise<void> {
  // What happened before the line was up is not told on it.
  const onConnection = (state: string): void => {
    if (state === "live") onHint(null);
  };
  for await (const item of client.watch(new Map(), { signal, onConnection })) {
    if (signal.aborted || item.kind === "ended") return;
    if (item.kind === "list") onHint(item.hint.session);
  }
}
