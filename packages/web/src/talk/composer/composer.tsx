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
  /** During a run the composer offers the mode of the next message. */
  readonly isRunning: boolean;
  readonly onSend: (content: MessageContent) => void | Promise<boolean>;
  /** Resolves to whether it succeeded; otherwise the text returns to the field. */
  readonly onCommand: (invocation: Invocation) => Promise<boolean>;
  readonly onStop: (() => void) | null;
  /** Rendered beside the attach button. */
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
  const [isDragOver, setIsDragOver] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const uploads = useUploads(new URL(".", document.baseURI).href, {
    onDone: (attachment) =>
      setDraft((old) => ({ ...old, attachments: [...old.attachments, attachment] })),
    onTooLarge: (name) => toasts.show(strings.composer.tooLarge(name)),
    onFailed: (name) => toasts.show(strings.composer.uploadFailed(name)),
  });
  const suggestions = suggestionsFor(draft.text);
  const [selectedIndex, setSelectedIndex] = useState(0);
  const listId = useId();
  const isEmpty = draft.text.trim() === "" && draft.attachments.length === 0;
  const canSend = !isEmpty && uploads.running.length === 0;

  useEffect(() => {
    // On a touch screen the focus would open the on-screen keyboard.
    if (matchMedia("(hover: hover)").matches) field.current?.focus();
  }, []);

  async function send(): Promise<void> {
    if (!canSend) return;
    const sentDraft = draft;
    const input = parseInput(draft.text);
    if (input.kind === "unknown")
      return toasts.show(strings.composer.unknown(input.name, input.nearest));
    if (input.kind === "misused") return toasts.show(input.sentence);
    if (input.kind === "command" && draft.attachments.length === 0) {
      setDraft(() => emptyDraft);
      if (!(await onCommand(input.invocation))) setDraft(() => sentDraft);
      return;
    }
    const text = input.kind === "message" ? input.text : draft.text;
    setDraft(() => emptyDraft);
    const isAccepted = await onSend({ ...sentDraft, text, mode: isRunning ? mode : "queue" });
    if (isAccepted === false) setDraft(() => sentDraft);
    setMode("queue");
  }
  function onKeyDown(event: KeyboardEvent): void {
    if (suggestions.length > 0 && handleSuggestionKey(event)) return event.preventDefault();
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void send();
  }
  /** Whether the key was for the suggestions. */
  function handleSuggestionKey(event: KeyboardEvent): boolean {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const suggestion = suggestions[selectedIndex % suggestions.length];
    if (step !== undefined)
      setSelectedIndex((old) => (old + step + suggestions.length) % suggestions.length);
    else if (event.key === "Escape") setDraft((old) => ({ ...old, text: "" }));
    else if ((event.key === "Tab" || event.key === "Enter") && suggestion !== undefined) {
      setDraft((old) => ({ ...old, text: suggestion.text }));
      setSelectedIndex(0);
    } else return false;
    return true;
  }
  function addFiles(event: ClipboardEvent | DragEvent, data: DataTransfer | null): void {
    setIsDragOver(false);
    if (data === null || data.files.length === 0) return;
    event.preventDefault();
    uploads.add(data.files);
  }

  return (
    // Files can be dropped anywhere on the form; keyboard users have the attach button.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <form
      className={`composer${isDragOver ? " drag-over" : ""}`}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onDragOver={(event) => {
        event.preventDefault();
        setIsDragOver(true);
      }}
      onDragLeave={() => setIsDragOver(false)}
      onDrop={(event) => addFiles(event, event.dataTransfer)}
    >
      <AttachmentChips
        attachments={draft.attachments}
        uploads={uploads.running}
        onRemove={(blobId) =>
          setDraft((old) => ({
            ...old,
            attachments: old.attachments.filter((attachment) => attachment.blobId !== blobId),
          }))
        }
        onStop={uploads.stop}
      />
      {suggestions.length > 0 && (
        <Listbox
          id={listId}
          label={strings.composer.commands}
          items={suggestions}
          selected={selectedIndex % suggestions.length}
          keyOf={({ text }) => text}
          renderItem={renderSuggestion}
          onSelect={({ text }) => {
            setDraft((old) => ({ ...old, text }));
            field.current?.focus();
          }}
        />
      )}
      <textarea
        ref={field}
        aria-label={strings.composer.label}
        aria-controls={suggestions.length > 0 ? listId : undefined}
        aria-activedescendant={
          suggestions.length > 0 ? optionId(listId, selectedIndex % suggestions.length) : undefined
        }
        placeholder={isRunning ? strings.composer.placeholderBusy : strings.composer.placeholder}
        rows={1}
        dir="auto"
        value={draft.text}
        onChange={(event) => setDraft((old) => ({ ...old, text: event.target.value }))}
        onKeyDown={onKeyDown}
        onPaste={(event) => addFiles(event, event.clipboardData)}
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
        <span className="spacer" />
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
      visibleLabel={strings.composer.mode[mode]}
      className="button plain"
      items={modes.map((option) => ({
        label: strings.composer.mode[option],
        hint: strings.composer.modeHint[option],
        icon: option,
        checked: option === mode,
        onChoose: () => onChoose(option),
      }))}
    >
      <Icon name={mode} />
      {strings.composer.mode[mode]}
    </Menu>
  );
}
