import { type FormEvent, type ReactNode, useId, useState } from "react";
import { formAnswer, type FormField } from "@holdfast/protocol";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";

interface QuestionFormProps {
  readonly fields: readonly FormField[];
  readonly isPending: boolean;
  readonly onSend: (answer: string) => void;
  /** What else can be pressed. */
  readonly children: ReactNode;
}

/** A form that an MCP server asks a person to fill in. The host reads the answer, so it may be wrong here. */
export function QuestionForm({ fields, isPending, onSend, children }: QuestionFormProps) {
  const [values, setValues] = useState(
    () => new Map(fields.map((field) => [field.name, usualText(field)])),
  );
  function send(event: FormEvent): void {
    event.preventDefault();
    onSend(formAnswer(values));
  }
  return (
    <form className="question-form" onSubmit={send}>
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          value={values.get(field.name) ?? ""}
          onChange={(value) => setValues(new Map(values).set(field.name, value))}
        />
      ))}
      <div className="row">
        <button type="submit" className="button primary" disabled={isPending}>
          {strings.question.send}
        </button>
        {children}
      </div>
    </form>
  );
}

interface FieldProps {
  readonly field: FormField;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function Field({ field, value, onChange }: FieldProps) {
  const id = useId();
  const { kind, isNeeded, about } = field;
  const title = revealInvisible(field.title);
  const label = isNeeded ? title : strings.question.optional(title);
  const help = about === undefined ? undefined : `${id}-about`;
  if (kind === "choices")
    return (
      <fieldset className="field" aria-describedby={help}>
        <legend>{label}</legend>
        <Help id={help} text={about} />
        <Boxes field={field} value={value} onChange={onChange} />
      </fieldset>
    );
  const shared = {
    id,
    className: "input",
    value,
    required: isNeeded,
    "aria-describedby": help,
    onChange: (event: { readonly target: { readonly value: string } }) =>
      onChange(event.target.value),
  };
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <Help id={help} text={about} />
      {kind === "choice" || kind === "yes_or_no" ? (
        <select {...shared}>
          <option value="">{isNeeded ? "" : strings.question.leaveOut}</option>
          {optionsOf(field).map((option) => (
            <option key={option.value} value={option.value}>
              {revealInvisible(option.label)}
            </option>
          ))}
        </select>
      ) : (
        <input {...shared} type={inputType(field)} dir="auto" step={stepOf(field)} />
      )}
    </div>
  );
}

function Help({ id, text }: { id: string | undefined; text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <p className="quiet" id={id} dir="auto">
      {revealInvisible(text)}
    </p>
  );
}

function Boxes({ field, value, onChange }: FieldProps) {
  const chosen = new Set(value.split("\n").filter((each) => each !== ""));
  function toggle(option: string): void {
    const next = new Set(chosen);
    if (!next.delete(option)) next.add(option);
    onChange([...next].join("\n"));
  }
  return (field.options ?? []).map((option) => (
    <label key={option.value} className="question-box">
      <input
        type="checkbox"
        checked={chosen.has(option.value)}
        onChange={() => toggle(option.value)}
      />
      {revealInvisible(option.label)}
    </label>
  ));
}

function optionsOf({ kind, options = [] }: FormField): NonNullable<FormField["options"]> {
  if (kind === "choice") return options;
  const t = strings.question;
  return [
    { value: "yes", label: t.yes },
    { value: "no", label: t.no },
  ];
}

function inputType({ kind, format }: FormField): string {
  if (kind !== "text") return "number";
  switch (format) {
    case "email":
      return "email";
    case "uri":
      return "url";
    case "date":
      return "date";
    default:
      return "text";
  }
}

function stepOf({ kind }: FormField): string | undefined {
  if (kind === "whole_number") return "1";
  return kind === "number" ? "any" : undefined;
}

function usualText({ usual }: FormField): string {
  if (usual === undefined) return "";
  if (typeof usual === "boolean") return usual ? "yes" : "no";
  return Array.isArray(usual) ? usual.join("\n") : String(usual);
}
