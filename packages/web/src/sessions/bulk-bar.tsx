import { useState } from "react";
import { useApp, useStore } from "../app-context.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Icon, type IconName } from "../ui/icons.tsx";
import { strings } from "../strings/strings.ts";
import { bulkActions } from "./bulk-actions.ts";

/** What can be done to the rows that are selected; there while somebody selects. */
export function BulkBar() {
  const app = useApp();
  const chosen = useStore(app.selection);
  const { sessions, pinned, filter } = useStore(app.list);
  const [tagging, setTagging] = useState(false);
  if (chosen === null) return null;
  const listed = new Map([...pinned, ...(sessions ?? [])].map((session) => [session.id, session]));
  const rows = [...chosen].flatMap((id) => listed.get(id) ?? []);
  const act = bulkActions(app, rows);
  const w = strings.sessions;
  const acts: readonly (readonly [string, IconName, () => void])[] =
    filter.shelf === "trash"
      ? [[w.restore, "undo", () => void act.restore()]]
      : [
          filter.shelf === "archived"
            ? [w.unarchive, "archive", () => void act.unarchive()]
            : [w.archive, "archive", () => void act.archive()],
          [w.addTag, "tag", () => setTagging(true)],
          [w.exportAs.md, "download", () => void act.export()],
          [w.trash, "trash", () => void act.trash()],
        ];
  return (
    <section className="bulk" aria-label={w.selected(rows.length)}>
      <output className="bulk-count">{w.selected(rows.length)}</output>
      {acts.map(([label, icon, run]) => (
        <button
          key={label}
          type="button"
          className="icon-button"
          aria-label={label}
          title={label}
          disabled={rows.length === 0}
          onClick={run}
        >
          <Icon name={icon} />
        </button>
      ))}
      <button
        type="button"
        className="icon-button"
        aria-label={w.endSelecting}
        title={w.endSelecting}
        onClick={app.selection.end}
      >
        <Icon name="close" />
      </button>
      {tagging && (
        <TagDialog onTag={(name) => void act.tag(name)} onClose={() => setTagging(false)} />
      )}
    </section>
  );
}

function TagDialog({ onTag, onClose }: { onTag: (name: string) => void; onClose: () => void }) {
  const [text, setText] = useState("");
  const name = text.trim().slice(0, 60);
  return (
    <Dialog
      title={strings.sessions.addTag}
      confirm={strings.common.save}
      onConfirm={() => (name === "" ? undefined : onTag(name))}
      onClose={onClose}
    >
      <label className="field">
        {strings.sessions.tagField}
        <input className="input" value={text} onChange={(event) => setText(event.target.value)} />
      </label>
    </Dialog>
  );
}
