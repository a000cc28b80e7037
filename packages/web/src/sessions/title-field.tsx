import { type KeyboardEvent, useEffect, useRef } from "react";
import { strings } from "../strings/strings.ts";

interface TitleFieldProps {
  readonly title: string;
  readonly onSave: (title: string) => void;
  readonly onClose: () => void;
}

/** Edits a title in place. Leaving the field saves; Escape discards. */
export function TitleField({ title, onSave, onClose }: TitleFieldProps) {
  const field = useRef<HTMLInputElement>(null);
  const isDone = useRef(false);
  useEffect(() => field.current?.select(), []);

  function close(): void {
    isDone.current = true;
    onClose();
  }
  function save(): void {
    if (isDone.current) return;
    const next = field.current?.value.trim() ?? "";
    if (next !== "" && next !== title) onSave(next);
    close();
  }
  function onKeyDown(event: KeyboardEvent): void {
    event.stopPropagation();
    if (event.key === "Enter") save();
    if (event.key === "Escape") close();
  }

  return (
    <input
      ref={field}
      className="input title-field"
      aria-label={strings.sessions.titleField}
      defaultValue={title}
      maxLength={300}
      onKeyDown={onKeyDown}
      onBlur={save}
    />
  );
}
