import type { SessionId, SessionSkillsView, SkillView } from "@holdfast/protocol";
import { useEffect, useState } from "react";
import { problemText, useApp } from "../../app-context.ts";
import { SkillSummary, SkippedSkills } from "../../settings/agent/skill-summary.tsx";
import { strings } from "../../strings/strings.ts";
import { Icon } from "../../ui/icons.tsx";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";

type Decide = (skill: SkillView, decision: "trusted" | "refused") => Promise<void>;

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
  const decide: Decide = async ({ path, hash }, decision) => {
    const params = { id };
    const result = await client.trustSkill({ params, body: { path, hash, decision } });
    toasts.show(result.ok ? strings.skills[decision] : problemText(result.error));
    // The host refuses a decision on outdated content: show what it is now instead.
    const current = result.ok ? result : await client.listSessionSkills({ params });
    if (current.ok) setView(current.value.workspace);
  };
  return { view, decide };
}

/** Asks above the composer until somebody has decided about each. */
export function SkillQuestion({ id }: { id: SessionId }) {
  const { view, decide } = useWorkspaceSkills(id);
  const undecided = view?.skills.filter(({ state }) => state === "undecided") ?? [];
  if (undecided.length === 0) return null;
  const t = strings.skills;
  return (
    <section className="strip card attention" aria-label={t.found(undecided.length)}>
      <Icon name="file" />
      <div>
        <h3>{t.found(undecided.length)}</h3>
        <p className="quiet">{t.lead}</p>
        <SkillChoices skills={undecided} decide={decide} />
      </div>
    </section>
  );
}

/** Shows the decisions, and lets them be changed. */
export function SkillTrust({ id }: { id: SessionId }) {
  const { view, decide } = useWorkspaceSkills(id);
  if (view === null || (view.skills.length === 0 && view.skipped.length === 0)) return null;
  return (
    <section className="settings-section">
      <h3>{strings.skills.folder}</h3>
      <SkillChoices skills={view.skills} decide={decide} />
      <SkippedSkills skipped={view.skipped} />
    </section>
  );
}

function SkillChoices({ skills, decide }: { skills: readonly SkillView[]; decide: Decide }) {
  const t = strings.skills;
  return (
    <ul className="facts-list" aria-label={t.folder}>
      {skills.map((skill) => {
        const name = revealInvisible(skill.name);
        return (
          <li key={skill.path}>
            <SkillSummary skill={skill} />
            <span className="row">
              {skill.state !== "on" && (
                <button
                  type="button"
                  className="button"
                  aria-label={t.trustNamed(name)}
                  onClick={() => void decide(skill, "trusted")}
                >
                  {t.trust}
                </button>
              )}
              {skill.state !== "refused" && (
                <button
                  type="button"
                  className="button"
                  aria-label={t.refuseNamed(name)}
                  onClick={() => void decide(skill, "refused")}
                >
                  {t.refuse}
                </button>
              )}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
