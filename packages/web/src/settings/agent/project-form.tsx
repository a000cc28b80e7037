import { maxProjectCharacters, type ProjectView } from "@holdfast/protocol";
import { type FormEvent, useId, useState } from "react";
import { problemText, useApp, useStore } from "../../app-context.ts";
import { strings } from "../../strings/strings.ts";
import { TextField } from "../form-fields.tsx";
import { useHostQuery } from "../settings-group.tsx";

interface ProjectFormProps {
  /** `null` for a new one. */
  readonly project: ProjectView | null;
  readonly onSaved: () => void;
  readonly onClose: () => void;
}

export function ProjectForm({ project, onSaved, onClose }: ProjectFormProps) {
  const { client, toasts } = useApp();
  const [name, setName] = useState(project?.name ?? "");
  const [text, setText] = useState(project?.text ?? "");
  const [workspace, setWorkspace] = useState(project?.workspace ?? null);
  const [persona, setPersona] = useState(project?.persona ?? null);
  const [model, setModel] = useState(project?.model ?? null);
  const textId = useId();
  const t = strings.projects;

  async function save(): Promise<void> {
    const body = { text, workspace, persona, model };
    const result =
      project === null
        ? await client.addProject({ body: { name, ...body } })
        : await client.changeProject({
            params: { id: project.id },
            headers: { "if-match": project.version },
            body,
          });
    onSaved();
    if (result.ok) {
      toasts.show(t.saved);
      onClose();
    }
    // What was typed stays in the form.
    else if (result.error.code === "project_changed") toasts.show(t.conflict);
    else toasts.show(problemText(result.error));
  }

  function submit(event: FormEvent): void {
    event.preventDefault();
    void save();
  }

  return (
    <form
      className="text-form"
      aria-label={project === null ? t.add : t.editNamed(project.name)}
      onSubmit={submit}
    >
      {project === null ? (
        <TextField label={t.name} value={name} onChange={(value) => setName(value.slice(0, 120))} />
      ) : (
        <strong dir="auto">{project.name}</strong>
      )}
      <div className="field">
        <label className="quiet" htmlFor={textId}>
          {t.text}
        </label>
        <textarea
          id={textId}
          className="input"
          dir="auto"
          rows={5}
          maxLength={maxProjectCharacters}
          placeholder={t.textPlaceholder}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </div>
      <p className="quiet">{t.defaults}</p>
      <TextField
        label={t.folder}
        value={workspace ?? ""}
        onChange={(value) => setWorkspace(value === "" ? null : value)}
      />
      <PersonaField value={persona} onChange={setPersona} />
      <ModelField value={model} onChange={setModel} />
      <div className="row">
        <button type="submit" className="button primary" disabled={name.trim() === ""}>
          {t.save}
        </button>
        <button type="button" className="button plain" onClick={onClose}>
          {strings.common.cancel}
        </button>
      </div>
    </form>
  );
}

interface DefaultFieldProps {
  readonly value: string | null;
  readonly onChange: (value: string | null) => void;
}

function PersonaField({ value, onChange }: DefaultFieldProps) {
  const { client } = useApp();
  const [query] = useHostQuery(() => client.listPersonas());
  const personas = query.kind === "loaded" ? query.value.personas : [];
  const options = personas.map(({ id, name }) => [id, name] as const);
  return (
    <DefaultField
      label={strings.personas.label}
      none={strings.projects.defaultPersona}
      options={options}
      value={value}
      onChange={onChange}
    />
  );
}

function ModelField({ value, onChange }: DefaultFieldProps) {
  const { models } = useApp();
  const list = useStore(models);
  const usable = (list?.models ?? []).filter((item) => item.usable).map((item) => item.name);
  const names = [...new Set([...usable, ...(value === null ? [] : [value])])];
  return (
    <DefaultField
      label={strings.projects.model}
      none={strings.personas.defaultModel}
      options={names.map((name) => [name, name] as const)}
      value={value}
      onChange={onChange}
    />
  );
}

interface DefaultFieldOptions extends DefaultFieldProps {
  readonly label: string;
  /** What it is if nothing is chosen. */
  readonly none: string;
  readonly options: readonly (readonly [string, string])[];
}

function DefaultField({ label, none, options, value, onChange }: DefaultFieldOptions) {
  const id = useId();
  return (
    <div className="field">
      <label className="quiet" htmlFor={id}>
        {label}
      </label>
      <select
        id={id}
        className="input"
        value={value ?? ""}
        onChange={(event) => onChange(event.target.value === "" ? null : event.target.value)}
      >
        <option value="">{none}</option>
        {options.map(([option, name]) => (
          <option key={option} value={option}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}
