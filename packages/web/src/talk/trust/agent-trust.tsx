import type { AgentView, SessionAgentsView, SessionId } from "@holdfast/protocol";
import { useEffect, useState } from "react";
import { problemText, useApp } from "../../app-context.ts";
import { AgentSummary } from "../../settings/agent/agent-summary.tsx";
import { SkippedSkills } from "../../settings/agent/skill-summary.tsx";
import { strings } from "../../strings/strings.ts";
import { type Decide, TrustChoices, TrustQuestion } from "./trust-choices.tsx";

/** The agents of a session's workspace. Tasks are given to one only after a person has trusted exactly its content. */
function useWorkspaceAgents(id: SessionId) {
  const { client, toasts } = useApp();
  const [view, setView] = useState<SessionAgentsView["workspace"] | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    void client
      .listSessionAgents({ params: { id } }, { signal: leaving.signal })
      .then((read) => (read.ok ? setView(read.value.workspace) : undefined));
    return () => leaving.abort();
  }, [client, id]);
  const decide: Decide<AgentView> = async ({ path, hash }, decision) => {
    const params = { id };
    const result = await client.trustAgent({ params, body: { path, hash, decision } });
    toasts.show(result.ok ? strings.agents[decision] : problemText(result.error));
    // The host refuses a decision on outdated content: show what it is now instead.
    const current = result.ok ? result : await client.listSessionAgents({ params });
    if (current.ok) setView(current.value.workspace);
  };
  return { view, decide };
}

function TrustedAgentSummary({ item }: { item: AgentView }) {
  return <AgentSummary agent={item} />;
}

export function AgentQuestion({ id }: { id: SessionId }) {
  const { view, decide } = useWorkspaceAgents(id);
  return (
    <TrustQuestion
      id={id}
      items={view?.agents ?? []}
      texts={strings.agents}
      decide={decide}
      Summary={TrustedAgentSummary}
    />
  );
}

/** Shows the decisions, and lets them be changed. */
export function AgentTrust({ id }: { id: SessionId }) {
  const { view, decide } = useWorkspaceAgents(id);
  if (view === null || (view.agents.length === 0 && view.skipped.length === 0)) return null;
  return (
    <section className="settings-section">
      <h3>{strings.agents.folder}</h3>
      <TrustChoices
        items={view.agents}
        texts={strings.agents}
        decide={decide}
        Summary={TrustedAgentSummary}
      />
      <SkippedSkills skipped={view.skipped} />
    </section>
  );
}
