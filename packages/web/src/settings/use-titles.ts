import type { SessionId } from "@holdfast/protocol";
import { useCallback, useEffect, useRef, useState } from "react";
import { useApp } from "../app-context.ts";
import { sessionTitle } from "../sessions/session-actions.ts";
import { strings } from "../strings/strings.ts";
import { useInterval } from "./settings-group.tsx";

/** What conversations are called. Each is asked for once, and again while it has no title yet. */
export function useSessionTitles(ids: readonly SessionId[]): (id: SessionId) => string {
  const { client } = useApp();
  const [titles, setTitles] = useState<ReadonlyMap<SessionId, string>>(new Map());
  const asked = useRef(new Set<SessionId>());
  const wanted = ids.join(" ");
  const [round, setRound] = useState(0);
  useInterval(
    2_000,
    useCallback(() => setRound((old) => old + 1), []),
  );
  useEffect(() => {
    const missing = ids.filter((id) => !asked.current.has(id));
    for (const id of missing) {
      asked.current.add(id);
      void client.readSession({ params: { id }, query: { limit: 1 } }).then((read) => {
        if (read.ok && read.value.session.title === null) asked.current.delete(id);
        const title = read.ok ? sessionTitle(read.value.session) : strings.schedules.gone;
        setTitles((old) => new Map(old).set(id, title));
        return undefined;
      });
    }
    // What is wanted stands in one text: a list of the same ids asks for nothing.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [client, wanted, round]);
  return (id) => titles.get(id) ?? strings.schedules.reading;
}
