import { useState } from "react";
import type { SessionView } from "@holdfast/protocol";
import { Dialog } from "../ui/dialog.tsx";
import { strings } from "../strings/strings.ts";
import { useApp } from "../app-context.ts";
import { Icon } from "../ui/icons.tsx";
import { Menu, type MenuEntry } from "../ui/menu.tsx";
import { sessionActions, sessionTitle } from "./session-actions.ts";

interface SessionMenuProps {
  readonly session: SessionView;
  readonly onRename: () => void;
  readonly className: string;
  /** Items above the actions on the session itself. */
  readonly leadingItems?: readonly MenuEntry[];
}

export function SessionMenu({ session, onRename, className, leadingItems = [] }: SessionMenuProps) {
  const app = useApp();
  const [organising, setOrganising] = useState(false);
  const [purging, setPurging] = useState(false);
  const actions = sessionActions(app, session);
  const t = strings.sessions;
  const formats = ["md", "html", "json"] as const;
  const items: MenuEntry[] =
    session.trashedAt === null
      ? [
          ...leadingItems,
          { label: t.rename, icon: "edit", onChoose: onRename },
          {
            label: session.pinned ? t.unpin : t.pin,
            icon: session.pinned ? "unpin" : "pin",
            onChoose: () => void actions.change({ pinned: !session.pinned }),
          },
          { label: t.organise, icon: "tag", onChoose: () => setOrganising(true) },
          { label: t.duplicate, icon: "copy", onChoose: () => void actions.duplicate() },
          { label: t.select, icon: "check", onChoose: () => app.selection.start(session.id) },
          "line",
          ...formats.map((format) => ({
            label: t.exportAs[format],
            icon: "download" as const,
            onChoose: () => void actions.export(format),
          })),
          "line",
          session.archived
            ? {
                label: t.unarchive,
                icon: "archive",
                onChoose: () => void actions.change({ archived: false }),
              }
            : { label: t.archive, icon: "archive", onChoose: () => void actions.archive() },
          { label: t.trash, icon: "trash", tone: "warn", onChoose: () => void actions.trash() },
        ]
      : [
          { label: t.restore, icon: "undo", onChoose: () => void actions.restore() },
          { label: t.select, icon: "check", onChoose: () => app.selection.start(session.id) },
          "line",
          { label: t.purge, icon: "trash", tone: "warn", onChoose: () => setPurging(true) },
        ];

  return (
    <>
      <Menu label={t.menu(sessionTitle(session))} className={className} items={items}>
        <Icon name="more" />
      </Menu>
      {purging && (
        <Dialog
          title={t.purgeAsk(sessionTitle(session))}
          confirm={t.purgeConfirm}
          tone="warn"
          onConfirm={() => void actions.purge()}
          onClose={() => setPurging(false)}
        >
          <p>{t.purgeLead}</p>
        </Dialog>
      )}
      {organising && (
        <OrganiseDialog
          session={session}
          onSave={(patch) => void actions.change(patch)}
          onClose={() => setOrganising(false)}
        />
      )}
    </>
  );
}

interface OrganiseDialogProps {
  readonly session: SessionView;
  readonly onSave: (patch: { project: string | null; tags: string[] }) => void;
  readonly onClose: () => void;
}

function OrganiseDialog({ session, onSave, onClose }: OrganiseDialogProps) {
  const [project, setProject] = useState(session.project ?? "");
  const [tags, setTags] = useState(session.tags.join(", "));
  function save(): void {
    const names = tags
      .split(",")
      .map((tag) => tag.trim().slice(0, 60))
      .filter((tag) => tag !== "");
    const name = project.trim().slice(0, 120);
    onSave({ project: name === "" ? null : name, tags: [...new Set(names)].slice(0, 50) });
  }
  return (
    <Dialog
      title={strings.sessions.organise}
      confirm={strings.common.save}
      onConfirm={save}
      onClose={onClose}
    >
      <label className="field">
        {strings.sessions.projectField}
        <input
          className="input"
          value={project}
          onChange={(event) => setProject(event.target.value)}
        />
      </label>
      <label className="field">
        {strings.sessions.tagsField}
        <input className="input" value={tags} onChange={(event) => setTags(event.target.value)} />
      </label>
    </Dialog>
  );
}
