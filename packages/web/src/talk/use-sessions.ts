import type { Client, SessionView } from "@holdfast/protocol";
import { useCallback, useEffect, useState } from "react";

const everyMs = 3_000;

export interface Sessions {
  /** `null` until they were read for the first time. */
  readonly list: readonly SessionView[] | null;
  readonly refresh: () => void;
}

/** The newest sessions, read again now and then while the tab is looked at. */
export function useSessions(client: Client): Sessions {
  const [list, setList] = useState<readonly SessionView[] | null>(null);
  const refresh = useCallback(() => {
    void client.listSessions({ query: { limit: 50 } }).then((result) => {
      if (result.ok) setList(result.value.sessions);
      return undefined;
    });
  }, [client]);
  useEffect(() => {
    const look = (): void => {
      if (document.visibilityState === "visible") refresh();
    };
    refresh();
    const timer = setInterval(look, everyMs);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [refresh]);
  return { list, refresh };
}
