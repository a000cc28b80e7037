import { useState } from "react";
import { chooseTheme, readTheme, themes } from "../ui/theme.ts";
import { strings } from "../strings/strings.ts";
import { useApp } from "../app-context.ts";
import { linkProps } from "../router/router.ts";
import { type SettingsSection, settingsSections } from "../router/routes.ts";
import { Icon, type IconName } from "../ui/icons.tsx";
import { BrowserSettings } from "./browser-settings.tsx";
import { GuidanceSettings } from "./agent/guidance.tsx";
import { InstructionsSettings } from "./agent/instructions.tsx";
import { PersonaSettings } from "./agent/personas.tsx";
import { ProjectSettings } from "./agent/projects.tsx";
import { AgentSettings } from "./agent/agents.tsx";
import { SkillSettings } from "./agent/skills.tsx";
import { TimeZoneSetting } from "./agent/time-zone.tsx";
import { ApiKeySettings } from "./api-keys.tsx";
import { Approvals } from "./approvals.tsx";
import { EditorSettings } from "./editors.tsx";
import { GatewaySettings } from "./gateway/gateway.tsx";
import { WebSearchSettings } from "./web-search.tsx";
import { ImportSettings } from "./import/import.tsx";
import { PermissionSettings } from "./host-settings.tsx";
import { McpSettings } from "./mcp/mcp.tsx";
import { MemorySettings } from "./memory.tsx";
import { ModelSettings } from "./models.tsx";
import { RightsSettings } from "./rights.tsx";
import { ScheduleSettings } from "./schedules/schedules.tsx";
import { SystemSettings } from "./system.tsx";
import { UsageSettings } from "./usage/usage.tsx";

const sectionIcons: Readonly<Record<SettingsSection, IconName>> = {
  models: "key",
  tools: "shield",
  mcp: "plug",
  schedules: "clock",
  gateway: "thought",
  editors: "window",
  agent: "edit",
  memory: "memory",
  usage: "chart",
  import: "download",
  appearance: "sun",
  system: "gauge",
};

export function Settings({ section }: { section: SettingsSection }) {
  const { router } = useApp();
  return (
    <section className="settings" aria-label={strings.settings.title}>
      <header className="bar">
        <h1 className="talk-title">{strings.settings.title}</h1>
      </header>
      <div className="settings-body">
        <nav className="settings-nav" aria-label={strings.settings.title}>
          {settingsSections.map((name) => (
            <a
              key={name}
              ref={name === section ? scrollIntoView : null}
              {...linkProps(router, { kind: "settings", section: name })}
              aria-current={name === section ? "page" : undefined}
            >
              <Icon name={sectionIcons[name]} />
              {strings.settings.sections[name]}
            </a>
          ))}
        </nav>
        <div className="settings-page">
          <h2>{strings.settings.sections[section]}</h2>
          <SectionContent section={section} />
        </div>
      </div>
    </section>
  );
}

/** On a narrow screen the navigation is one row, wider than the screen. */
function scrollIntoView(link: HTMLElement | null): void {
  link?.scrollIntoView({ block: "nearest", inline: "center" });
}

function SectionContent({ section }: { section: SettingsSection }) {
  switch (section) {
    case "appearance":
      return <AppearanceSettings />;
    case "system":
      return <SystemSettings />;
    case "tools":
      return (
        <>
          <Approvals />
          <PermissionSettings />
          <WebSearchSettings />
          <RightsSettings />
          <ApiKeySettings />
        </>
      );
    case "mcp":
      return <McpSettings />;
    case "schedules":
      return <ScheduleSettings />;
    case "gateway":
      return <GatewaySettings />;
    case "editors":
      return <EditorSettings />;
    case "agent":
      return (
        <>
          <InstructionsSettings />
          <PersonaSettings />
          <ProjectSettings />
          <SkillSettings />
          <AgentSettings />
          <GuidanceSettings />
          <TimeZoneSetting />
        </>
      );
    case "memory":
      return <MemorySettings />;
    case "import":
      return <ImportSettings />;
    case "usage":
      return <UsageSettings />;
    case "models":
      return <ModelSettings />;
  }
}

function AppearanceSettings() {
  return (
    <>
      <ThemeSettings />
      <BrowserSettings />
    </>
  );
}

function ThemeSettings() {
  const [theme, setTheme] = useState(readTheme);
  return (
    <fieldset className="choices">
      <legend>{strings.settings.theme}</legend>
      {themes.map((option) => (
        <label key={option} className="choice">
          <input
            type="radio"
            name="theme"
            value={option}
            checked={option === theme}
            onChange={() => {
              chooseTheme(option);
              setTheme(option);
            }}
          />
          <span>{strings.settings.themes[option]}</span>
        </label>
      ))}
      <p className="quiet">{strings.settings.themeHint}</p>
    </fieldset>
  );
}
