import { type FormEvent, useState } from "react";
import { type GuidanceView, maxGuidanceCharacters } from "@holdfast/protocol";
import { problemText, useApp } from "../../app-context.ts";
import { strings } from "../../strings/strings.ts";
import { Icon } from "../../ui/icons.tsx";
import { SettingsGroup, useHostQuery } from "../settings-group.tsx";

/** What the agent is told about the host and its tools. */
export function GuidanceSettings() {
  const { client } = useApp();
  const [query, refetch] = useHostQuery(() => client.listGuidance());
  const t = strings.guidance;
  return (
    <SettingsGroup title={t.title} hint={t.hint} query={query}>
      {({ guidance }) => (
        <>
          {guidance.map((saved) => (
            <GuidanceForm key={saved.part} saved={saved} onChange={refetch} />
          ))}
        </>
      )}
    </SettingsGroup>
  );
}

interface GuidanceFormProps {
  readonly saved: GuidanceView;
  readonly onChange: () => void;
}

function GuidanceForm({ saved, onChange }: GuidanceFormProps) {
  const { client, toasts } = useApp();
  const [text, setText] = useState(saved.text);
  const t = strings.guidance;
  const name = t.names[saved.part];

  async function write(next: string): Promise<void> {
    const headers = { "if-match": saved.version };
    const params = { part: saved.part };
    const result = await client.changeGuidance({ params, headers, body: { text: next } });
    if (result.ok) {
      toasts.show(next === "" ? t.isReset : t.saved);
      setText(result.value.guidance.text);
    }
    // What was typed stays in the field.
    else if (result.error.code === "guidance_changed") toasts.show(t.conflict);
    else toasts.show(problemText(result.error));
    onChange();
  }

  function submit(event: FormEvent): void {
    event.preventDefault();
    void write(text);
  }

  const isBuiltIn = saved.text === saved.builtIn;
  return (
    <details className="fold">
      <summary>
        <Icon name="edit" />
        {name} {!isBuiltIn && <span className="quiet">{t.changed}</span>}
      </summary>
      <form className="text-form" aria-label={name} onSubmit={submit}>
        <div className="field">
          <textarea
            aria-label={name}
            className="input"
            dir="auto"
            rows={10}
            maxLength={maxGuidanceCharacters}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        </div>
        <p className="quiet">{t.applies}</p>
        <div className="row">
          <button
            type="submit"
            className="button primary"
            disabled={text.trim() === "" || text === saved.text}
          >
            {t.save}
          </button>
          {!isBuiltIn && (
            <button type="button" className="button plain" onClick={() => void write("")}>
              {t.reset}
            </button>
          )}
        </div>
      </form>
    </details>
  );
}
