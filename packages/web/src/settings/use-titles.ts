import type { SessionId } from "@holdfast/protocol";
import { useEffect, useRef, useState } from "react";
import { useApp } from "../app-context.ts";
import { titleOf } from "../sessions/index.ts";
import { words } from "../words.ts";

/** What conversations are called. Each is asked for once. */
export function useTitles(ids: readonly SessionId[]): (id: SessionId) => string {
  const { client } = useApp();
  const [titles, setTitles] = useState<ReadonlyMap<SessionId, string>>(new Map());
  const asked = useRef(new Set<SessionId>());
  const wanted = ids.join(" ");
  useEffect(() => {
    const missing = ids.filter((id) => !asked.current.has(id));
    for (const id of missing) {
      asked.current.add(id);
      void client.readSession({ params: { id }, query: { limit: 1 } }).then((read) => {
        const title = read.ok ? titleOf(read.value.session) : words.schedules.gone;
        setTitles((old) => new Map(old).set(id, title));
        return undefined;
      });
    }
    // What is wanted stands in one text: a list of the same ids asks for nothing.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [client, wanted]);
  return (id) => titles.get(id) ?? words.schedules.reading;
}
