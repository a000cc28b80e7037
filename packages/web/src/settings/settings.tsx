import { useApp } from "../app-context.ts";
import { linkTo } from "../router/link-to.ts";
import { type SettingsSection, settingsSections } from "../router/routes.ts";
import { Icon, type IconName } from "../ui/icons.tsx";
import { words } from "../strings/strings.ts";
import { Appearance } from "./appearance.tsx";
import { Approvals } from "./approvals.tsx";
import { Gateway } from "./gateway/gateway.tsx";
import { McpServers } from "./mcp.tsx";
import { Memory } from "./memory.tsx";
import { Models } from "./models.tsx";
import { Schedules } from "./schedules/schedules.tsx";
import { System } from "./system.tsx";

const icons: Readonly<Record<SettingsSection, IconName>> = {
  models: "key",
  tools: "shield",
  mcp: "plug",
  schedules: "clock",
  gateway: "thought",
  memory: "memory",
  appearance: "sun",
  system: "gauge",
};

export function Settings({ section }: { section: SettingsSection }) {
  const { router } = useApp();
  return (
    <section className="settings" aria-label={words.settings.title}>
      <header className="bar">
        <h1 className="talk-title">{words.settings.title}</h1>
      </header>
      <div className="settings-body">
        <nav className="settings-nav" aria-label={words.settings.title}>
          {settingsSections.map((each) => (
            <a
              key={each}
              ref={each === section ? bringIntoSight : null}
              {...linkTo(router, { kind: "settings", section: each })}
              aria-current={each === section ? "page" : undefined}
            >
              <Icon name={icons[each]} />
              {words.settings.sections[each]}
            </a>
          ))}
        </nav>
        <div className="settings-page">
          <h2>{words.settings.sections[section]}</h2>
          <Section section={section} />
        </div>
      </div>
    </section>
  );
}

/** On a narrow screen the names stand in one row that is wider than the screen. */
function bringIntoSight(name: HTMLElement | null): void {
  name?.scrollIntoView({ block: "nearest", inline: "center" });
}

function Section({ section }: { section: SettingsSection }) {
  switch (section) {
    case "appearance":
      return <Appearance />;
    case "system":
      return <System />;
    case "tools":
      return <Approvals />;
    case "mcp":
      return <McpServers />;
    case "schedules":
      return <Schedules />;
    case "gateway":
      return <Gateway />;
    case "memory":
      return <Memory />;
    case "models":
      return <Models />;
  }
}
