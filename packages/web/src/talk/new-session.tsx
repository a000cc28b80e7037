import { modeOf, type SessionId, type SessionMode } from "@holdfast/protocol";
import { useState } from "react";
import { problemText, useApp, useStore } from "../app-context.ts";
import { FolderMenu } from "../files/folder-menu.tsx";
import { groupModels, modelTitle } from "../models/group-models.ts";
import { isRehearsal, type ModelList } from "../models/models-store.ts";
import { ModelMenu, useModelSettings } from "../models/model-menu.tsx";
import { Logo } from "../ui/icons.tsx";
import { strings } from "../strings/strings.ts";
import { FirstMessages, SentMessage } from "./first-messages.tsx";
import { useSlashCommands } from "./composer/slash-commands.tsx";
import { Composer } from "./composer/composer.tsx";
import { PersonaMenu } from "./composer/persona-menu.tsx";
import { ProjectMenu } from "./composer/project-menu.tsx";
import { useProjects } from "../sessions/use-projects.ts";
import { SessionModeMenu } from "./composer/session-mode-menu.tsx";
import type { MessageContent } from "./store/unsent-messages.ts";

/** The start page. The session is created with its first message, and records the session that was open before. */
export function NewSession({ from }: { from: SessionId | null }) {
  const { client, unsent, router, toasts, list, models } = useApp();
  const commands = useSlashCommands(null);
  const [model, setModel] = useState<string | null>(null);
  const [mode, setMode] = useState<SessionMode | null>(null);
  const [persona, setPersona] = useState<string | null>(null);
  const projects = useProjects();
  // The list shows one project: what begins now belongs to it.
  const [project, setProject] = useState<string | null>(() => list.read().filter.project);
  const [workspace, setWorkspace] = useState<string | null>(null);
  const [isInWorktree, setInWorktree] = useState(false);
  const modelList = useStore(models);
  const isRehearsing = modelList !== null && isRehearsal(model ?? modelList.usual);

  const [sentText, setSentText] = useState<string | null>(null);

  async function startSession(content: MessageContent): Promise<boolean> {
    setSentText(content.text);
    const body = {
      ...(from !== null && { previousSessionId: from }),
      ...(model !== null && { model }),
      ...(mode !== null && { mode }),
      ...(project !== null && { project }),
      ...(persona !== null && { persona }),
      ...(workspace !== null && { workspace, ...(isInWorktree && { worktree: {} }) }),
    };
    const created = await client.createSession({ body });
    if (!created.ok) {
      setSentText(null);
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
      {sentText === null ? (
        <div className="welcome-text">
          <Logo />
          <h1>{strings.welcome.title}</h1>
          <p className="lead">{strings.welcome.lead}</p>
          {isRehearsing && (
            <RehearsalHint
              list={modelList}
              onTry={(text) => void startSession({ text, attachments: [], mode: "queue" })}
            />
          )}
        </div>
      ) : (
        // The conversation is being created: what was sent stays in view meanwhile.
        <>
          <header className="bar talk-bar" />
          <FirstMessages>
            <SentMessage text={sentText} />
          </FirstMessages>
        </>
      )}
      <div className="dock">
        <Composer
          draftName="new"
          session={null}
          model={model}
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
          <div className="new-session-menus">
            <ProjectMenu projects={projects} project={project} onChoose={setProject} />
            <PersonaMenu persona={persona} onChoose={setPersona} />
            <FolderMenu
              workspace={workspace}
              onChoose={setWorkspace}
              worktree={{ isOn: isInWorktree, onChange: setInWorktree }}
            />
          </div>
          <ModelMenu model={model} onChoose={setModel} />
        </Composer>
        {commands.answer}
      </div>
    </section>
  );
}

/** Offers what Ollama or LM Studio serve on this computer: they need no key. */
function LocalModels({ list }: { list: ModelList }) {
  const { models } = useApp();
  const settings = useModelSettings();
  const t = strings.models;
  const isLocal = ({ provider }: { readonly provider: string }): boolean =>
    provider === "ollama" || provider === "openai-compatible";
  const groups = groupModels({ ...list, models: list.models.filter(isLocal) }, "").groups;
  if (groups.length === 0)
    return (
      <p className="quiet">
        {t.noLocal}{" "}
        <button type="button" className="link" onClick={() => void models.refresh()}>
          {t.lookAgain}
        </button>
      </p>
    );
  return groups.map(({ title, models: served }) => (
    <p key={title} className="callout info">
      {t.local(title)}{" "}
      {served.slice(0, 3).map((model) => (
        <button
          key={model.name}
          type="button"
          className="button small"
          onClick={() => void settings.setDefault(model.name)}
        >
          {t.chooseLocal(modelTitle(model))}
        </button>
      ))}
    </p>
  ));
}

/** Without a model key the built-in rehearsal model answers: the page says so and offers examples. */
function RehearsalHint({ list, onTry }: { list: ModelList; onTry: (text: string) => void }) {
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
      <LocalModels list={list} />
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
