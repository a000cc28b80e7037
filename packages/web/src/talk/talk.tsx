import { type Client, sessionId, type SessionId } from "@holdfast/protocol";
import { useEffect, useState } from "react";

import { Home } from "../views/index.ts";
import { Conversation } from "./conversation.tsx";
import { useSessions } from "./use-sessions.ts";

function namedByAddress(): SessionId | null {
  const named = sessionId.safeParse(new URLSearchParams(location.search).get("session"));
  return named.success ? named.data : null;
}

/** The conversation that the address names, so that a reload or a link comes back to it. */
function useOpenSession(): [SessionId | null, (id: SessionId) => void] {
  const [open, setOpen] = useState(namedByAddress);
  useEffect(() => {
    const look = (): void => setOpen(namedByAddress());
    addEventListener("popstate", look);
    return () => removeEventListener("popstate", look);
  }, []);
  return [
    open,
    (id) => {
      history.pushState(null, "", `?session=${id}`);
      setOpen(id);
    },
  ];
}

export function Talk({ client }: { client: Client }) {
  const { list, refresh } = useSessions(client);
  const [open, setOpen] = useOpenSession();

  async function begin(): Promise<void> {
    const created = await client.createSession({ body: {} });
    if (!created.ok) return;
    refresh();
    setOpen(created.value.session.id);
  }

  return (
    <div className="talk">
      <nav className="sessions" aria-label="Conversations">
        <button type="button" className="button" onClick={() => void begin()}>
          New conversation
        </button>
        <ul>
          {list?.map((session) => (
            <li key={session.id}>
              <button
                type="button"
                className="session"
                aria-current={session.id === open}
                onClick={() => setOpen(session.id)}
              >
                <span>{session.title ?? "New conversation"}</span>
                {session.liveRun !== null && <span className="dot waiting" title="Answering" />}
              </button>
            </li>
          ))}
        </ul>
      </nav>
      {open === null ? (
        <div className="empty">
          {list?.length === 0 ? (
            <Home />
          ) : (
            <p className="quiet">Choose a conversation, or begin a new one.</p>
          )}
        </div>
      ) : (
        <Conversation key={open} client={client} id={open} onChange={refresh} />
      )}
    </div>
  );
}
