import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { strings } from "../../strings/strings.ts";
import { isSendKey } from "../../ui/preferences.ts";

interface MessageEditorProps {
  readonly text: string;
  /** Whether the message has files, and so may be without text. */
  readonly hasFiles: boolean;
  readonly onChange: (text: string) => void;
  readonly onSend: (text: string) => void;
  readonly onCancel: () => void;
}

/** A person's message while it is edited, in its own place and type size. */
export function MessageEditor({ text, hasFiles, onChange, onSend, onCancel }: MessageEditorProps) {
  const [next, setNext] = useState(text);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    const end = field.current?.value.length ?? 0;
    field.current?.focus();
    field.current?.setSelectionRange(end, end);
  }, []);
  const isEmpty = next.trim() === "" && !hasFiles;

  function onKeyDown(event: KeyboardEvent): void {
    const isSend = isSendKey(event.nativeEvent);
    if (!isSend && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    if (!isSend) onCancel();
    else if (!isEmpty) onSend(next);
  }

  return (
    <form
      className="message-editor"
      onSubmit={(event) => {
        event.preventDefault();
        onSend(next);
      }}
    >
      <textarea
        ref={field}
        aria-label={strings.message.editing}
        dir="auto"
        rows={Math.min(12, next.split("\n").length + 1)}
        value={next}
        onKeyDown={onKeyDown}
        onChange={({ target }) => {
          setNext(target.value);
          onChange(target.value);
        }}
      />
      <div className="message-editor-foot">
        <button type="button" className="button plain" onClick={onCancel}>
          {strings.common.cancel}
        </button>
        <button type="submit" className="button primary" disabled={isEmpty}>
          {strings.message.editSend}
        </button>
      </div>
    </form>
  );
}
