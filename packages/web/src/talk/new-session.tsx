import type { SessionId } from "@holdfast/protocol";
import { useState } from "react";
import { problemText, useApp, useStore } from "../app-context.ts";
import { isRehearsal } from "../models/models-store.ts";
import { ModelMenu } from "../models/model-menu.tsx";
import { Logo } from "../ui/icons.tsx";
import { strings } from "../strings/strings.ts";
import { useSlashCommands } from "./composer/slash-commands.tsx";
import { Composer } from "./composer/composer.tsx";
import type { MessageContent } from "./store/unsent-messages.ts";

/** Where a conversation begins. The session is made with its first message, and names the one that it leaves. */
export function NewSession({ from }: { from: SessionId | null }) {
  const { client, unsent, router, toasts, list: sessions, models } = useApp();
  const commands = useSlashCommands(null);
  const [model, setModel] = useState<string | null>(null);
  const list = useStore(models);
  const rehearses = list !== null && isRehearsal(model ?? list.usual);

  async function begin(content: MessageContent): Promise<boolean> {
    const body = {
      ...(from !== null && { previousSessionId: from }),
      ...(model !== null && { model }),
    };
    const created = await client.createSession({ body });
    if (!created.ok) {
      toasts.show(problemText(created.error));
      return false;
    }
    const { session } = created.value;
    unsent.send(session.id, content);
    sessions.changed();
    router.replace({ kind: "session", id: session.id, at: null });
    return true;
  }

  return (
    <section className="welcome" aria-label={strings.sessions.begin}>
      <div className="welcome-words">
        <Logo />
        <h1>{strings.welcome.title}</h1>
        <p className="lead">{strings.welcome.lead}</p>
        {rehearses && (
          <RehearsalHint onTry={(text) => void begin({ text, attachments: [], mode: "queue" })} />
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
function RehearsalHint({ onTry }: { onTry: (text: string) => void }) {
  const { router } = useApp();
  return (
    <>
      <p className="callout calm">
        {strings.welcome.rehearsal}{" "}
        <button
          type="button"
          className="link"
          onClick={() => router.go({ kind: "settings", section: "models" })}
        >
          {strings.welcome.setUp}
        </button>
      </p>
      <ul className="tries">
        {strings.welcome.tries.map(([label, text]) => (
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
