import type { SkillView, SkippedSkillView } from "@holdfast/protocol";
import { strings } from "../../strings/strings.ts";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";

/** What a skill is and says, and what a person should look at before they use it. */
export function SkillSummary({ skill }: { skill: SkillView }) {
  const { name, description, source, state, shadowedBy, warnings, text, files, path } = skill;
  const t = strings.skills;
  return (
    <span className="fact-text">
      <span dir="auto">
        <strong>{revealInvisible(name)}</strong>{" "}
        <span className="quiet">{`${t.source[source]}, ${t.state[state]}`}</span>
      </span>
      <span dir="auto">{revealInvisible(description)}</span>
      {shadowedBy !== null && (
        <span className="quiet">{t.shadowed(revealInvisible(shadowedBy))}</span>
      )}
      {warnings.length > 0 && (
        <details className="quiet">
          <summary>{`${t.warnings} (${warnings.length})`}</summary>
          <ul>
            {warnings.map((warning) => (
              <li key={warning} dir="auto">
                {revealInvisible(warning)}
              </li>
            ))}
          </ul>
        </details>
      )}
      <details className="fold">
        <summary>{t.read(files.length)}</summary>
        <p className="quiet" dir="auto">
          {revealInvisible(path)}
        </p>
        <pre className="lines short" dir="auto">
          {revealInvisible(text)}
        </pre>
        <ul className="quiet">
          {files.map((file) => (
            <li key={file.path} dir="auto">
              {t.fileRow(revealInvisible(file.path), file.size)}
            </li>
          ))}
        </ul>
      </details>
    </span>
  );
}

/** What looks like a skill and cannot be used. */
export function SkippedSkills({ skipped }: { skipped: readonly SkippedSkillView[] }) {
  if (skipped.length === 0) return null;
  return (
    <>
      <h4>{strings.skills.skipped}</h4>
      <ul className="quiet">
        {skipped.map(({ path, reason }) => (
          <li key={`${path} ${reason}`} dir="auto">
            {revealInvisible(`${path}: ${reason}`)}
          </li>
        ))}
      </ul>
    </>
  );
}
