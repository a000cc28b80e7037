import type { Result } from "@holdfast/client";
import type { SessionView } from "@holdfast/protocol";
import { type AppDeps, problemText } from "../app-context.ts";
import { saveText } from "../ui/copy-and-save.tsx";
import { strings } from "../strings/strings.ts";
import { sessionTitle } from "./session-actions.ts";

type ChangeResult = Result<{ readonly session: SessionView }>;

/** What a person can do to several sessions. Each is asked for by itself: one that is refused stops no other. */
export function bulkActions(
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
