import type { SessionId, SessionView, WorkspaceEntry } from "@holdfast/protocol";
import { useCallback, useEffect, useRef, useState } from "react";
import { problemText, useApp } from "../app-context.ts";
import { sessionActions } from "../sessions/session-actions.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Icon, type IconName } from "../ui/icons.tsx";
import { revealInvisible } from "../ui/markdown/safe-text.ts";
import { Panel } from "../ui/panel.tsx";
import { WorktreeSection } from "./worktree.tsx";
import { strings } from "../strings/strings.ts";
import { formatSize, previewKindOf } from "./file-kind.ts";
import { FilePreview } from "./file-preview.tsx";
import { FolderMenu } from "./folder-menu.tsx";

const debounceMs = 150;
const maxUploadBytes = 25 * 1024 * 1024;

interface Listing {
  readonly root: string;
  readonly path: string;
  readonly entries: readonly WorkspaceEntry[];
  readonly more: number;
}

interface FilesPanelProps {
  readonly session: SessionView;
  readonly onClose: () => void;
}

/** The session's workspace: folders to open, files to look at, download and upload. */
export function FilesPanel({ session, onClose }: FilesPanelProps) {
  const app = useApp();
  const { id } = session;
  const [path, setPath] = useState("");
  const { listing, trouble, reload } = useListing(
    id,
    path,
    `${session.version} ${session.workspace}`,
  );
  const [preview, setPreview] = useState<{ path: string; size: number | undefined } | null>(null);

  /** A link may lead to a folder or to a file. */
  async function open({ name, kind, size }: WorkspaceEntry): Promise<void> {
    const below = joinPath(listing?.path ?? path, name);
    if (kind === "folder") return setPath(below);
    if (kind === "other") return;
    if (kind === "link") {
      const folder = await app.client.listFiles({ params: { id }, query: { path: below } });
      if (folder.ok) return setPath(folder.value.path);
    }
    setPreview({ path: below, size });
  }

  return (
    <Panel title={strings.files.title} onClose={onClose}>
      <div className="row">
        <FolderMenu
          workspace={session.workspace}
          onChoose={(workspace) => {
            setPath("");
            void sessionActions(app, session)
              .change({ workspace })
              .then((isChanged) => isChanged && app.toasts.show(strings.folder.moved));
          }}
        />
        <span className="spacer" />
        <UploadButton id={id} folder={listing?.path ?? path} onUploaded={reload} />
        <button
          type="button"
          className="icon-button"
          aria-label={strings.files.refresh}
          title={strings.files.refresh}
          onClick={reload}
        >
          <Icon name="refresh" />
        </button>
      </div>
      {session.workspace?.startsWith("worktree:") === true && (
        <WorktreeSection workspace={session.workspace} />
      )}
      <Breadcrumb path={listing?.path ?? path} onOpen={setPath} />
      {trouble !== null && <p className="quiet">{trouble}</p>}
      {trouble === null && listing === null && (
        <p className="quiet fade-in-late">{strings.files.loading}</p>
      )}
      {listing !== null && (
        <>
          {listing.entries.length === 0 && <p className="quiet">{strings.files.empty}</p>}
          <ul className="file-list">
            {listing.entries.map((entry) => (
              <li key={entry.name}>
                <button
                  type="button"
                  className="file-entry"
                  disabled={entry.kind === "other"}
                  onClick={() => void open(entry)}
                >
                  <Icon name={iconOf(entry)} />
                  <span className="file-name" dir="auto">
                    {revealInvisible(entry.name)}
                  </span>
                  <span className="quiet">{factOf(entry)}</span>
                </button>
              </li>
            ))}
          </ul>
          {listing.more > 0 && <p className="quiet">{strings.files.more(listing.more)}</p>}
          <p className="quiet file-root" title={listing.root}>
            {revealInvisible(listing.root)}
          </p>
        </>
      )}
      {preview !== null && (
        <FilePreview
          id={id}
          path={preview.path}
          size={preview.size}
          onClose={() => setPreview(null)}
        />
      )}
    </Panel>
  );
}

