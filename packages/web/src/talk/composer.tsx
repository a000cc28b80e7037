import { type FormEvent, type KeyboardEvent, useState } from "react";

interface ComposerProps {
  /** Resolves to whether the message was accepted; one that was not stays in the field. */
  readonly onSend: (text: string) => Promise<boolean>;
  readonly onStop: (() => void) | null;
}

export function Composer({ onSend, onStop }: ComposerProps) {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);

  async function send(): Promise<void> {
    if (text.trim() === "" || busy) return;
    setBusy(true);
    if (await onSend(text)) setText("");
    setBusy(false);
  }
  function submit(event: FormEvent): void {
    event.preventDefault();
    void send();
  }
  function key(event: KeyboardEvent): void {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void send();
  }

  return (
    <form className="composer" onSubmit={submit}>
      <textarea
        className="input"
        aria-label="Message"
        placeholder="Write a message"
        rows={2}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={key}
      />
      <div className="row">
        <button type="submit" className="button" disabled={busy || text.trim() === ""}>
          Send
        </button>
        {onStop !== null && (
          <button type="button" className="button plain" onClick={onStop}>
            Stop
          </button>
        )}
      </div>
    </form>
  );
}
