import { useState } from "react";
import { problemText, useApp, useStore } from "../app-context.ts";
import { strings } from "../strings/strings.ts";
import { Dialog } from "../ui/dialog.tsx";

/** Shown above the trash, while something is in it. */
export function EmptyTrash() {
  const { client, list, toasts } = useApp();
  const { filter, sessions } = useStore(list);
  const [asking, setAsking] = useState(false);
  const t = strings.sessions;
  if (filter.shelf !== "trash" || sessions === null || sessions.length === 0) return null;

  async function empty(): Promise<void> {
    const result = await client.emptyTrash();
    if (!result.ok) toasts.show(problemText(result.error));
    else {
      const { sessions: count, kept = 0 } = result.value;
      const stay = kept === 0 ? [] : [strings.worktree.kept(kept)];
      toasts.show([t.manyPurged(count), ...stay].join(" "));
    }
    list.changed();
  }
  return (
    <>
      <button type="button" className="button plain empty-trash" onClick={() => setAsking(true)}>
        {t.emptyTrash}
      </button>
      {asking && (
        <Dialog
          title={t.emptyTrashAsk}
          confirm={t.emptyTrashConfirm}
          tone="warn"
          onConfirm={() => void empty()}
          onClose={() => setAsking(false)}
        >
          <p>{t.emptyTrashLead}</p>
        </Dialog>
      )}
    </>
  );
}
