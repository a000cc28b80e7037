import { useEffect, useState } from "react";
import { problemText, useApp } from "../app-context.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Icon } from "../ui/icons.tsx";
import { revealInvisible } from "../ui/markdown/safe-text.ts";
import { Menu } from "../ui/menu.tsx";
import { strings } from "../strings/strings.ts";

interface FolderMenuProps {
  /** `null`: the folder that Holdfast keeps for the conversation. */
  readonly workspace: string | null;
  readonly onChoose: (workspace: string | null) => void;
  /** Whether it begins in a worktree of that folder. Without it that cannot be chosen. */
  readonly worktree?: { readonly isOn: boolean; readonly onChange: (isOn: boolean) => void };
}

/** Chooses where a conversation works: its own folder, one that is allowed, or any other that may be used. */
export function FolderMenu({ workspace, onChoose, worktree }: FolderMenuProps) {
  const known = useKnownFolders();
  const [isAsking, setIsAsking] = useState(false);
  const isInWorktree = worktree?.isOn === true && workspace !== null;
  const name = workspace === null ? strings.folder.own : lastName(workspace);
  const shown = isInWorktree ? strings.folder.worktreeOf(name) : name;
  const paths = [...new Set([...known, ...(workspace === null ? [] : [workspace])])];
  return (
    <>
      <Menu
        label={strings.folder.label}
        visibleLabel={shown}
        className="button plain folder-menu"
        items={[
          {
            label: strings.folder.own,
            hint: strings.folder.ownHint,
            icon: "file",
            checked: workspace === null,
            onChoose: () => onChoose(null),
          },
          ...paths.map((path) => ({
            label: lastName(path),
            hint: revealInvisible(path),
            icon: "folder" as const,
            checked: path === workspace,
            onChoose: () => onChoose(path),
          })),
          "line",
          ...(worktree === undefined || workspace === null
            ? []
            : [
                {
                  label: strings.folder.worktree,
                  hint: strings.folder.worktreeHint,
                  icon: "branch" as const,
                  checked: worktree.isOn,
                  onChoose: () => worktree.onChange(!worktree.isOn),
                },
                "line" as const,
              ]),
          { label: strings.folder.other, icon: "search", onChoose: () => setIsAsking(true) },
        ]}
      >
        <Icon name={isInWorktree ? "branch" : "folder"} />
        <span>{shown}</span>
      </Menu>
      {isAsking && <FolderDialog onChoose={onChoose} onClose={() => setIsAsking(false)} />}
    </>
  );
}

function lastName(path: string): string {
  if (path.startsWith("worktree:")) return strings.worktree.title;
  return revealInvisible(path.replace(/\/+$/, "").split("/").at(-1) || path);
}

/** The operator's roots and the folders that the owner has allowed. */
function useKnownFolders(): readonly string[] {
  const { client } = useApp();
  const [paths, setPaths] = useState<readonly string[]>([]);
  useEffect(() => {
    const leaving = new AbortController();
    void client.listFolders({}, { signal: leaving.signal }).then((listed) => {
      if (listed.ok) setPaths([...listed.value.roots, ...listed.value.folders.map((f) => f.path)]);
      return undefined;
    });
    return () => leaving.abort();
  }, [client]);
  return paths;
}

interface FolderDialogProps {
  readonly onChoose: (workspace: string) => void;
  readonly onClose: () => void;
}

function FolderDialog({ onChoose, onClose }: FolderDialogProps) {
  const { client } = useApp();
  const [path, setPath] = useState("");
  const [trouble, setTrouble] = useState<string | null>(null);

  async function check(): Promise<void> {
    const folder = path.trim();
    if (!folder.startsWith("/")) return setTrouble(strings.folder.absolute);
    const checked = await client.checkFolder({ query: { path: folder } });
    if (!checked.ok) return setTrouble(problemText(checked.error));
    const { state, reason } = checked.value;
    if (state === "allowed") {
      onChoose(folder);
      onClose();
    } else setTrouble(state === "askable" ? strings.folder.askable(folder) : (reason ?? ""));
  }

  return (
    <Dialog title={strings.folder.title} onClose={onClose}>
      <p className="quiet">{strings.folder.lead}</p>
      <label className="field">
        {strings.folder.field}
        <input
          className="input"
          value={path}
          placeholder={strings.folder.placeholder}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => {
            setPath(event.target.value);
            setTrouble(null);
          }}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            void check();
          }}
        />
      </label>
      {trouble !== null && (
        <p className="callout attention" role="alert">
          {revealInvisible(trouble)}
        </p>
      )}
      <div>
        <button type="button" className="button primary" onClick={() => void check()}>
          {strings.folder.choose}
        </button>
      </div>
    </Dialog>
  );
}
