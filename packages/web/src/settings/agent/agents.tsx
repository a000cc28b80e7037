import type { AgentView } from "@holdfast/protocol";
import { problemText, useApp } from "../../app-context.ts";
import { strings } from "../../strings/strings.ts";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { SettingsGroup, useHostQuery } from "../settings-group.tsx";
import { AgentSummary } from "./agent-summary.tsx";
import { SkippedSkills } from "./skill-summary.tsx";

/** The person's own agent profiles: read, switch on and off. */
export function AgentSettings() {
  const { client } = useApp();
  const [query, refetch] = useHostQuery(() => client.listAgents());
  const t = strings.agents;
  return (
    <SettingsGroup title={t.title} hint={t.hint} query={query}>
      {({ agents, skipped }) => (
        <>
          {agents.length === 0 && <p className="quiet">{t.none}</p>}
          <ul className="facts-list" aria-label={t.title}>
            {agents.map((agent) => (
              <AgentRow key={agent.path} agent={agent} onChange={refetch} />
            ))}
          </ul>
          <SkippedSkills skipped={skipped} />
        </>
      )}
    </SettingsGroup>
  );
}

interface AgentRowProps {
  readonly agent: AgentView;
  readonly onChange: () => void;
}

function AgentRow({ agent, onChange }: AgentRowProps) {
  const { client, toasts } = useApp();
  const t = strings.agents;
  const name = revealInvisible(agent.name);
  const isOn = agent.state === "on";

  async function turn(): Promise<void> {
    const switched = await client.switchAgent({
      params: { name: agent.name },
      body: { state: isOn ? "off" : "on" },
    });
    if (!switched.ok) toasts.show(problemText(switched.error));
    onChange();
  }

  return (
    <li>
      <AgentSummary agent={agent} />
      <span className="row">
        <button
          type="button"
          className="button plain"
          aria-label={isOn ? t.turnOffNamed(name) : t.turnOnNamed(name)}
          onClick={() => void turn()}
        >
          {isOn ? t.turnOff : t.turnOn}
        </button>
      </span>
    </li>
  );
}
