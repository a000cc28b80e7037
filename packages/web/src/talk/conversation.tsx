import { type Client, ids, type SessionId } from "@holdfast/protocol";
import { useEffect, useRef } from "react";

import { Composer } from "./composer.tsx";
import { Entry, Live } from "./entry.tsx";
import { type Conversation as Followed, useConversation } from "./use-conversation.ts";

interface ConversationProps {
  readonly client: Client;
  readonly id: SessionId;
  readonly onChange: () => void;
}

export function Conversation({ client, id, onChange }: ConversationProps) {
  const followed = useConversation(client, id);
  const { state } = followed;
  const run = state?.run ?? null;
  const isLive = state !== null && state.session.liveRun !== null;
  const end = useEndInView();

  async function send(text: string): Promise<boolean> {
    const body = { clientId: ids.make("message"), text };
    const result = await client.sendMessage({ params: { id }, body });
    onChange();
    return result.ok;
  }

  return (
    <section className="conversation" aria-label={state?.session.title ?? "Conversation"}>
      <div className="entries" role="log" aria-live="polite">
        {state === null && followed.ended === null && <p className="quiet">Reading …</p>}
        {state?.entries.map((entry) => (
          <Entry key={entry.seq} entry={entry} />
        ))}
        {state !== null && state.live !== null && <Live live={state.live} />}
        {state?.inbox.map((item) => (
          <p key={item.messageId} className="entry user waiting-turn">
            {item.text} <span className="quiet">waits</span>
          </p>
        ))}
        <div ref={end} />
      </div>
      <State followed={followed} />
      <Composer
        onSend={send}
        onStop={
          run !== null && isLive ? () => void client.cancelRun({ params: { id: run.id } }) : null
        }
      />
    </section>
  );
}

/** Stays at the end while text comes, unless the person has gone up to read. */
function useEndInView() {
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const place = end.current?.parentElement;
    if (!place) return;
    const isNear = place.scrollHeight - place.scrollTop - place.clientHeight < 160;
    if (isNear) place.scrollTop = place.scrollHeight;
  });
  return end;
}

/** What is true of the connection and the run, in words. */
function State({ followed: { state, connection, ended } }: { followed: Followed }) {
  return <output className="quiet run-state">{words()}</output>;

  function words(): string {
    if (ended !== null) return "This conversation cannot be read. Choose another.";
    if (connection === "reconnecting") return "Reconnecting. Nothing is lost.";
    if (connection === "offline") return "The host does not answer. What was accepted is safe.";
    if (state?.session.liveState === "paused") return "The run was interrupted and waits for you.";
    return state?.session.liveRun ? "Answering" : "";
  }
}
