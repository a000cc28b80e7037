import { builtInPersona, type PersonaView } from "@holdfast/protocol";
import { useState } from "react";
import { problemText, useApp } from "../../app-context.ts";
import { strings } from "../../strings/strings.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { formatDay } from "../../ui/format-time.ts";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { SettingsGroup, useHostQuery } from "../settings-group.tsx";
import { Adding } from "./adding.tsx";
import { PersonaForm } from "./persona-form.tsx";

/** Who the agent can be: add, edit, delete, and which one is the default. */
export function PersonaSettings() {
  const { client } = useApp();
  const [query, refetch] = useHostQuery(() => client.listPersonas());
  const t = strings.personas;
  return (
    <SettingsGroup title={t.title} hint={t.hint} query={query}>
      {({ personas }) => (
        <>
          <ul className="facts-list" aria-label={t.title}>
            {personas.map((persona) => (
              <PersonaRow key={persona.id} persona={persona} onChange={refetch} />
            ))}
          </ul>
          <Adding label={t.add}>
            {(close) => <PersonaForm persona={null} onSaved={refetch} onClose={close} />}
          </Adding>
          <p className="quiet">{t.file}</p>
        </>
      )}
    </SettingsGroup>
  );
}

interface PersonaRowProps {
  readonly persona: PersonaView;
  readonly onChange: () => void;
}

function PersonaRow({ persona, onChange }: PersonaRowProps) {
  const { client, toasts } = useApp();
  const [isEditing, setEditing] = useState(false);
  const [isDeleting, setDeleting] = useState(false);
  const t = strings.personas;
  const name = revealInvisible(persona.name);

  async function remove(): Promise<void> {
    const headers = { "if-match": persona.version };
    const removed = await client.removePersona({ params: { id: persona.id }, headers });
    toasts.show(removed.ok ? t.deleted : problemText(removed.error));
    onChange();
  }
  async function makeDefault(): Promise<void> {
    const made = await client.setDefaultPersona({ body: { id: persona.id } });
    toasts.show(made.ok ? t.madeDefault(name) : problemText(made.error));
    onChange();
  }

  if (isEditing)
    return (
      <li>
        <PersonaForm persona={persona} onSaved={onChange} onClose={() => setEditing(false)} />
      </li>
    );
  return (
    <li>
      <PersonaSummary persona={persona} />
      <span className="row">
        {!persona.isDefault && (
          <button
            type="button"
            className="button plain"
            aria-label={t.makeDefaultNamed(name)}
            onClick={() => void makeDefault()}
          >
            {t.makeDefault}
          </button>
        )}
        {!persona.isFileOnly && (
          <button
            type="button"
            className="button plain"
            aria-label={t.editNamed(name)}
            onClick={() => setEditing(true)}
          >
            {t.edit}
          </button>
        )}
        {persona.id !== builtInPersona && (
          <button
            type="button"
            className="button plain"
            aria-label={t.deleteNamed(name)}
            onClick={() => setDeleting(true)}
          >
            {t.delete}
          </button>
        )}
      </span>
      {isDeleting && (
        <Dialog
          title={t.deleteTitle(name)}
          confirm={t.delete}
          tone="warn"
          onConfirm={() => void remove()}
          onClose={() => setDeleting(false)}
        >
          <p className="quiet">{t.deleteHint}</p>
        </Dialog>
      )}
    </li>
  );
}

function PersonaSummary({ persona }: { persona: PersonaView }) {
  const { name, text, model, isDefault, isFileOnly, versions } = persona;
  const t = strings.personas;
  return (
    <span className="fact-text">
      <span dir="auto">
        <strong>{revealInvisible(name)}</strong>{" "}
        {isDefault && <span className="quiet">{t.isDefault}</span>}{" "}
        {model !== null && <span className="quiet">{model}</span>}
      </span>
      <span className="persona-text" dir="auto">
        {revealInvisible(text)}
      </span>
      {isFileOnly && <span className="quiet">{t.fileOnly}</span>}
      {versions.length > 0 && (
        <details className="quiet">
          <summary>{t.versions(versions.length)}</summary>
          <ol reversed>
            {versions.toReversed().map(({ text: earlier, at }) => (
              <li key={`${at} ${earlier}`} dir="auto">
                {revealInvisible(earlier)} ({formatDay(at)})
              </li>
            ))}
          </ol>
        </details>
      )}
    </span>
  );
}
