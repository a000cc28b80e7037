import type { SessionState } from "@holdfast/client";
import type { EntryView, Seq, SessionId } from "@holdfast/protocol";
import { useEffect, useMemo, useState } from "react";
import { useApp } from "../../app-context.ts";
import { findableRows, findRows } from "./findable-rows.ts";

const pageSize = 500;

export interface Find {
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly count: number;
  /** Which of the messages with the text is shown, counted from 1; 0 if there is none. */
  readonly position: number;
  readonly isLoading: boolean;
  readonly step: (by: 1 | -1) => void;
  /** The entry to scroll to. */
  readonly at: Seq | null;
}

/** Finds text in the whole conversation, whatever part of it is loaded. */
export function useFind(id: SessionId, state: SessionState | null, isOpen: boolean): Find {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<Seq | null>(null);
  const { entries: earlier, isLoading } = useEarlierEntries(id, state, isOpen);
  const rows = useMemo(() => {
    if (!isOpen || state === null) return [];
    const first = state.entries[0]?.seq ?? 0;
    return findableRows([...earlier.filter(({ seq }) => seq < first), ...state.entries]);
  }, [isOpen, state, earlier]);
  const found = useMemo(() => findRows(rows, text), [rows, text]);
  const index = found.findIndex(({ seq }) => seq === chosen);
  // The newest first: that is what somebody at the end of the conversation looks for.
  const shown = index === -1 ? found.length - 1 : index;
  return {
    text,
    setText,
    count: found.length,
    position: shown + 1,
    isLoading,
    step(by) {
      const next = (shown + by + found.length) % Math.max(1, found.length);
      setChosen(found[next]?.seq ?? null);
    },
    at: found[shown]?.seq ?? null,
  };
}

/** The entries above the loaded ones, read page by page once somebody wants to find something. */
function useEarlierEntries(id: SessionId, state: SessionState | null, isOpen: boolean) {
  const { client } = useApp();
  const [entries, setEntries] = useState<readonly EntryView[]>([]);
  const [isLoading, setIsLoading] = useState(false);
  const isLoaded = state !== null;
  useEffect(() => {
    if (!isOpen || !isLoaded) return;
    const leaving = new AbortController();
    async function load(): Promise<void> {
      setIsLoading(true);
      let before: Seq | null | undefined;
      let all: readonly EntryView[] = [];
      while (before !== null && !leaving.signal.aborted) {
        const query = { limit: pageSize, ...(before !== undefined && { before }) };
        const read = await client.readSession({ params: { id }, query }, leaving);
        if (!read.ok) break;
        all = [...read.value.entries, ...all];
        before = read.value.earlier;
        setEntries(all);
      }
      if (!leaving.signal.aborted) setIsLoading(false);
    }
    void load();
    return () => leaving.abort();
  }, [client, id, isOpen, isLoaded]);
  return { entries, isLoading };
}
