import type { SessionId, WorkspaceView } from "@holdfast/protocol";
import { useEffect, useState } from "react";
import { problemText, useApp } from "../../app-context.ts";
import { RereadHint } from "../../context/reread-hint.tsx";
import { Icon } from "../../ui/icons.tsx";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";

type TrustDecision = "trusted" | "refused";

/** The workspace's instructions to agents. The model gets them only after a person has trusted exactly this text. */
function useWorkspaceTrust(id: SessionId) {
  const { client, toasts } = useApp();
  const [view, setView] = useState<WorkspaceView | null>(null);
  const params = { id };
  useEffect(() => {
    const leaving = new AbortController();
    void client
      .readWorkspace({ params: { id } }, { signal: leaving.signal })
      .then((read) => (read.ok ? setView(read.value) : undefined));
    return () => leaving.abort();
  }, [client, id]);
  async function decide(decision: TrustDecision): Promise<void> {
    const hash = view?.instructions?.hash;
    if (hash === undefined) return;
    const result = await client.trustWorkspace({ params, body: { hash, decision } });
    toasts.show(result.ok ? strings.workspace[decision] : problemText(result.error));
    // The host refuses a decision on outdated text: show the current text instead.
    const current = result.ok ? result : await client.readWorkspace({ params });
    if (current.ok) setView(current.value);
  }
  return { view, decide };
}

/** Asks above the composer until somebody has decided. */
export function WorkspaceQuestion({ id }: { id: SessionId }) {
  const { view, decide } = useWorkspaceTrust(id);
  const instructions = view?.instructions ?? null;
  if (instructions === null || view?.trust !== "undecided") return null;
  const t = strings.workspace;
  return (
    <section className="strip card attention" aria-label={t.title(instructions.file)}>
      <Icon name="file" />
      <div>
        <h3>{t.title(instructions.file)}</h3>
        <p className="quiet">{t.lead}</p>
        <RereadHint id={id} />
        <WorkspaceText text={instructions.text} />
      </div>
      <div className="row">
        <button type="button" className="button primary" onClick={() => void decide("trusted")}>
          {t.trust}
        </button>
        <button type="button" className="button" onClick={() => void decide("refused")}>
          {t.refuse}
        </button>
      </div>
    </section>
  );
}

/** Shows the decision, and lets it be changed. */
export function WorkspaceTrust({ id }: { id: SessionId }) {
  const { view, decide } = useWorkspaceTrust(id);
  const instructions = view?.instructions ?? null;
  if (view === null || instructions === null) return null;
  const t = strings.workspace;
  return (
    <section className="settings-section">
      <h3>{t.instructions}</h3>
      <p className="quiet">{`${instructions.file}. ${t.state[view.trust]}`}</p>
      <WorkspaceText text={instructions.text} />
      <div className="row">
        {view.trust !== "trusted" && (
          <button type="button" className="button" onClick={() => void decide("trusted")}>
            {t.trust}
          </button>
        )}
        {view.trust !== "refused" && (
          <button type="button" className="button" onClick={() => void decide("refused")}>
            {t.refuse}
          </button>
        )}
      </div>
    </section>
  );
}

function WorkspaceText({ text }: { text: string }) {
  return (
    <details className="fold">
      <summary>{strings.workspace.read}</summary>
      <pre className="lines short" dir="auto">
        {revealInvisible(text)}
      </pre>
    </details>
  );
}
