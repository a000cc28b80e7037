import { useState } from "react";
import type { SessionId, SessionView } from "@holdfast/protocol";
import type { Result } from "@holdfast/client";
import { type AppDeps, problemText, useApp, useStore } from "../app-context.ts";
import { saveText } from "../ui/copy-and-save.tsx";
import { strings } from "../strings/strings.ts";
import { sessionTitle } from "./session-actions.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Icon, type IconName } from "../ui/icons.tsx";

/** The rows of the list that are selected for a bulk action. */
export interface Selection {
  /** `null` while the list is not in selection mode. */
  readonly read: () => ReadonlySet<SessionId> | null;
  readonly subscribe: (listener: () => void) => () => void;
  readonly start: (id: SessionId) => void;
  readonly toggle: (id: SessionId) => void;
  readonly end: () => void;
}

export function createSelection(): Selection {
  let selected: ReadonlySet<SessionId> | null = null;
  const listeners = new Set<() => void>();
  function setSelected(next: ReadonlySet<SessionId> | null): void {
    selected = next;
    listeners.forEach((listener) => listener());
  }
  return {
    read: () => selected,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    start: (id) => setSelected(new Set([id])),
    toggle(id) {
      const next = new Set(selected);
      if (!next.delete(id)) next.add(id);
      setSelected(next);
    },
    end: () => setSelected(null),
  };
}

type ChangeResult = Result<{ readonly session: SessionView }>;

/** Actions on several sessions. Each session is one request, so that one refusal stops no other. */
function bulkActions(
  { client, toasts, list, selection }: AppDeps,
  sessions: readonly SessionView[],
) {
  const t = strings.sessions;

  async function forEach(
    targets: readonly SessionView[],
    request: (session: SessionView) => Promise<ChangeResult>,
  ): Promise<readonly SessionView[]> {
    const done: SessionView[] = [];
    for (const session of targets) {
      const result = await request(session);
      if (result.ok) done.push(result.value.session);
      else toasts.show(`${sessionTitle(session)}: ${problemText(result.error)}`);
    }
    for (const session of done) list.put(session);
    list.changed();
    return done;
  }

  const change = (targets: readonly SessionView[], body: { readonly archived: boolean }) =>
    forEach(targets, ({ id }) => client.changeSession({ params: { id }, body }));
  const restoreAll = (targets: readonly SessionView[]) =>
    forEach(targets, ({ id }) => client.restoreSession({ params: { id } }));

  return {
    async archive() {
      selection.end();
      const done = await change(sessions, { archived: true });
      const undo = { label: t.undo, run: () => void change(done, { archived: false }) };
      toasts.show(t.manyArchived(done.length), undo);
    },
    async unarchive() {
      selection.end();
      toasts.show(t.manyBack((await change(sessions, { archived: false })).length));
    },
    async trash() {
      selection.end();
      const done = await forEach(sessions, ({ id }) => client.trashSession({ params: { id } }));
      const undo = { label: t.restore, run: () => void restoreAll(done) };
      toasts.show(t.manyTrashed(done.length), undo);
    },
    async restore() {
      selection.end();
      toasts.show(t.manyBack((await restoreAll(sessions)).length));
    },
    async purge() {
      selection.end();
      let count = 0;
      for (const session of sessions) {
        const result = await client.purgeSession({ params: { id: session.id } });
        if (result.ok) count += 1;
        else toasts.show(`${sessionTitle(session)}: ${problemText(result.error)}`);
      }
      list.changed();
      toasts.show(t.manyPurged(count));
    },
    async tag(name: string) {
      selection.end();
      const done = await forEach(sessions, ({ id, tags }) =>
        client.changeSession({ params: { id }, body: { tags: [...new Set([...tags, name])] } }),
      );
      toasts.show(t.manyTagged(done.length, name));
    },
    /** One file, because browsers ask before they save several. */
    async export() {
      const texts: string[] = [];
      for (const { id } of sessions) {
        const result = await client.exportSession({ params: { id }, query: { format: "md" } });
        if (!result.ok) return toasts.show(problemText(result.error));
        texts.push(result.value);
      }
      selection.end();
      saveText(texts.join("\n\n---\n\n"), t.manyFile);
    },
  };
}

/** The bulk actions, shown in selection mode. */
export function BulkBar() {
  const app = useApp();
  const selected = useStore(app.selection);
  const { sessions, pinned, filter } = useStore(app.list);
  const [tagging, setTagging] = useState(false);
  const [purging, setPurging] = useState(false);
  if (selected === null) return null;
  const listed = new Map([...pinned, ...(sessions ?? [])].map((session) => [session.id, session]));
  const rows = [...selected].flatMap((id) => listed.get(id) ?? []);
  const actions = bulkActions(app, rows);
  const t = strings.sessions;
  const buttons: readonly (readonly [string, IconName, () => void])[] =
    filter.shelf === "trash"
      ? [
          [t.restore, "undo", () => void actions.restore()],
          [t.purge, "trash", () => setPurging(true)],
        ]
      : [
          filter.shelf === "archived"
            ? [t.unarchive, "archive", () => void actions.unarchive()]
            : [t.archive, "archive", () => void actions.archive()],
          [t.addTag, "tag", () => setTagging(true)],
          [t.exportAs.md, "download", () => void actions.export()],
          [t.trash, "trash", () => void actions.trash()],
        ];
  return (
    <section className="bulk" aria-label={t.selected(rows.length)}>
      <output className="bulk-count">{t.selected(rows.length)}</output>
      {buttons.map(([label, icon, run]) => (
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
        aria-label={t.endSelecting}
        title={t.endSelecting}
        onClick={app.selection.end}
      >
        <Icon name="close" />
      </button>
      {purging && (
        <Dialog
          title={t.purgeManyAsk(rows.length)}
          confirm={t.purgeConfirm}
          tone="warn"
          onConfirm={() => void actions.purge()}
          onClose={() => setPurging(false)}
        >
          <p>{t.purgeLead}</p>
        </Dialog>
      )}
      {tagging && (
        <TagDialog onTag={(name) => void actions.tag(name)} onClose={() => setTagging(false)} />
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
