import { useState } from "react";
import type { SessionId, SessionView } from "@holdfast/protocol";
import type { Result } from "@holdfast/client";
import { type AppDeps, problemText, useApp, useStore } from "../app-context.ts";
import { saveText } from "../ui/copy-and-save.tsx";
import { strings } from "../strings/strings.ts";
import { sessionTitle } from "./session-actions.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Icon, type IconName } from "../ui/icons.tsx";

/** Which rows of the list something is to be done to, all at once. */
export interface Selection {
  /** `null` while nobody selects. */
  readonly read: () => ReadonlySet<SessionId> | null;
  readonly subscribe: (listener: () => void) => () => void;
  readonly begin: (id: SessionId) => void;
  readonly toggle: (id: SessionId) => void;
  readonly end: () => void;
}

export function createSelection(): Selection {
  let chosen: ReadonlySet<SessionId> | null = null;
  const listeners = new Set<() => void>();
  function show(next: ReadonlySet<SessionId> | null): void {
    chosen = next;
    listeners.forEach((listener) => listener());
  }
  return {
    read: () => chosen,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    begin: (id) => show(new Set([id])),
    toggle(id) {
      const next = new Set(chosen);
      if (!next.delete(id)) next.add(id);
      show(next);
    },
    end: () => show(null),
  };
}

type ChangeResult = Result<{ readonly session: SessionView }>;

/** What a person can do to several sessions. Each is asked for by itself: one that is refused stops no other. */
function bulkActions(
  { client, toasts, list, selection }: AppDeps,
  sessions: readonly SessionView[],
) {
  const w = strings.sessions;

  async function each(
    some: readonly SessionView[],
    ask: (session: SessionView) => Promise<ChangeResult>,
  ): Promise<readonly SessionView[]> {
    const done: SessionView[] = [];
    for (const session of some) {
      const result = await ask(session);
      if (result.ok) done.push(result.value.session);
      else toasts.show(`${sessionTitle(session)}: ${problemText(result.error)}`);
    }
    for (const session of done) list.put(session);
    list.changed();
    return done;
  }

  const change = (some: readonly SessionView[], body: { readonly archived: boolean }) =>
    each(some, ({ id }) => client.changeSession({ params: { id }, body }));
  const restoreAll = (some: readonly SessionView[]) =>
    each(some, ({ id }) => client.restoreSession({ params: { id } }));

  return {
    async archive() {
      selection.end();
      const done = await change(sessions, { archived: true });
      const undo = { label: w.undo, run: () => void change(done, { archived: false }) };
      toasts.show(w.manyArchived(done.length), undo);
    },
    async unarchive() {
      selection.end();
      toasts.show(w.manyBack((await change(sessions, { archived: false })).length));
    },
    async trash() {
      selection.end();
      const done = await each(sessions, ({ id }) => client.trashSession({ params: { id } }));
      const undo = { label: w.restore, run: () => void restoreAll(done) };
      toasts.show(w.manyTrashed(done.length), undo);
    },
    async restore() {
      selection.end();
      toasts.show(w.manyBack((await restoreAll(sessions)).length));
    },
    async tag(name: string) {
      selection.end();
      const done = await each(sessions, ({ id, tags }) =>
        client.changeSession({ params: { id }, body: { tags: [...new Set([...tags, name])] } }),
      );
      toasts.show(w.manyTagged(done.length, name));
    },
    /** One file: a browser asks before it takes many. */
    async export() {
      const texts: string[] = [];
      for (const { id } of sessions) {
        const result = await client.exportSession({ params: { id }, query: { format: "md" } });
        if (!result.ok) return toasts.show(problemText(result.error));
        texts.push(result.value);
      }
      selection.end();
      saveText(texts.join("\n\n---\n\n"), w.manyFile);
    },
  };
}

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
