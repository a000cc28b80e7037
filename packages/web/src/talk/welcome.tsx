import type { SessionId } from "@holdfast/protocol";
import { sentenceOf, useApp } from "../app-context.ts";
import { Mark } from "../ui/index.ts";
import { words } from "../words.ts";
import { useCommands } from "./commands.tsx";
import { Composer } from "./composer.tsx";
import type { Content } from "./unsent.ts";

/** Where a conversation begins. The session is made with its first message, and names the one that it leaves. */
export function Welcome({ from }: { from: SessionId | null }) {
  const { client, unsent, router, toasts, list } = useApp();
  const commands = useCommands(null);

  async function begin(content: Content): Promise<boolean> {
    const body = from === null ? {} : { previousSessionId: from };
    const created = await client.createSession({ body });
    if (!created.ok) {
      toasts.tell(sentenceOf(created.error));
      return false;
    }
    const { session } = created.value;
    unsent.send(session.id, content);
    list.changed();
    router.replace({ kind: "session", id: session.id, at: null });
    return true;
  }

  return (
    <section className="welcome" aria-label={words.sessions.begin}>
      <div className="welcome-words">
        <Mark />
        <h1>{words.welcome.title}</h1>
        <p className="lead">{words.welcome.lead}</p>
        <ul className="tries">
          {words.welcome.tries.map(([label, text]) => (
            <li key={label}>
              <button
                type="button"
                className="try"
                onClick={() => void begin({ text, attachments: [], mode: "queue" })}
              >
                <strong>{label}</strong>
                <span>{text}</span>
              </button>
            </li>
          ))}
        </ul>
      </div>
      <div className="dock">
        <Composer
          draftName="new"
          isRunning={false}
          onSend={begin}
          onCommand={commands.run}
          onStop={null}
        />
        {commands.answer}
      </div>
    </section>
  );
}
