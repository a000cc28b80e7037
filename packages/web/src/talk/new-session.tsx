import { modeOf, type SessionId, type SessionMode } from "@holdfast/protocol";
import { useState } from "react";
import { problemText, useApp, useStore } from "../app-context.ts";
import { isRehearsal } from "../models/models-store.ts";
import { ModelMenu } from "../models/model-menu.tsx";
import { Logo } from "../ui/icons.tsx";
import { strings } from "../strings/strings.ts";
import { useSlashCommands } from "./composer/slash-commands.tsx";
import { Composer } from "./composer/composer.tsx";
import { SessionModeMenu } from "./composer/session-mode-menu.tsx";
import type { MessageContent } from "./store/unsent-messages.ts";

/** The start page. The session is created with its first message, and records the session that was open before. */
export function NewSession({ from }: { from: SessionId | null }) {
  const { client, unsent, router, toasts, list, models } = useApp();
  const commands = useSlashCommands(null);
  const [model, setModel] = useState<string | null>(null);
  const [mode, setMode] = useState<SessionMode | null>(null);
  const modelList = useStore(models);
  const isRehearsing = modelList !== null && isRehearsal(model ?? modelList.usual);

  async function startSession(content: MessageContent): Promise<boolean> {
    const body = {
      ...(from !== null && { previousSessionId: from }),
      ...(model !== null && { model }),
      ...(mode !== null && { mode }),
    };
    const created = await client.createSession({ body });
    if (!created.ok) {
      toasts.show(problemText(created.error));
      return false;
    }
    const { session } = created.value;
    unsent.send(session.id, content);
    list.changed();
    router.replace({ kind: "session", id: session.id, at: null });
    return true;
  }

  return (
    <section className="welcome" aria-label={strings.sessions.begin}>
      <div className="welcome-text">
        <Logo />
        <h1>{strings.welcome.title}</h1>
        <p className="lead">{strings.welcome.lead}</p>
        {isRehearsing && (
          <RehearsalHint
            onTry={(text) => void startSession({ text, attachments: [], mode: "queue" })}
          />
        )}
      </div>
      <div className="dock">
        <Composer
          draftName="new"
          isRunning={false}
          onSend={startSession}
          onCommand={commands.run}
          onStop={null}
        >
          {modelList !== null && (
            <SessionModeMenu
              mode={mode ?? modeOf({ mode: modelList.usualMode })}
              onChoose={setMode}
            />
          )}
          <ModelMenu model={model} onChoose={setModel} />
        </Composer>
        {commands.answer}
      </div>
    </section>
  );
}

/** Without a model key the built-in rehearsal model answers: the page says so and offers examples. */
function RehearsalHint({ onTry }: { onTry: (text: string) => void }) {
  const { router } = useApp();
  return (
    <>
      <p className="callout info">
        {strings.welcome.rehearsal}{" "}
        <button
          type="button"
          className="link"
          onClick={() => router.go({ kind: "settings", section: "models" })}
        >
          {strings.welcome.setUp}
        </button>
      </p>
      <ul className="examples">
        {strings.welcome.examples.map(([label, text]) => (
          <li key={label}>
            <button type="button" className="example" onClick={() => onTry(text)}>
              <strong>{label}</strong>
              <span>{text}</span>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
