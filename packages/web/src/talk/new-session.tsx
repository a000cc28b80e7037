import type { SessionId } from "@holdfast/protocol";
import { useState } from "react";
import { sentenceOf, useApp, useStore } from "../app-context.ts";
import { isRehearsal } from "../models/models-store.ts";
import { ModelMenu } from "../models/model-menu.tsx";
import { Mark } from "../ui/icons.tsx";
import { words } from "../strings/strings.ts";
import { useCommands } from "./composer/commands.tsx";
import { Composer } from "./composer/composer.tsx";
import type { Content } from "./store/unsent-messages.ts";

/** Where a conversation begins. The session is made with its first message, and names the one that it leaves. */
export function Welcome({ from }: { from: SessionId | null }) {
  const { client, unsent, router, toasts, list: sessions, models } = useApp();
  const commands = useCommands(null);
  const [model, setModel] = useState<string | null>(null);
  const list = useStore(models);
  const rehearses = list !== null && isRehearsal(model ?? list.usual);

  async function begin(content: Content): Promise<boolean> {
    const body = {
      ...(from !== null && { previousSessionId: from }),
      ...(model !== null && { model }),
    };
    const created = await client.createSession({ body });
    if (!created.ok) {
      toasts.tell(sentenceOf(created.error));
      return false;
    }
    const { session } = created.value;
    unsent.send(session.id, content);
    sessions.changed();
    router.replace({ kind: "session", id: session.id, at: null });
    return true;
  }

  return (
    <section className="welcome" aria-label={words.sessions.begin}>
      <div className="welcome-words">
        <Mark />
        <h1>{words.welcome.title}</h1>
        <p className="lead">{words.welcome.lead}</p>
        {rehearses && (
          <Rehearsal onTry={(text) => void begin({ text, attachments: [], mode: "queue" })} />
        )}
      </div>
      <div className="dock">
        <Composer
          draftName="new"
          isRunning={false}
          onSend={begin}
          onCommand={commands.run}
          onStop={null}
        >
          <ModelMenu model={model} onChoose={setModel} />
        </Composer>
        {commands.answer}
      </div>
    </section>
  );
}

/** With no key everything can be tried at once, and the page says who answers. */
function Rehearsal({ onTry }: { onTry: (text: string) => void }) {
  const { router } = useApp();
  return (
    <>
      <p className="callout calm">
        {words.welcome.rehearsal}{" "}
        <button
          type="button"
          className="link"
          onClick={() => router.go({ kind: "settings", section: "models" })}
        >
          {words.welcome.setUp}
        </button>
      </p>
      <ul className="tries">
        {words.welcome.tries.map(([label, text]) => (
          <li key={label}>
            <button type="button" className="try" onClick={() => onTry(text)}>
              <strong>{label}</strong>
              <span>{text}</span>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
