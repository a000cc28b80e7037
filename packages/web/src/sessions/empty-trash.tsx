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
    toasts.show(result.ok ? t.manyPurged(result.value.sessions) : problemText(result.error));
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
