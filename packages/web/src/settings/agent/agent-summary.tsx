import type { AgentView } from "@holdfast/protocol";
import { strings } from "../../strings/strings.ts";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";

/** What an agent is for, what it may, and what a person should look at before they use it. */
export function AgentSummary({ agent }: { agent: AgentView }) {
  const { name, description, source, state, shadowedBy, warnings, text, path } = agent;
  const t = strings.agents;
  const limits = limitsOf(agent);
  return (
    <span className="fact-text">
      <span dir="auto">
        <strong>{revealInvisible(name)}</strong>{" "}
        <span className="quiet">{`${t.source[source]}, ${t.state[state]}`}</span>
      </span>
      <span dir="auto">{revealInvisible(description)}</span>
      {limits.length > 0 && (
        <span className="quiet" dir="auto">
          {revealInvisible(limits.join(" · "))}
        </span>
      )}
      {shadowedBy !== null && (
        <span className="quiet">{t.shadowed(revealInvisible(shadowedBy))}</span>
      )}
      {warnings.length > 0 && (
        <ul className="quiet" aria-label={t.warnings}>
          {warnings.map((warning) => (
            <li key={warning} dir="auto">
              {revealInvisible(warning)}
            </li>
          ))}
        </ul>
      )}
      <details className="fold">
        <summary>{t.read}</summary>
        <p className="quiet" dir="auto">
          {revealInvisible(path)}
        </p>
        <pre className="lines short" dir="auto">
          {revealInvisible(text)}
        </pre>
      </details>
    </span>
  );
}

function limitsOf({ tools, rights, mode, model, effort, budget }: AgentView): readonly string[] {
  const { limits } = strings.agents;
  const { steps, tokens, costMicros, timeMs } = budget ?? {};
  return [
    ...(tools === null ? [] : [limits.tools(tools)]),
    ...(rights === null ? [] : [limits.rights(rights)]),
    ...(mode === null ? [] : [limits.mode(mode)]),
    ...(model === null ? [] : [model]),
    ...(effort === null ? [] : [limits.effort(effort)]),
    ...(steps === undefined ? [] : [limits.steps(steps)]),
    ...(tokens === undefined ? [] : [limits.tokens(tokens)]),
    ...(costMicros === undefined ? [] : [limits.cost(costMicros)]),
    ...(timeMs === undefined ? [] : [limits.minutes(timeMs / 60_000)]),
  ];
}
