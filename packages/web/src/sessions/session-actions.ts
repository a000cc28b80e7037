import type { RouteInput, Routes, SessionView } from "@holdfast/protocol";
import { type AppDeps, problemText } from "../app-context.ts";
import { saveText } from "../ui/copy-and-save.tsx";
import { strings } from "../strings/strings.ts";

type Patch = NonNullable<RouteInput<Routes["changeSession"]>["body"]>;

export const sessionTitle = (session: Pick<SessionView, "title">): string =>
  session.title ?? strings.sessions.untitled;

/** Actions on a whole session. */
export function sessionActions({ client, toasts, router, list }: AppDeps, session: SessionView) {
  const params = { id: session.id };
  const title = sessionTitle(session);

  /** Unconditional: for flags and names the last change wins. */
  async function change(body: Patch): Promise<boolean> {
    const result = await client.changeSession({ params, body });
    if (result.ok) list.put(result.value.session);
    else toasts.show(problemText(result.error));
    list.changed();
    return result.ok;
  }

  async function restore(): Promise<void> {
    const result = await client.restoreSession({ params });
    toasts.show(result.ok ? strings.sessions.restored(title) : problemText(result.error));
    if (result.ok) list.put(result.value.session);
    list.changed();
  }

  return {
    change,
    restore,
    async archive() {
      if (!(await change({ archived: true }))) return;
      const undo = { label: strings.sessions.undo, run: () => void change({ archived: false }) };
      toasts.show(strings.sessions.archived(title), undo);
    },
    async trash() {
      const result = await client.trashSession({ params });
      if (!result.ok) return toasts.show(problemText(result.error));
      list.put(result.value.session);
      list.changed();
      const undo = { label: strings.sessions.restore, run: () => void restore() };
      toasts.show(strings.sessions.trashed(title), undo);
      const route = router.read();
      if (route.kind === "session" && route.id === session.id)
        router.replace({ kind: "new", from: null });
    },
    async purge(worktree?: "keep") {
      const query = worktree === undefined ? {} : { worktree };
      const result = await client.purgeSession({ params, query });
      const hasWork = !result.ok && result.error.code === "worktree_has_work";
      toasts.show(
        result.ok ? strings.sessions.purged(title) : problemText(result.error),
        hasWork
          ? { label: strings.worktree.purgeAnyway, run: () => void this.purge("keep") }
          : undefined,
      );
      list.changed();
      const route = router.read();
      if (result.ok && route.kind === "session" && route.id === session.id)
        router.replace({ kind: "new", from: null });
    },
    async duplicate() {
      const result = await client.duplicate({ params, body: {} });
      if (!result.ok) return toasts.show(problemText(result.error));
      list.changed();
      router.go({ kind: "session", id: result.value.session.id, at: null });
      toasts.show(strings.sessions.duplicated);
    },
    async export(format: "md" | "html" | "json") {
      const result = await client.exportSession({ params, query: { format } });
      if (!result.ok) return toasts.show(problemText(result.error));
      saveText(result.value, `${title}.${format}`);
    },
  };
}
