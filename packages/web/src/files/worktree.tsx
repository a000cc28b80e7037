import type { WorktreeView } from "@holdfast/protocol";
import { useState } from "react";
import { problemText, useApp } from "../app-context.ts";
import { useHostQuery } from "../settings/settings-group.tsx";
import { strings } from "../strings/strings.ts";
import { Dialog } from "../ui/dialog.tsx";
import { revealInvisible } from "../ui/markdown/safe-text.ts";

/** The worktree that a conversation works in: its branch, what is only there, and how it ends. */
export function WorktreeSection({ workspace }: { workspace: string }) {
  const { client } = useApp();
  const id = workspace.replace(/^worktree:/u, "");
  const [query, refetch] = useHostQuery(() => client.readWorktree({ params: { id } }));
  const t = strings.worktree;
  return (
    <section className="settings-section">
      <h3>{t.title}</h3>
      {query.kind === "failed" && <p className="quiet">{query.message}</p>}
      {query.kind === "loaded" && (
        <WorktreeFacts worktree={query.value.worktree} onChange={refetch} />
      )}
    </section>
  );
}

interface WorktreeFactsProps {
  readonly worktree: WorktreeView;
  readonly onChange: () => void;
}

function WorktreeFacts({ worktree, onChange }: WorktreeFactsProps) {
  const { client, toasts } = useApp();
  const { id, branch, repository, folder, work } = worktree;
  const [asking, setAsking] = useState<"keep" | "delete" | null>(null);
  const t = strings.worktree;
  const name = revealInvisible(branch);
  const lost =
    work === null ? 0 : work.changes + (asking === "delete" ? work.commits : work.looseCommits);

  async function remove(choice: "keep" | "delete"): Promise<void> {
    const removed = await client.removeWorktree({
      params: { id },
      // The person has seen exactly this work, and that it is lost.
      body: { branch: choice, ...(lost > 0 && work !== null && { lose: work.hash }) },
    });
    toasts.show(removed.ok ? t.removed : problemText(removed.error));
    onChange();
  }

  return (
    <>
      <dl className="facts">
        <dt>{t.branch}</dt>
        <dd dir="auto">{name}</dd>
        <dt>{t.repository}</dt>
        <dd dir="auto">{revealInvisible(repository)}</dd>
        <dt>{t.folder}</dt>
        <dd dir="auto">{revealInvisible(folder)}</dd>
        {work !== null && (
          <>
            <dt>{t.work}</dt>
            <dd>{t.counts(work.changes, work.commits)}</dd>
          </>
        )}
      </dl>
      <p className="quiet">{t.merge}</p>
      <pre className="lines short" dir="ltr">{`git merge ${name}`}</pre>
      <span className="row">
        <button type="button" className="button" onClick={() => setAsking("keep")}>
          {t.remove}
        </button>
        <button type="button" className="button" onClick={() => setAsking("delete")}>
          {t.removeBranch}
        </button>
      </span>
      {asking !== null && (
        <Dialog
          title={asking === "keep" ? t.askRemove : t.askRemoveBranch(name)}
          confirm={lost > 0 ? t.lose : t.confirm}
          tone="warn"
          onConfirm={() => void remove(asking)}
          onClose={() => setAsking(null)}
        >
          <p>
            {lost > 0 && work !== null
              ? t.lost(work.changes, asking === "delete" ? work.commits : work.looseCommits)
              : t.nothingLost}
          </p>
        </Dialog>
      )}
    </>
  );
}
