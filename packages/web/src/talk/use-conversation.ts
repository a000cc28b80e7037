import type {
  ApiError,
  Client,
  ConnectionState,
  SessionId,
  SessionState,
} from "@holdfast/protocol";
import { useEffect, useState } from "react";

export interface Conversation {
  /** What is stored and what is being written, as the protocol's reducer says it. */
  readonly state: SessionState | null;
  readonly connection: ConnectionState | null;
  readonly ended: ApiError | null;
  /** How the host is, when that is worth a word. */
  readonly status: string | null;
}

const nothing: Conversation = { state: null, connection: null, ended: null, status: null };

/** Follows one session until the signal, and tells every change. Leaving stops nothing but the following. */
async function follow(
  client: Client,
  id: SessionId,
  signal: AbortSignal,
  tell: (part: Partial<Conversation>) => void,
): Promise<void> {
  const onConnection = (connection: ConnectionState): void => tell({ connection });
  for await (const item of client.open(id, { signal, onConnection })) {
    if (item.kind === "state") tell({ state: item.state });
    if (item.kind === "status") tell({ status: item.status.text ?? null });
    if (item.kind === "ended") tell({ ended: item.error });
  }
}

/** The conversation with this id. Whoever shows another one mounts the component anew. */
export function useConversation(client: Client, id: SessionId): Conversation {
  const [conversation, setConversation] = useState(nothing);
  useEffect(() => {
    const leaving = new AbortController();
    void follow(client, id, leaving.signal, (part) => {
      if (!leaving.signal.aborted) setConversation((old) => ({ ...old, ...part }));
    });
    return () => leaving.abort();
  }, [client, id]);
  return conversation;
}
