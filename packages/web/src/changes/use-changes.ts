import type { FileChangesView, Seq, SessionId } from "@holdfast/protocol";
import { useEffect, useState } from "react";
import { problemText, useApp } from "../app-context.ts";

export interface ChangesRange {
  /** The changes after this event; of the last turn without it. */
  readonly from?: Seq;
  readonly to?: Seq;
}

/** What a part of the conversation changed in files, read once. `trouble`: why that cannot be said. */
export function useChanges(id: SessionId, { from, to }: ChangesRange) {
  const { client } = useApp();
  const [view, setView] = useState<FileChangesView | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const query = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
    void client.readFileChanges({ params: { id }, query }, { signal }).then((read) => {
      if (signal.aborted) return undefined;
      setView(read.ok ? read.value : null);
      setTrouble(read.ok ? null : problemText(read.error));
      return undefined;
    });
    return () => leaving.abort();
  }, [client, id, from, to]);
  return { view, trouble };
}
