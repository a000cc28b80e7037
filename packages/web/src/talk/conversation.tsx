import { type Client, ids, type SessionId } from "@holdfast/protocol";
import { useEffect, useRef, useState } from "react";

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
  const { place, follow } = useEndInView();
  const unsent = useRef<{ text: string; clientId: string } | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);

  /** The same words sent again after a lost answer are the same message: the host then answers as the first time. */
  async function send(text: string): Promise<boolean> {
    const message =
      unsent.current?.text === text ? unsent.current : { text, clientId: ids.make("message") };
    unsent.current = message;
    const result = await client.sendMessage({ params: { id }, body: message });
    setTrouble(result.ok ? null : "It was not accepted. Nothing was lost; send it again.");
    if (result.ok) unsent.current = null;
    follow();
    onChange();
    return result.ok;
  }

  return (
    <section className="conversation" aria-label={state?.session.title ?? "Conversation"}>
      <div className="entries" role="log" aria-live="polite" ref={place}>
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
      </div>
      <State followed={followed} trouble={trouble} />
      <Composer
        onSend={send}
        onStop={
          run !== null && isLive ? () => void client.cancelRun({ params: { id: run.id } }) : null
        }
      />
    </section>
  );
}

/** Stays at the end while text comes, from the beginning on, until the person goes up to read. */
function useEndInView() {
  const place = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(true);
  useEffect(() => {
    const entries = place.current;
    if (entries === null) return;
    const look = (): void => {
      isFollowing.current = entries.scrollHeight - entries.scrollTop - entries.clientHeight < 160;
    };
    entries.addEventListener("scroll", look);
    return () => entries.removeEventListener("scroll", look);
  }, []);
  useEffect(() => {
    const entries = place.current;
    if (entries !== null && isFollowing.current) entries.scrollTop = entries.scrollHeight;
  });
  return { place, follow: () => (isFollowing.current = true) };
}

/** What is true of the connection and the run, in words. */
interface StateProps {
  readonly followed: Followed;
  readonly trouble: string | null;
}

function State({ followed: { state, connection, ended, status }, trouble }: StateProps) {
  return <output className="quiet run-state">{words()}</output>;

  function words(): string {
    if (ended !== null) return "This conversation cannot be read. Choose another.";
    if (trouble !== null) return trouble;
    if (connection === "reconnecting") return "Reconnecting. Nothing is lost.";
    if (connection === "offline") return "The host does not answer. What was accepted is safe.";
    if (status !== null) return status;
    if (state?.session.liveState === "paused") return "The run was interrupted and waits for you.";
    if (state?.session.liveState === "waiting") return "Waits for your approval of a tool.";
    return state?.session.liveRun ? "Answering" : "";
  }
}
