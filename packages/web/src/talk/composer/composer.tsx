import { type InputMode } from "@holdfast/protocol";
import { type Invocation, parseInput } from "@holdfast/client";
import {
  type ClipboardEvent,
  type DragEvent,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";
import { useApp } from "../../app-context.ts";
import { Icon } from "../../ui/icons.tsx";
import { Listbox, optionId } from "../../ui/listbox.tsx";
import { Menu } from "../../ui/menu.tsx";
import { strings } from "../../strings/strings.ts";
import { AttachmentChips, useUploads } from "./attachments.tsx";
import { emptyDraft, useDraft } from "./draft.ts";
import { type Suggestion, suggestionsFor } from "./slash-commands.tsx";
import type { MessageContent } from "../store/unsent-messages.ts";

interface ComposerProps {
  readonly draftName: string;
  /** Whether a run goes on: then a message says what it does to it. */
  readonly isRunning: boolean;
  readonly onSend: (content: MessageContent) => void | Promise<boolean>;
  /** Resolves to whether it was done; what was not stays in the field. */
  readonly onCommand: (invocation: Invocation) => Promise<boolean>;
  readonly onStop: (() => void) | null;
  /** Beside the button for files. */
  readonly children?: ReactNode;
}

const modes: readonly InputMode[] = ["queue", "steer", "interrupt"];

export function Composer({
  draftName,
  isRunning,
  onSend,
  onCommand,
  onStop,
  children,
}: ComposerProps) {
  const { toasts } = useApp();
  const [draft, setDraft] = useDraft(draftName);
  const [mode, setMode] = useState<InputMode>("queue");
  const [isOver, setIsOver] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const uploads = useUploads(new URL(".", document.baseURI).href, {
    onDone: (attachment) =>
      setDraft((now) => ({ ...now, attachments: [...now.attachments, attachment] })),
    onTooLarge: (name) => toasts.show(strings.composer.tooLarge(name)),
    onFailed: (name) => toasts.show(strings.composer.uploadFailed(name)),
  });
  const suggested = suggestionsFor(draft.text);
  const [chosen, setChosen] = useState(0);
  const listId = useId();
  const isEmpty = draft.text.trim() === "" && draft.attachments.length === 0;
  const canSend = !isEmpty && uploads.running.length === 0;

  useEffect(() => {
    // On a screen with a keyboard of its own the words can be typed at once.
    if (matchMedia("(hover: hover)").matches) field.current?.focus();
  }, []);

  async function send(): Promise<void> {
    if (!canSend) return;
    const before = draft;
    const typed = parseInput(draft.text);
    if (typed.kind === "unknown")
      return toasts.show(strings.composer.unknown(typed.name, typed.nearest));
    if (typed.kind === "misused") return toasts.show(typed.sentence);
    if (typed.kind === "command" && draft.attachments.length === 0) {
      setDraft(() => emptyDraft);
      if (!(await onCommand(typed.invocation))) setDraft(() => before);
      return;
    }
    const text = typed.kind === "message" ? typed.text : draft.text;
    setDraft(() => emptyDraft);
    const isTaken = await onSend({ ...before, text, mode: isRunning ? mode : "queue" });
    if (isTaken === false) setDraft(() => before);
    setMode("queue");
  }
  function key(event: KeyboardEvent): void {
    if (suggested.length > 0 && moveThrough(event)) return event.preventDefault();
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void send();
  }
  /** Whether the key was for the suggestions. */
  function moveThrough(event: KeyboardEvent): boolean {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const wanted = suggested[chosen % suggested.length];
    if (step !== undefined) setChosen((now) => (now + step + suggested.length) % suggested.length);
    else if (event.key === "Escape") setDraft((now) => ({ ...now, text: "" }));
    else if ((event.key === "Tab" || event.key === "Enter") && wanted !== undefined) {
      setDraft((now) => ({ ...now, text: wanted.text }));
      setChosen(0);
    } else return false;
    return true;
  }
  function take(event: ClipboardEvent | DragEvent, data: DataTransfer | null): void {
    setIsOver(false);
    if (data === null || data.files.length === 0) return;
    event.preventDefault();
    uploads.add(data.files);
  }

  return (
    // Files may be dropped anywhere on it; by keyboard there is the button.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <form
      className={`composer${isOver ? " over" : ""}`}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={(event) => take(event, event.dataTransfer)}
    >
      <AttachmentChips
        attachments={draft.attachments}
        uploads={uploads.running}
        onRemove={(blobId) =>
          setDraft((now) => ({
            ...now,
            attachments: now.attachments.filter((each) => each.blobId !== blobId),
          }))
        }
        onStop={uploads.stop}
      />
      {suggested.length > 0 && (
        <Listbox
          id={listId}
          label={strings.composer.commands}
          all={suggested}
          chosen={chosen % suggested.length}
          keyOf={({ text }) => text}
          renderItem={renderSuggestion}
          onChoose={({ text }) => {
            setDraft((now) => ({ ...now, text }));
            field.current?.focus();
          }}
        />
      )}
      <textarea
        ref={field}
        aria-label={strings.composer.label}
        aria-controls={suggested.length > 0 ? listId : undefined}
        aria-activedescendant={
          suggested.length > 0 ? optionId(listId, chosen % suggested.length) : undefined
        }
        placeholder={isRunning ? strings.composer.placeholderBusy : strings.composer.placeholder}
        rows={1}
        dir="auto"
        value={draft.text}
        onChange={(event) => setDraft((now) => ({ ...now, text: event.target.value }))}
        onKeyDown={key}
        onPaste={(event) => take(event, event.clipboardData)}
      />
      <div className="composer-foot">
        <button
          type="button"
          className="icon-button"
          aria-label={strings.composer.attach}
          title={strings.composer.attach}
          onClick={() => picker.current?.click()}
        >
          <Icon name="attach" />
        </button>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label={strings.composer.attach}
          onChange={(event) => {
            uploads.add(event.target.files ?? []);
            event.target.value = "";
          }}
        />
        {children}
        <span className="spread" />
        {isRunning && <ModeMenu mode={mode} onChoose={setMode} />}
        {onStop !== null && (
          <button type="button" className="button stop" onClick={onStop}>
            <Icon name="stop" />
            {strings.run.stop}
          </button>
        )}
        <button
          type="submit"
          className="send"
          aria-label={strings.composer.send}
          title={strings.composer.hint}
          disabled={!canSend}
        >
          <Icon name="send" />
        </button>
      </div>
    </form>
  );
}

function renderSuggestion({ usage, help }: Suggestion): ReactNode {
  return (
    <>
      <code>{usage}</code>
      <span>{help}</span>
    </>
  );
}

function ModeMenu({ mode, onChoose }: { mode: InputMode; onChoose: (mode: InputMode) => void }) {
  return (
    <Menu
      label={strings.composer.modeLabel}
      shown={strings.composer.mode[mode]}
      className="button plain"
      items={modes.map((each) => ({
        label: strings.composer.mode[each],
        hint: strings.composer.modeHint[each],
        icon: each,
        checked: each === mode,
        onChoose: () => onChoose(each),
      }))}
    >
      <Icon name={mode} />
      {strings.composer.mode[mode]}
    </Menu>
  );
}
