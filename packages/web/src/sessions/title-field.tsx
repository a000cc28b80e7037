import { type KeyboardEvent, useEffect, useRef } from "react";
import { strings } from "../strings/strings.ts";

interface TitleFieldProps {
  readonly title: string;
  readonly onSave: (title: string) => void;
  readonly onClose: () => void;
}

/** A title while it is rewritten in its place. Leaving the field keeps what was written; Escape does not. */
export function TitleField({ title, onSave, onClose }: TitleFieldProps) {
  const field = useRef<HTMLInputElement>(null);
  const isDone = useRef(false);
  useEffect(() => field.current?.select(), []);

  function leave(): void {
    isDone.current = true;
    onClose();
  }
  function finish(): void {
    if (isDone.current) return;
    const next = field.current?.value.trim() ?? "";
    if (next !== "" && next !== title) onSave(next);
    leave();
  }
  function key(event: KeyboardEvent): void {
    event.stopPropagation();
    if (event.key === "Enter") finish();
    if (event.key === "Escape") leave();
  }

  return (
    <input
      ref={field}
      className="input title-field"
      aria-label={strings.sessions.titleField}
      defaultValue={title}
      maxLength={300}
      onKeyDown={key}
      onBlur={finish}
    />
  );
}
