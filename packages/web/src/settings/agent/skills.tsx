import type { SkillView } from "@holdfast/protocol";
import { useState } from "react";
import { problemText, useApp } from "../../app-context.ts";
import { SharedRereadHint } from "../../context/shared-reread-hint.tsx";
import { strings } from "../../strings/strings.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { SettingsGroup, useHostQuery } from "../settings-group.tsx";
import { InstallSkills } from "./install-skills.tsx";
import { SkillSummary, SkippedSkills } from "./skill-summary.tsx";

/** The person's own skills: read, switch on and off, remove. */
export function SkillSettings() {
  const { client } = useApp();
  const [query, refetch] = useHostQuery(() => client.listSkills());
  const t = strings.skills;
  return (
    <SettingsGroup title={t.title} hint={t.hint} query={query}>
      {({ skills, skipped }) => (
        <>
          <SharedRereadHint />
          {skills.length === 0 && <p className="quiet">{t.none}</p>}
          <ul className="facts-list" aria-label={t.title}>
            {skills.map((skill) => (
              <SkillRow key={skill.path} skill={skill} onChange={refetch} />
            ))}
          </ul>
          <SkippedSkills skipped={skipped} />
          <InstallSkills onInstalled={refetch} />
        </>
      )}
    </SettingsGroup>
  );
}

interface SkillRowProps {
  readonly skill: SkillView;
  readonly onChange: () => void;
}

function SkillRow({ skill, onChange }: SkillRowProps) {
  const { client, toasts } = useApp();
  const [isRemoving, setRemoving] = useState(false);
  const t = strings.skills;
  const name = revealInvisible(skill.name);
  const params = { name: skill.name };
  const isOn = skill.state === "on";

  async function turn(): Promise<void> {
    const switched = await client.switchSkill({ params, body: { state: isOn ? "off" : "on" } });
    if (!switched.ok) toasts.show(problemText(switched.error));
    onChange();
  }
  async function remove(): Promise<void> {
    const removed = await client.removeSkill({ params });
    toasts.show(removed.ok ? t.removed : problemText(removed.error));
    onChange();
  }

  return (
    <li>
      <SkillSummary skill={skill} />
      <span className="row">
        <button
          type="button"
          className="button plain"
          aria-label={isOn ? t.turnOffNamed(name) : t.turnOnNamed(name)}
          onClick={() => void turn()}
        >
          {isOn ? t.turnOff : t.turnOn}
        </button>
        {skill.source === "home" && (
          <button
            type="button"
            className="button plain"
            aria-label={t.removeNamed(name)}
            onClick={() => setRemoving(true)}
          >
            {t.remove}
          </button>
        )}
      </span>
      {isRemoving && (
        <Dialog
          title={t.removeTitle(name)}
          confirm={t.remove}
          tone="warn"
          onConfirm={() => void remove()}
          onClose={() => setRemoving(false)}
        >
          <p className="quiet">{t.removeHint}</p>
        </Dialog>
      )}
    </li>
  );
}
