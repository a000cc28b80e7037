import type { SettingView } from "@holdfast/protocol";
import { type FormEvent, useId, useState } from "react";
import { strings } from "../../strings/strings.ts";
import {
  find,
  isConfigured,
  type SaveSetting,
  SettingNote,
  useHostSettings,
} from "../host-settings.tsx";
import { SettingsGroup } from "../settings-group.tsx";

/** What may be spent in a day, on one conversation and on one answer. */
export function SpendLimits() {
  const { query, save } = useHostSettings();
  const t = strings.usage.limits;
  return (
    <SettingsGroup title={t.title} hint={t.hint} query={query}>
      {({ settings }) => (
        <>
          <SpendLimit label={t.perDay} setting={find(settings, "spendPerDay")} onSave={save} />
          <SpendLimit
            label={t.perSession}
            setting={find(settings, "spendPerSession")}
            onSave={save}
          />
          <SpendLimit label={t.perRun} setting={find(settings, "spendPerRun")} onSave={save} />
        </>
      )}
    </SettingsGroup>
  );
}

interface SpendLimitProps {
  readonly label: string;
  readonly setting: SettingView | null;
  readonly onSave: SaveSetting;
}

function SpendLimit({ label, setting, onSave }: SpendLimitProps) {
  const id = useId();
  const [edited, setEdited] = useState<string | null>(null);
  if (setting === null) return null;
  const { name, value } = setting;
  const saved = typeof value === "number" ? String(value) : "";
  const text = edited ?? saved;
  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    await onSave(name, text.trim() === "" ? undefined : text.trim());
    setEdited(null);
  }
  return (
    <form className="host-setting" onSubmit={(event) => void submit(event)}>
      <div className="field">
        <label className="quiet" htmlFor={id}>
          {label}
        </label>
        <div className="row">
          <input
            id={id}
            className="input"
            type="number"
            inputMode="decimal"
            min="0"
            max="1000000"
            step="any"
            placeholder={strings.usage.limits.none}
            disabled={isConfigured(setting)}
            value={text}
            onChange={(event) => setEdited(event.target.value)}
          />
          {!isConfigured(setting) && (
            <button type="submit" className="button" disabled={text.trim() === saved}>
              {strings.common.save}
            </button>
          )}
        </div>
      </div>
      <SettingNote
        label={label}
        setting={setting}
        onSave={async (...change) => {
          await onSave(...change);
          setEdited(null);
        }}
      />
    </form>
  );
}
