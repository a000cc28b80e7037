import { useId } from "react";

interface TextFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function TextField({ label, value, onChange }: TextFieldProps) {
  const id = useId();
  return (
    <div className="field">
      <label className="quiet" htmlFor={id}>
        {label}
      </label>
      <input
        id={id}
        className="input"
        type="text"
        dir="ltr"
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  );
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly options: Readonly<Record<T, string>>;
  readonly isDisabled?: boolean;
  readonly onChange: (value: T) => void;
}

export function Choice<T extends string>({
  label,
  value,
  options,
  isDisabled = false,
  onChange,
}: ChoiceProps<T>) {
  const id = useId();
  const names = Object.keys(options) as T[];
  return (
    <div className="field">
      <label className="quiet" htmlFor={id}>
        {label}
      </label>
      <select
        id={id}
        className="input"
        value={value}
        disabled={isDisabled}
        onChange={(event) => {
          const chosen = names.find((name) => name === event.target.value);
          if (chosen !== undefined) onChange(chosen);
        }}
      >
        {names.map((name) => (
          <option key={name} value={name}>
            {options[name]}
          </option>
        ))}
      </select>
    </div>
  );
}
