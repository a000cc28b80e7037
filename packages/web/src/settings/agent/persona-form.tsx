import { maxPersonaCharacters, type PersonaView } from "@holdfast/protocol";
import { type FormEvent, useId, useState } from "react";
import { problemText, useApp, useStore } from "../../app-context.ts";
import { strings } from "../../strings/strings.ts";

interface PersonaFormProps {
  /** `null` for a new one. */
  readonly persona: PersonaView | null;
  readonly onSaved: () => void;
  readonly onClose: () => void;
}

export function PersonaForm({ persona, onSaved, onClose }: PersonaFormProps) {
  const { client, models, toasts } = useApp();
  const list = useStore(models);
  const [name, setName] = useState(persona?.name ?? "");
  const [text, setText] = useState(persona?.text ?? "");
  const [model, setModel] = useState(persona?.model ?? "");
  const [nameId, textId, modelId] = [useId(), useId(), useId()];
  const t = strings.personas;
  const usable = (list?.models ?? []).filter((item) => item.usable).map((item) => item.name);
  const names = [...new Set([...usable, ...(persona?.model == null ? [] : [persona.model])])];

  async function save(): Promise<void> {
    const result =
      persona === null
        ? await client.addPersona({ body: { name, text, ...(model !== "" && { model }) } })
        : await client.changePersona({
            params: { id: persona.id },
            headers: { "if-match": persona.version },
            body: { name, text, model: model === "" ? null : model },
          });
    onSaved();
    if (result.ok) {
      toasts.show(t.saved);
      onClose();
    }
    // What was typed stays in the form.
    else if (result.error.code === "persona_changed") toasts.show(t.conflict);
    else toasts.show(problemText(result.error));
  }

  function submit(event: FormEvent): void {
    event.preventDefault();
    void save();
  }

  return (
    <form
      className="text-form"
      aria-label={persona === null ? t.add : t.editNamed(persona.name)}
      onSubmit={submit}
    >
      <div className="field">
        <label className="quiet" htmlFor={nameId}>
          {t.name}
        </label>
        <input
          id={nameId}
          className="input"
          type="text"
          dir="auto"
          maxLength={60}
          placeholder={t.namePlaceholder}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </div>
      <div className="field">
        <label className="quiet" htmlFor={textId}>
          {t.text}
        </label>
        <textarea
          id={textId}
          className="input"
          dir="auto"
          rows={5}
          maxLength={maxPersonaCharacters}
          placeholder={t.textPlaceholder}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </div>
      <div className="field">
        <label className="quiet" htmlFor={modelId}>
          {t.model}
        </label>
        <select
          id={modelId}
          className="input"
          value={model}
          onChange={(event) => setModel(event.target.value)}
        >
          <option value="">{t.defaultModel}</option>
          {names.map((option) => (
            <option key={option} value={option}>
              {option}
            </option>
          ))}
        </select>
      </div>
      <div className="row">
        <button
          type="submit"
          className="button primary"
          disabled={name.trim() === "" || text.trim() === ""}
        >
          {t.save}
        </button>
        <button type="button" className="button plain" onClick={onClose}>
          {strings.common.cancel}
        </button>
      </div>
    </form>
  );
}
