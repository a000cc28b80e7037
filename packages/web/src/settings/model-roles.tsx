import type { SettingView } from "@holdfast/protocol";
import { groupModels, modelTitle } from "../models/group-models.ts";
import type { ModelList } from "../models/models-store.ts";
import { strings } from "../strings/strings.ts";
import { Choice } from "./form-fields.tsx";
import {
  find,
  isConfigured,
  type SaveSetting,
  SettingNote,
  textLines,
  useHostSettings,
} from "./host-settings.tsx";
import { SettingsGroup } from "./settings-group.tsx";

const automatic = "";

/** Which model names conversations and summarises them, and which one answers when the chosen one can't. */
export function ModelRoles({ list }: { list: ModelList }) {
  const { query, save } = useHostSettings();
  const t = strings.models.roles;
  return (
    <SettingsGroup title={t.title} query={query}>
      {({ settings }) => (
        <>
          <ModelChoice
            label={t.small}
            none={t.smallAutomatic}
            list={list}
            setting={find(settings, "smallModel")}
            named={(value) => (typeof value === "string" ? value : automatic)}
            onSave={(name) => save("smallModel", name === automatic ? undefined : name)}
            onReset={save}
          />
          <ModelChoice
            label={t.fallback}
            none={t.fallbackNone}
            list={list}
            setting={find(settings, "modelFallback")}
            // Several can be set in the configuration: they stay one choice here.
            named={(value) => textLines(value).join(separator)}
            onSave={(names) =>
              save("modelFallback", names === automatic ? undefined : names.split(separator))
            }
            onReset={save}
          />
        </>
      )}
    </SettingsGroup>
  );
}

const separator = ", ";

interface ModelChoiceProps {
  readonly label: string;
  /** The choice of no model. */
  readonly none: string;
  readonly list: ModelList;
  readonly setting: SettingView | null;
  readonly named: (value: SettingView["value"]) => string;
  readonly onSave: (name: string) => Promise<void>;
  readonly onReset: SaveSetting;
}

function ModelChoice({ label, none, list, setting, named, onSave, onReset }: ModelChoiceProps) {
  if (setting === null) return null;
  const value = named(setting.value);
  const usable = groupModels(list, "").groups.flatMap(({ models }) => models);
  const options = {
    [automatic]: none,
    ...(value !== automatic && { [value]: value }),
    ...Object.fromEntries(usable.map((model) => [model.name, modelTitle(model)])),
  };
  return (
    <div className="host-setting">
      <Choice
        label={label}
        value={value}
        options={options}
        isDisabled={isConfigured(setting)}
        onChange={(name) => void onSave(name)}
      />
      <SettingNote label={label} setting={setting} onSave={onReset} />
    </div>
  );
}