function joinPath(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

function iconOf({ kind, name }: WorkspaceEntry): IconName {
  if (kind === "folder") return "folder";
  if (kind === "link") return "link";
  return previewKindOf(name) === "page" ? "window" : "file";
}

function factOf({ kind, size }: WorkspaceEntry): string {
  if (kind === "link" || kind === "other") return strings.files.kind[kind];
  return size === undefined ? "" : formatSize(size);
}

/** Each folder on the way from the workspace, to go back to. */
function Breadcrumb({ path, onOpen }: { path: string; onOpen: (path: string) => void }) {
  const names = path === "" ? [] : path.split("/");
  const steps = [
    { label: strings.files.root, path: "" },
    ...names.map((name, index) => ({ label: name, path: names.slice(0, index + 1).join("/") })),
  ];
  return (
    <nav className="breadcrumb" aria-label={strings.files.root}>
      <ol>
        {steps.map((step, index) => (
          <li key={step.path}>
            {index === steps.length - 1 ? (
              <span aria-current="location">{revealInvisible(step.label)}</span>
            ) : (
              <button type="button" className="link" onClick={() => onOpen(step.path)}>
                {revealInvisible(step.label)}
              </button>
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}

interface UploadButtonProps {
  readonly id: SessionId;
  /** From the workspace. */
  readonly folder: string;
  readonly onUploaded: () => void;
}

function UploadButton({ id, folder, onUploaded }: UploadButtonProps) {
  const { client, toasts } = useApp();
  const picker = useRef<HTMLInputElement>(null);
  /** Files whose names are taken, which the person decides about one by one. */
  const [taken, setTaken] = useState<readonly File[]>([]);

  async function upload(file: File, existing: "keep" | "replace"): Promise<void> {
    const name = revealInvisible(file.name);
    if (file.size > maxUploadBytes) return toasts.show(strings.composer.tooLarge(name));
    const query = { path: joinPath(folder, file.name), existing };
    const sent = await client.writeFile({
      params: { id },
      query,
      body: file,
      mediaType: file.type,
    });
    if (sent.ok) {
      toasts.show(strings.files.uploaded(name));
      onUploaded();
    } else if (sent.error.code === "file_exists") setTaken((all) => [...all, file]);
    else toasts.show(strings.files.uploadFailed(name, problemText(sent.error)));
  }

  const [first] = taken;
  return (
    <>
      <button
        type="button"
        className="icon-button"
        aria-label={strings.files.upload}
        title={strings.files.upload}
        onClick={() => picker.current?.click()}
      >
        <Icon name="upload" />
      </button>
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        aria-label={strings.files.upload}
        onChange={(event) => {
          for (const file of event.target.files ?? []) void upload(file, "keep");
          event.target.value = "";
        }}
      />
      {first !== undefined && (
        <Dialog
          key={first.name}
          title={strings.files.replaceTitle(revealInvisible(first.name))}
          confirm={strings.files.replace}
          tone="warn"
          onConfirm={() => void upload(first, "replace")}
          onClose={() => setTaken((all) => all.slice(1))}
        >
          <p className="quiet">{strings.files.replaceLead}</p>
        </Dialog>
      )}
    </>
  );
}

/** The names in a folder, read again when the conversation goes on: its tools may have changed them. */
function useListing(id: SessionId, path: string, version: string) {
  const { client } = useApp();
  const [listing, setListing] = useState<Listing | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [reloads, setReloads] = useState(0);
  useEffect(() => {
    const leaving = new AbortController();
    const timer = setTimeout(() => {
      const { signal } = leaving;
      void client.listFiles({ params: { id }, query: { path } }, { signal }).then((result) => {
        if (signal.aborted) return undefined;
        setListing(result.ok ? result.value : null);
        setTrouble(result.ok ? null : problemText(result.error));
        return undefined;
      });
    }, debounceMs);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
    // A new version or a reload may have other files.
    // oxlint-disable-next-line react/exhaustive-effect-dependencies
  }, [client, id, path, version, reloads]);
  const reload = useCallback(() => setReloads((count) => count + 1), []);
  return { listing, trouble, reload };
}
