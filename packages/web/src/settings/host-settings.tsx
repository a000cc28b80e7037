import type { Json, PageSettingName, SettingView, ToolView } from "@holdfast/protocol";
import { useId, useState } from "react";
import { problemText, useApp } from "../app-context.ts";
import { strings } from "../strings/strings.ts";
import { Choice } from "./form-fields.tsx";
import { SettingsGroup, useHostQuery } from "./settings-group.tsx";

export interface HostSettings {
  readonly settings: readonly SettingView[];
  readonly tools: readonly ToolView[];
}

export type SaveSetting = (name: PageSettingName, value: Json | undefined) => Promise<void>;

/** The host's settings, and a function that changes one; `undefined` returns it to its default. */
export function useHostSettings() {
  const { client, models, toasts } = useApp();
  const [query, refetch, update] = useHostQuery<HostSettings>(() => client.listSettings());
  const save: SaveSetting = async (name, value) => {
    const params = { name };
    // Shown at once; the host's answer replaces it.
    if (value !== undefined) update((shown) => withValue(shown, name, value));
    const result =
      value === undefined
        ? await client.deleteSetting({ params })
        : await client.putSetting({ params, body: { value } });
    const t = strings.hostSettings;
    if (!result.ok) toasts.show(problemText(result.error));
    else toasts.show(result.value.setting.effect === "now" ? t.saved : t.savedForRestart);
    refetch();
    void models.refresh();
  };
  return { query, save };
}

function withValue(
  { settings, tools }: HostSettings,
  name: PageSettingName,
  value: Json,
): HostSettings {
  const disabled = name === "disabledTools" ? textLines(value) : null;
  return {
    settings: settings.map((setting) => (setting.name === name ? { ...setting, value } : setting)),
    tools:
      disabled === null
        ? tools
        : tools.map((tool) => ({ ...tool, enabled: !disabled.includes(tool.name) })),
  };
}

/** What the agent may do: the policy, the mode of new conversations, the sandbox, rules, and which tools there are. */
export function PermissionSettings() {
  const { query, save } = useHostSettings();
  const t = strings.hostSettings;
  return (
    <SettingsGroup title={t.title} hint={t.hint} query={query}>
      {({ settings, tools }) => (
        <>
          <SettingChoice
            label={t.policy}
            options={t.policies}
            setting={find(settings, "toolPolicy")}
            onSave={save}
          />
          <SettingChoice
            label={t.mode}
            options={t.modes}
            setting={find(settings, "sessionMode")}
            onSave={save}
          />
          <SettingChoice
            label={t.sandbox}
            options={t.sandboxes}
            setting={find(settings, "sandbox")}
            onSave={save}
          />
          <RuleList setting={find(settings, "toolRules")} onSave={save} />
          <ToolSwitches tools={tools} setting={find(settings, "disabledTools")} onSave={save} />
        </>
      )}
    </SettingsGroup>
  );
}

export function find(settings: readonly SettingView[], name: PageSettingName): SettingView | null {
  return settings.find((setting) => setting.name === name) ?? null;
}

interface SettingChoiceProps<T extends string> {
  readonly label: string;
  readonly options: Readonly<Record<T, string>>;
  readonly setting: SettingView | null;
  readonly onSave: SaveSetting;
}

export function SettingChoice<T extends string>({
  label,
  options,
  setting,
  onSave,
}: SettingChoiceProps<T>) {
  if (setting === null) return null;
  const names = Object.keys(options) as T[];
  const named = (value: Json | undefined) => names.find((name) => name === value);
  const value = named(setting.afterRestart) ?? named(setting.value);
  if (value === undefined) return null;
  return (
    <div className="host-setting">
      <Choice
        label={label}
        value={value}
        options={options}
        isDisabled={isConfigured(setting)}
        onChange={(chosen) => void onSave(setting.name, chosen)}
      />
      <SettingNote label={label} setting={setting} onSave={onSave}>
        {setting.afterRestart !== undefined && (
          <p className="quiet">{strings.hostSettings.afterRestart(options[value])}</p>
        )}
      </SettingNote>
    </div>
  );
}

interface SettingNoteProps {
  readonly label: string;
  readonly setting: SettingView;
  readonly onSave: SaveSetting;
  readonly children?: React.ReactNode;
}

/** Where the value comes from, if not from the default, and the way back to that. */
export function SettingNote({ label, setting, onSave, children }: SettingNoteProps) {
  const t = strings.hostSettings;
  const { from, name = "", path } = setting.source;
  if (isConfigured(setting))
    return <p className="quiet">{t.setIn(path ?? (from === "flag" ? t.byFlag(name) : name))}</p>;
  const isChanged = from === "page" || setting.afterRestart !== undefined;
  return (
    <>
      {children}
      {isChanged && (
        <button
          type="button"
          className="link"
          aria-label={t.resetNamed(label)}
          onClick={() => void onSave(setting.name, undefined)}
        >
          {t.reset}
        </button>
      )}
    </>
  );
}

export function isConfigured({ source: { from } }: SettingView): boolean {
  return from !== "default" && from !== "page";
}

function RuleList({ setting, onSave }: { setting: SettingView | null; onSave: SaveSetting }) {
  const t = strings.hostSettings;
  const id = useId();
  const saved = textLines(setting?.value).join("\n");
  const [edited, setEdited] = useState<string | null>(null);
  if (setting === null) return null;
  const text = edited ?? saved;
  return (
    <form
      className="host-setting"
      onSubmit={(event) => {
        event.preventDefault();
        const rules = text
          .split("\n")
          .map((line) => line.trim())
          .filter((line) => line !== "");
        void onSave("toolRules", rules);
      }}
    >
      <div className="field">
        <label className="quiet" htmlFor={id}>
          {t.rules}
        </label>
        <textarea
          id={id}
          className="input rules"
          rows={Math.min(10, Math.max(3, text.split("\n").length))}
          spellCheck={false}
          dir="ltr"
          disabled={isConfigured(setting)}
          value={text}
          onChange={(event) => setEdited(event.target.value)}
        />
      </div>
      <p className="quiet">{t.rulesHint}</p>
      <div className="row">
        {!isConfigured(setting) && (
          <button type="submit" className="button" disabled={text === saved}>
            {t.saveRules}
          </button>
        )}
        <SettingNote label={t.rules} setting={setting} onSave={onSave} />
      </div>
    </form>
  );
}

interface ToolSwitchesProps {
  readonly tools: readonly ToolView[];
  readonly setting: SettingView | null;
  readonly onSave: SaveSetting;
}

function ToolSwitches({ tools, setting, onSave }: ToolSwitchesProps) {
  const t = strings.hostSettings;
  if (setting === null || tools.length === 0) return null;
  return (
    <fieldset className="host-setting tool-switches" disabled={isConfigured(setting)}>
      <legend>{t.tools}</legend>
      <p className="quiet">{t.toolsHint}</p>
      <ul>
        {tools.map(({ name, description, enabled }) => (
          <li key={name}>
            <label className="choice" title={description}>
              <input
                type="checkbox"
                checked={enabled}
                onChange={() => void onSave("disabledTools", toggled(tools, name))}
              />
              <code>{name}</code>
            </label>
          </li>
        ))}
      </ul>
      <SettingNote label={t.tools} setting={setting} onSave={onSave} />
    </fieldset>
  );
}

/** The tools that are off once this one is switched. Patterns become the names that they cover. */
function toggled(tools: readonly ToolView[], switched: string): string[] {
  return tools
    .filter(({ name, enabled }) => (name === switched ? enabled : !enabled))
    .map(({ name }) => name);
}

export function textLines(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
