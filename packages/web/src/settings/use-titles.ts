import type { SessionId } from "@holdfast/protocol";
import { useCallback, useEffect, useRef, useState } from "react";
import { useApp } from "../app-context.ts";
import { sessionTitle } from "../sessions/session-actions.ts";
import { strings } from "../strings/strings.ts";
import { useInterval } from "./settings-group.tsx";

/** The titles of sessions. Each is fetched once, and again while it has none. */
export function useSessionTitles(ids: readonly SessionId[]): (id: SessionId) => string {
  const { client } = useApp();
  const [titles, setTitles] = useState<ReadonlyMap<SessionId, string>>(new Map());
  const requested = useRef(new Set<SessionId>());
  const idList = ids.join(" ");
  const [round, setRound] = useState(0);
  useInterval(
    2_000,
    useCallback(() => setRound((old) => old + 1), []),
  );
  useEffect(() => {
    const missing = ids.filter((id) => !requested.current.has(id));
    for (const id of missing) {
      requested.current.add(id);
      void client.readSession({ params: { id }, query: { limit: 1 } }).then((read) => {
        if (read.ok && read.value.session.title === null) requested.current.delete(id);
        const title = read.ok ? sessionTitle(read.value.session) : strings.schedules.gone;
        setTitles((old) => new Map(old).set(id, title));
        return undefined;
      });
    }
    // Compared as text: a new array with the same ids triggers no requests.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [client, idList, round]);
  return (id) => titles.get(id) ?? strings.schedules.reading;
}
