import type { SessionId, WorkspaceView } from "@holdfast/protocol";
import { useEffect, useState } from "react";
import { problemText, useApp } from "../../app-context.ts";
import { Icon } from "../../ui/icons.tsx";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";

type TrustDecision = "trusted" | "refused";

/** What the workspace says to agents. Nobody is told before a person has read these very words and said so. */
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
    // Refused because the words have changed: then these are to be read.
    const now = result.ok ? result : await client.readWorkspace({ params });
    if (now.ok) setView(now.value);
  }
  return { view, decide };
}

/** Asks once, above the field, while nobody has decided. */
export function WorkspaceQuestion({ id }: { id: SessionId }) {
  const { view, decide } = useWorkspaceTrust(id);
  const instructions = view?.instructions ?? null;
  if (instructions === null || view?.trust !== "undecided") return null;
  const w = strings.workspace;
  return (
    <section className="strip card attention" aria-label={w.title(instructions.file)}>
      <Icon name="file" />
      <div>
        <h3>{w.title(instructions.file)}</h3>
        <p className="quiet">{w.lead}</p>
        <WorkspaceText text={instructions.text} />
      </div>
      <div className="row">
        <button type="button" className="button primary" onClick={() => void decide("trusted")}>
          {w.trust}
        </button>
        <button type="button" className="button" onClick={() => void decide("refused")}>
          {w.refuse}
        </button>
      </div>
    </section>
  );
}

/** Where it was decided, and can be decided otherwise. */
export function WorkspaceTrust({ id }: { id: SessionId }) {
  const { view, decide } = useWorkspaceTrust(id);
  const instructions = view?.instructions ?? null;
  if (view === null || instructions === null) return null;
  const w = strings.workspace;
  return (
    <section className="settings-part">
      <h3>{w.instructions}</h3>
      <p className="quiet">{`${instructions.file}. ${w.state[view.trust]}`}</p>
      <WorkspaceText text={instructions.text} />
      <div className="row">
        {view.trust !== "trusted" && (
          <button type="button" className="button" onClick={() => void decide("trusted")}>
            {w.trust}
          </button>
        )}
        {view.trust !== "refused" && (
          <button type="button" className="button" onClick={() => void decide("refused")}>
            {w.refuse}
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
