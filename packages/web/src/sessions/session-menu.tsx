import { useState } from "react";
import type { SessionView } from "@holdfast/protocol";
import { Dialog } from "../ui/dialog.tsx";
import { strings } from "../strings/strings.ts";
import { useApp } from "../app-context.ts";
import { Icon } from "../ui/icons.tsx";
import { Menu, type MenuEntry } from "../ui/menu.tsx";
import { sessionActions, sessionTitle } from "./session-actions.ts";

interface OrganiseDialogProps {
  readonly session: SessionView;
  readonly onSave: (patch: { project: string | null; tags: string[] }) => void;
  readonly onClose: () => void;
}

function OrganiseDialog({ session, onSave, onClose }: OrganiseDialogProps) {
  const [project, setProject] = useState(session.project ?? "");
  const [tags, setTags] = useState(session.tags.join(", "));
  function save(): void {
    const named = tags
      .split(",")
      .map((tag) => tag.trim().slice(0, 60))
      .filter((tag) => tag !== "");
    const name = project.trim().slice(0, 120);
    onSave({ project: name === "" ? null : name, tags: [...new Set(named)].slice(0, 50) });
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

interface SessionMenuProps {
  readonly session: SessionView;
  readonly onRename: () => void;
  readonly className: string;
  /** What stands above the things that can be done to a session as a whole. */
  readonly before?: readonly MenuEntry[];
}

export function SessionMenu({ session, onRename, className, before = [] }: SessionMenuProps) {
  const app = useApp();
  const [organising, setOrganising] = useState(false);
  const act = sessionActions(app, session);
  const w = strings.sessions;
  const formats = ["md", "html", "json"] as const;
  const items: MenuEntry[] =
    session.trashedAt === null
      ? [
          ...before,
          { label: w.rename, icon: "edit", onChoose: onRename },
          {
            label: session.pinned ? w.unpin : w.pin,
            icon: session.pinned ? "unpin" : "pin",
            onChoose: () => void act.change({ pinned: !session.pinned }),
          },
          { label: w.organise, icon: "tag", onChoose: () => setOrganising(true) },
          { label: w.duplicate, icon: "copy", onChoose: () => void act.duplicate() },
          { label: w.select, icon: "check", onChoose: () => app.selection.begin(session.id) },
          "line",
          ...formats.map((format) => ({
            label: w.exportAs[format],
            icon: "download" as const,
            onChoose: () => void act.export(format),
          })),
          "line",
          session.archived
            ? {
                label: w.unarchive,
                icon: "archive",
                onChoose: () => void act.change({ archived: false }),
              }
            : { label: w.archive, icon: "archive", onChoose: () => void act.archive() },
          { label: w.trash, icon: "trash", tone: "warn", onChoose: () => void act.trash() },
        ]
      : [
          { label: w.restore, icon: "undo", onChoose: () => void act.restore() },
          { label: w.select, icon: "check", onChoose: () => app.selection.begin(session.id) },
        ];

  return (
    <>
      <Menu label={w.menu(sessionTitle(session))} className={className} items={items}>
        <Icon name="more" />
      </Menu>
      {organising && (
        <OrganiseDialog
          session={session}
          onSave={(patch) => void act.change(patch)}
          onClose={() => setOrganising(false)}
        />
      )}
    </>
  );
}
