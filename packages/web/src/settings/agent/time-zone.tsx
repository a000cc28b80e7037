import { strings } from "../../strings/strings.ts";
import { Choice } from "../form-fields.tsx";
import { find, isConfigured, SettingNote, useHostSettings } from "../host-settings.tsx";
import { SettingsGroup } from "../settings-group.tsx";

/** The zone in which the agent is told the time. */
export function TimeZoneSetting() {
  const { query, save } = useHostSettings();
  const t = strings.timeZone;
  return (
    <SettingsGroup title={t.title} hint={t.hint} query={query}>
      {({ settings }) => {
        const setting = find(settings, "timeZone");
        if (setting === null || typeof setting.value !== "string") return null;
        const names = new Set([setting.value, ...Intl.supportedValuesOf("timeZone")]);
        return (
          <div className="host-setting">
            <Choice
              label={t.label}
              value={setting.value}
              options={Object.fromEntries([...names].toSorted().map((name) => [name, name]))}
              isDisabled={isConfigured(setting)}
              onChange={(zone) => void save("timeZone", zone)}
            />
            <SettingNote label={t.label} setting={setting} onSave={save} />
          </div>
        );
      }}
    </SettingsGroup>
  );
}
