import { type Json, webhookCommand, type WebhookView } from "@holdfast/protocol";
import { strings } from "../../strings/strings.ts";
import { find, isConfigured, SettingNote, useHostSettings } from "../host-settings.tsx";

interface WebhookCommandsProps {
  readonly webhooks: readonly WebhookView[];
  /** Reads the programs again: they show what they may use. */
  readonly onChanged: () => void;
}

/** Which commands each program may use that was added on the page. */
export function WebhookCommands({ webhooks, onChanged }: WebhookCommandsProps) {
  const { query, save } = useHostSettings();
  const t = strings.hostSettings;
  const own = webhooks.filter(({ connectedBy }) => connectedBy === "page");
  if (query.kind !== "loaded" || own.length === 0) return null;
  const setting = find(query.value.settings, "webhookCommands");
  if (setting === null) return null;

  const commandsOf = (name: string): readonly string[] => {
    const commands = commandsByName(setting.value)[name];
    return Array.isArray(commands) ? commands.filter((item) => typeof item === "string") : [];
  };
  async function allow(name: string, commands: readonly string[]): Promise<void> {
    const known = commandsByName(setting?.value);
    const kept = Object.entries(known).filter(([other]) => other !== name);
    const next = commands.length === 0 ? kept : [...kept, [name, [...commands]] as const];
    await save("webhookCommands", Object.fromEntries(next));
    onChanged();
  }

  return (
    <>
      {own.map(({ name }) => (
        <fieldset
          key={name}
          className="host-setting tool-switches"
          disabled={isConfigured(setting)}
        >
          <legend>{t.commands(name)}</legend>
          <ul>
            {webhookCommand.options.map((command) => (
              <li key={command}>
                <label className="choice">
                  <input
                    type="checkbox"
                    checked={commandsOf(name).includes(command)}
                    onChange={(event) =>
                      void allow(
                        name,
                        event.target.checked
                          ? [...commandsOf(name), command]
                          : commandsOf(name).filter((other) => other !== command),
                      )
                    }
                  />
                  <code>/{command}</code>
                </label>
              </li>
            ))}
          </ul>
        </fieldset>
      ))}
      <p className="quiet">{t.commandsHint}</p>
      <SettingNote label={strings.programs.title} setting={setting} onSave={save} />
    </>
  );
}

function commandsByName(value: Json | undefined): Readonly<Record<string, Json>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}
