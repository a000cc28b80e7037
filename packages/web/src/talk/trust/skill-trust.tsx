import type { SessionId, SessionSkillsView, SkillView } from "@holdfast/protocol";
import { useEffect, useState } from "react";
import { problemText, useApp } from "../../app-context.ts";
import { SkillSummary, SkippedSkills } from "../../settings/agent/skill-summary.tsx";
import { strings } from "../../strings/strings.ts";
import { type Decide, TrustChoices, TrustQuestion } from "./trust-choices.tsx";

/** The skills of a session's workspace. The model gets one only after a person has trusted exactly its content. */
function useWorkspaceSkills(id: SessionId) {
  const { client, toasts } = useApp();
  const [view, setView] = useState<SessionSkillsView["workspace"] | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    void client
      .listSessionSkills({ params: { id } }, { signal: leaving.signal })
      .then((read) => (read.ok ? setView(read.value.workspace) : undefined));
    return () => leaving.abort();
  }, [client, id]);
  const decide: Decide<SkillView> = async ({ path, hash }, decision) => {
    const params = { id };
    const result = await client.trustSkill({ params, body: { path, hash, decision } });
    toasts.show(result.ok ? strings.skills[decision] : problemText(result.error));
    // The host refuses a decision on outdated content: show what it is now instead.
    const current = result.ok ? result : await client.listSessionSkills({ params });
    if (current.ok) setView(current.value.workspace);
  };
  return { view, decide };
}

function TrustedSkillSummary({ item }: { item: SkillView }) {
  return <SkillSummary skill={item} />;
}

/** Asks above the composer until somebody has decided about each. */
export function SkillQuestion({ id }: { id: SessionId }) {
  const { view, decide } = useWorkspaceSkills(id);
  return (
    <TrustQuestion
      id={id}
      items={view?.skills ?? []}
      texts={strings.skills}
      decide={decide}
      Summary={TrustedSkillSummary}
    />
  );
}

/** Shows the decisions, and lets them be changed. */
export function SkillTrust({ id }: { id: SessionId }) {
  const { view, decide } = useWorkspaceSkills(id);
  if (view === null || (view.skills.length === 0 && view.skipped.length === 0)) return null;
  return (
    <section className="settings-section">
      <h3>{strings.skills.folder}</h3>
      <TrustChoices
        items={view.skills}
        texts={strings.skills}
        decide={decide}
        Summary={TrustedSkillSummary}
      />
      <SkippedSkills skipped={view.skipped} />
    </section>
  );
}
