import { useId } from "react";

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A value that is not shown while it is typed, and that browsers do not offer to store. */
export function SecretField({ label, value, onChange }: FieldProps) {
  const id = useId();
  return (
    <div className="field">
      <label className="quiet" htmlFor={id}>
        {label}
      </label>
      <input
        id={id}
        className="input"
        type="password"
        autoComplete="off"
        dir="ltr"
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  );
}

export function LinesField({ label, value, onChange }: FieldProps) {
  const id = useId();
  return (
    <div className="field">
      <label className="quiet" htmlFor={id}>
        {label}
      </label>
      <textarea
        id={id}
        className="input"
        rows={3}
        dir="ltr"
        spellCheck={false}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  );
}
