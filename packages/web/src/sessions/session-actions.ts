import type { RouteInput, Routes, SessionView } from "@holdfast/protocol";
import { type AppParts, sentenceOf } from "../app-context.ts";
import { saveText } from "../ui/copy-and-save.tsx";
import { words } from "../strings/strings.ts";

type Patch = NonNullable<RouteInput<Routes["changeSession"]>["body"]>;

export const titleOf = (session: Pick<SessionView, "title">): string =>
  session.title ?? words.sessions.untitled;

/** What a person can do to a session as a whole. */
export function sessionActions({ client, toasts, router, list }: AppParts, session: SessionView) {
  const params = { id: session.id };
  const title = titleOf(session);

  /** Flags and names are small and the last word counts; a change meanwhile is no reason to refuse one. */
  async function change(body: Patch): Promise<boolean> {
    const result = await client.changeSession({ params, body });
    if (result.ok) list.put(result.value.session);
    else toasts.tell(sentenceOf(result.error));
    list.changed();
    return result.ok;
  }

  async function restore(): Promise<void> {
    const result = await client.restoreSession({ params });
    toasts.tell(result.ok ? words.sessions.restored(title) : sentenceOf(result.error));
    if (result.ok) list.put(result.value.session);
    list.changed();
  }

  return {
    change,
    restore,
    async archive() {
      if (!(await change({ archived: true }))) return;
      const undo = { label: words.sessions.undo, run: () => void change({ archived: false }) };
      toasts.tell(words.sessions.archived(title), undo);
    },
    async trash() {
      const result = await client.trashSession({ params });
      if (!result.ok) return toasts.tell(sentenceOf(result.error));
      list.put(result.value.session);
      list.changed();
      const undo = { label: words.sessions.restore, run: () => void restore() };
      toasts.tell(words.sessions.trashed(title), undo);
      const place = router.read();
      if (place.kind === "session" && place.id === session.id)
        router.replace({ kind: "new", from: null });
    },
    async duplicate() {
      const result = await client.duplicate({ params, body: {} });
      if (!result.ok) return toasts.tell(sentenceOf(result.error));
      list.changed();
      router.go({ kind: "session", id: result.value.session.id, at: null });
      toasts.tell(words.sessions.duplicated);
    },
    async export(format: "md" | "html" | "json") {
      const result = await client.exportSession({ params, query: { format } });
      if (!result.ok) return toasts.tell(sentenceOf(result.error));
      saveText(result.value, `${title}.${format}`);
    },
  };
}
