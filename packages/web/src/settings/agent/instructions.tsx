import { type FormEvent, useId, useState } from "react";
import { type InstructionsView, maxInstructionsCharacters } from "@holdfast/protocol";
import { problemText, useApp } from "../../app-context.ts";
import { strings } from "../../strings/strings.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { formatDay } from "../../ui/format-time.ts";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { SettingsGroup, useHostQuery } from "../settings-group.tsx";

/** What the person wants of every answer. */
export function InstructionsSettings() {
  const { client } = useApp();
  const [query, refetch] = useHostQuery(() => client.readInstructions());
  const t = strings.instructions;
  return (
    <SettingsGroup title={t.title} hint={t.hint} query={query}>
      {({ instructions }) => <InstructionsForm saved={instructions} onChange={refetch} />}
    </SettingsGroup>
  );
}

interface InstructionsFormProps {
  readonly saved: InstructionsView;
  readonly onChange: () => void;
}

function InstructionsForm({ saved, onChange }: InstructionsFormProps) {
  const { client, toasts } = useApp();
  const [text, setText] = useState(saved.text);
  const [isDeleting, setDeleting] = useState(false);
  const id = useId();
  const t = strings.instructions;
  async function write(next: string): Promise<void> {
    const headers = { "if-match": saved.version };
    const result = await client.changeInstructions({ headers, body: { text: next } });
    if (result.ok) {
      toasts.show(next.trim() === "" ? t.deleted : t.saved);
      setText(result.value.instructions.text);
    }
    // What was typed stays in the field.
    else if (result.error.code === "custom_instructions_changed") toasts.show(t.conflict);
    else toasts.show(problemText(result.error));
    onChange();
  }

  function submit(event: FormEvent): void {
    event.preventDefault();
    void write(text);
  }

  const isEmpty = text.trim() === "";
  return (
    <>
      <form className="text-form" aria-label={t.title} onSubmit={submit}>
        <div className="field">
          <label className="quiet" htmlFor={id}>
            {t.label}
          </label>
          <textarea
            id={id}
            className="input"
            dir="auto"
            rows={6}
            maxLength={maxInstructionsCharacters}
            placeholder={t.placeholder}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        </div>
        <p className="quiet">{t.applies}</p>
        <div className="row">
          <button
            type="submit"
            className="button primary"
            disabled={isEmpty || text === saved.text}
          >
            {t.save}
          </button>
          {saved.text !== "" && (
            <button type="button" className="button plain" onClick={() => setDeleting(true)}>
              {t.delete}
            </button>
          )}
          <span className="quiet">{t.left(maxInstructionsCharacters - text.length)}</span>
        </div>
        {saved.versions.length > 0 && (
          <details className="fold">
            <summary>{t.versions(saved.versions.length)}</summary>
            <ol reversed className="facts-list">
              {saved.versions.toReversed().map(({ text: earlier, at }) => (
                <li key={`${at} ${earlier}`}>
                  <span className="fact-text" dir="auto">
                    {revealInvisible(earlier)} ({formatDay(at)})
                  </span>
                  <button type="button" className="button plain" onClick={() => setText(earlier)}>
                    {t.restore}
                  </button>
                </li>
              ))}
            </ol>
          </details>
        )}
      </form>
      {isDeleting && (
        <Dialog
          title={t.deleteTitle}
          confirm={t.delete}
          tone="warn"
          onConfirm={() => void write("")}
          onClose={() => setDeleting(false)}
        >
          <p className="quiet">{t.deleteHint}</p>
        </Dialog>
      )}
    </>
  );
}
