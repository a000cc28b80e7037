import {
  maxProjectFileBytes,
  maxProjectFileCharacters,
  maxProjectFiles,
  type ProjectFileView,
  type ProjectView,
} from "@holdfast/protocol";
import { useId, useState } from "react";
import { problemText, useApp } from "../../app-context.ts";
import { formatSize } from "../../files/file-kind.ts";
import { strings } from "../../strings/strings.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { useHostQuery } from "../settings-group.tsx";

/** The files of a project: upload, replace, delete. */
export function ProjectFiles({ project }: { project: ProjectView }) {
  const { client, toasts } = useApp();
  const params = { id: project.id };
  const [query, refetch] = useHostQuery(() => client.listProjectFiles({ params }));
  const [isBusy, setBusy] = useState(false);
  const [existing, setExisting] = useState<readonly File[]>([]);
  const inputId = useId();
  const t = strings.projectFiles;
  const files = query.kind === "loaded" ? query.value.files : [];

  /** `exists`: the project has a file of this name, and was not asked to replace it. */
  async function add(file: File, replace: boolean): Promise<"exists" | "done"> {
    const name = revealInvisible(file.name);
    if (file.size > maxProjectFileBytes) {
      toasts.show(t.tooLarge(name, formatSize(maxProjectFileBytes)));
      return "done";
    }
    const put = await client.putBlob({ body: file, mediaType: file.type });
    if (!put.ok) {
      toasts.show(t.failed(name, problemText(put.error)));
      return "done";
    }
    const body = { name: file.name, blobId: put.value.blobId, replace };
    const added = await client.addProjectFile({ params, body });
    if (!added.ok && added.error.code === "project_file_exists") return "exists";
    toasts.show(added.ok ? t.added(name) : t.failed(name, problemText(added.error)));
    return "done";
  }

  async function upload(chosen: readonly File[], replace: boolean): Promise<void> {
    setBusy(true);
    const others: File[] = [];
    for (const file of chosen) if ((await add(file, replace)) === "exists") others.push(file);
    setExisting(others);
    setBusy(false);
    refetch();
  }

  async function remove(file: ProjectFileView): Promise<void> {
    const removed = await client.removeProjectFile({ params: { ...params, file: file.id } });
    toasts.show(removed.ok ? t.deleted(revealInvisible(file.name)) : problemText(removed.error));
    refetch();
  }

  return (
    <div className="field">
      <label className="quiet" htmlFor={inputId}>
        {t.title}
      </label>
      <p className="quiet">{t.hint(maxProjectFileCharacters, maxProjectFiles)}</p>
      {files.length > 0 && (
        <ul className="facts-list" aria-label={t.list(project.name)}>
          {files.map((file) => (
            <ProjectFileRow key={file.id} file={file} onDelete={() => void remove(file)} />
          ))}
        </ul>
      )}
      <input
        id={inputId}
        type="file"
        multiple
        disabled={isBusy}
        onChange={({ target }) => {
          const chosen = [...(target.files ?? [])];
          // The same file can be chosen again.
          target.value = "";
          void upload(chosen, false);
        }}
      />
      {existing.length > 0 && (
        <Dialog
          title={t.replaceTitle(existing.length)}
          confirm={t.replace}
          onConfirm={() => void upload(existing, true)}
          onClose={() => setExisting([])}
        >
          <p className="quiet">{existing.map(({ name }) => revealInvisible(name)).join(", ")}</p>
        </Dialog>
      )}
    </div>
  );
}

interface ProjectFileRowProps {
  readonly file: ProjectFileView;
  readonly onDelete: () => void;
}

function ProjectFileRow({ file, onDelete }: ProjectFileRowProps) {
  const [isDeleting, setDeleting] = useState(false);
  const t = strings.projectFiles;
  const name = revealInvisible(file.name);
  return (
    <li>
      <span className="fact-text">
        <span dir="auto">{name}</span>
        <span className="quiet">{formatSize(file.size)}</span>
      </span>
      <button
        type="button"
        className="button plain"
        aria-label={t.deleteNamed(name)}
        onClick={() => setDeleting(true)}
      >
        {t.delete}
      </button>
      {isDeleting && (
        <Dialog
          title={t.deleteTitle(name)}
          confirm={t.delete}
          tone="warn"
          onConfirm={onDelete}
          onClose={() => setDeleting(false)}
        >
          <p className="quiet">{t.deleteHint}</p>
        </Dialog>
      )}
    </li>
  );
}
