import type { ProjectView } from "@holdfast/protocol";
import { useEffect, useState } from "react";
import { problemText, useApp, useStore } from "../../app-context.ts";
import { SharedRereadHint } from "../../context/shared-reread-hint.tsx";
import { strings } from "../../strings/strings.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { formatDay } from "../../ui/format-time.ts";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { SettingsGroup } from "../settings-group.tsx";
import { Adding } from "./adding.tsx";
import { ProjectFiles } from "./project-files.tsx";
import { ProjectForm } from "./project-form.tsx";

/** What conversations of one undertaking share: add, edit, delete. */
export function ProjectSettings() {
  const { projects: shared } = useApp();
  useEffect(() => shared.load(), [shared]);
  const query = useStore(shared);
  const refetch = shared.refresh;
  const t = strings.projects;
  return (
    <SettingsGroup title={t.title} hint={t.hint} query={query}>
      {({ projects }) => (
        <>
          {projects.length > 0 && (
            <ul className="facts-list" aria-label={t.title}>
              {projects.map((project) => (
                <ProjectRow key={project.id} project={project} onChange={refetch} />
              ))}
            </ul>
          )}
          <Adding label={t.add}>
            {(close) => <ProjectForm project={null} onSaved={refetch} onClose={close} />}
          </Adding>
        </>
      )}
    </SettingsGroup>
  );
}

interface ProjectRowProps {
  readonly project: ProjectView;
  readonly onChange: () => void;
}

function ProjectRow({ project, onChange }: ProjectRowProps) {
  const { client, toasts } = useApp();
  const [isEditing, setEditing] = useState(false);
  const [isDeleting, setDeleting] = useState(false);
  const t = strings.projects;
  const name = revealInvisible(project.name);

  async function remove(): Promise<void> {
    const headers = { "if-match": project.version };
    const removed = await client.removeProject({ params: { id: project.id }, headers });
    toasts.show(removed.ok ? t.deleted : problemText(removed.error));
    onChange();
  }

  if (isEditing)
    return (
      <li>
        <SharedRereadHint project={project.name} />
        <ProjectForm project={project} onSaved={onChange} onClose={() => setEditing(false)} />
        <ProjectFiles project={project} />
      </li>
    );
  return (
    <li>
      <ProjectSummary project={project} />
      <span className="row">
        <button
          type="button"
          className="button plain"
          aria-label={t.editNamed(name)}
          onClick={() => setEditing(true)}
        >
          {t.edit}
        </button>
        <button
          type="button"
          className="button plain"
          aria-label={t.deleteNamed(name)}
          onClick={() => setDeleting(true)}
        >
          {t.delete}
        </button>
      </span>
      {isDeleting && (
        <Dialog
          title={t.deleteTitle(name)}
          confirm={t.delete}
          tone="warn"
          onConfirm={() => void remove()}
          onClose={() => setDeleting(false)}
        >
          <p className="quiet">{t.deleteHint}</p>
          <SharedRereadHint project={project.name} />
        </Dialog>
      )}
    </li>
  );
}

function ProjectSummary({
  project: { name, text, workspace, versions },
}: {
  project: ProjectView;
}) {
  const t = strings.projects;
  return (
    <span className="fact-text">
      <strong dir="auto">{revealInvisible(name)}</strong>
      {text !== "" && (
        <span className="persona-text" dir="auto">
          {revealInvisible(text)}
        </span>
      )}
      {workspace !== null && <span className="quiet">{revealInvisible(workspace)}</span>}
      {versions.length > 0 && (
        <details className="quiet">
          <summary>{t.versions(versions.length)}</summary>
          <ol reversed>
            {versions.toReversed().map(({ text: earlier, at }) => (
              <li key={`${at} ${earlier}`} dir="auto">
                {revealInvisible(earlier)} ({formatDay(at)})
              </li>
            ))}
          </ol>
        </details>
      )}
    </span>
  );
}
