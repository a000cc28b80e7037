import { type Attachment, type BlobId, type InputMode, type SessionId } from "@holdfast/protocol";
import {
  asksForSkill,
  findPasted,
  type Invocation,
  isWorthMarking,
  parseInput,
} from "@holdfast/client";
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { useApp } from "../../app-context.ts";
import { Icon } from "../../ui/icons.tsx";
import { Listbox, optionId } from "../../ui/listbox.tsx";
import { Menu } from "../../ui/menu.tsx";
import { isSendKey } from "../../ui/preferences.ts";
import { strings } from "../../strings/strings.ts";
import { type Attachable, takeAttached } from "./attach-requests.ts";
import { AttachmentChips } from "./attachments.tsx";
import { CostNotice } from "./cost-notice.tsx";
import { type ReducedPicture, ReducedNotice } from "./reduced-notice.tsx";
import { useUploads } from "./uploads.ts";
import { asFile, UnseenNotice } from "./unseen-notice.tsx";
import { acceptDroppedFiles } from "./dropped-files.ts";
import { useDraft } from "./draft.ts";
import { LongPasteNotice, useLongPastes } from "./long-paste.tsx";
import { type Suggestion, suggestionsFor, useSkillNames } from "./slash-commands.tsx";
import type { MessageContent } from "../store/unsent-messages.ts";

interface ComposerProps {
  readonly draftName: string;
  /** `null` before the first message. */
  readonly session: SessionId | null;
  /** The model that answers; `null` for the default. */
  readonly model: string | null;
  /** During a run the composer offers the mode of the next message. */
  readonly isRunning: boolean;
  readonly onSend: (content: MessageContent) => void | Promise<boolean>;
  /** Resolves to whether it succeeded; otherwise the text returns to the field. */
  readonly onCommand: (invocation: Invocation) => Promise<boolean>;
  readonly onStop: (() => void) | null;
  /** The arrow up in an empty field. */
  readonly onEditLast?: () => void;
  /** Rendered beside the attach button. */
  readonly children?: ReactNode;
}

const modes: readonly InputMode[] = ["queue", "steer", "interrupt"];

export function Composer({
  draftName,
  session,
  model,
  isRunning,
  onSend,
  onCommand,
  onStop,
  onEditLast,
  children,
}: ComposerProps) {
  const { client, toasts } = useApp();
  const { draft, change: setDraft, deliver } = useDraft(draftName);
  const [mode, setMode] = useState<InputMode>("queue");
  const [isDragOver, setIsDragOver] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  /** In which order files were added: a small one may be uploaded before a large one. */
  const addedOrder = useRef(new Map<BlobId, number>());
  const [reduced, setReduced] = useState<readonly ReducedPicture[]>([]);
  function addAttachment(attachment: Attachment, key?: number): void {
    const order = addedOrder.current;
    if (key !== undefined) order.set(attachment.blobId, key);
    const placeOf = ({ blobId }: Attachment): number => order.get(blobId) ?? 0;
    setDraft((old) => {
      const others = old.attachments.filter(({ blobId }) => blobId !== attachment.blobId);
      const attachments = [...others, attachment];
      return {
        ...old,
        attachments:
          key === undefined ? attachments : attachments.toSorted((a, b) => placeOf(a) - placeOf(b)),
      };
    });
  }
  const uploads = useUploads(new URL(".", document.baseURI).href, {
    onDone: addAttachment,
    onTooLarge: (name) => toasts.show(strings.composer.tooLarge(name)),
    onReduced: (original, name) => setReduced((old) => [...old, { original, name }]),
  });
  /** Escape hides the suggestions until the text changes. */
  const [dismissedText, setDismissedText] = useState("");
  const skills = useSkillNames(session, draft.text.startsWith("/"));
  const suggestions = draft.text === dismissedText ? [] : suggestionsFor(draft.text, skills);
  const [selectedIndex, setSelectedIndex] = useState(0);
  const listId = useId();
  const isEmpty = draft.text.trim() === "" && draft.attachments.length === 0;
  const canSend = !isEmpty && uploads.all.length === 0;

  const pasted = useRef<string[]>([]);
  const longPastes = useLongPastes(uploads.add);

  useEffect(() => {
    // On a touch screen the focus would open the on-screen keyboard.
    if (matchMedia("(hover: hover)").matches) field.current?.focus();
  }, []);

  async function send(): Promise<void> {
    if (!canSend) return;
    const input = parseInput(draft.text);
    const asked = { client, sessionId: session };
    if (input.kind === "unknown" && !(await asksForSkill(asked, input.name)))
      return toasts.show(strings.composer.unknown(input.name, input.nearest));
    if (input.kind === "misused") return toasts.show(input.sentence);
    if (input.kind === "command" && draft.attachments.length === 0) {
      return deliver(draft, () => onCommand(input.invocation));
    }
    const text = input.kind === "message" ? input.text : draft.text;
    const quoted = findPasted(text, pasted.current);
    pasted.current = [];
    await deliver(draft, () =>
      onSend({
        ...draft,
        text,
        mode: isRunning ? mode : "queue",
        ...(quoted.length > 0 && { quoted }),
      }),
    );
    setMode("queue");
  }
  function onKeyDown(event: KeyboardEvent): void {
    longPastes.onKeyDown(event);
    if (suggestions.length > 0 && handleSuggestionKey(event)) return event.preventDefault();
    if (event.key === "ArrowUp" && draft.text === "" && isEmpty && onEditLast !== undefined) {
      event.preventDefault();
      return onEditLast();
    }
    if (!isSendKey(event.nativeEvent)) return;
    event.preventDefault();
    void send();
  }
  /** Whether the key was for the suggestions. */
  function handleSuggestionKey(event: KeyboardEvent): boolean {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const suggestion = suggestions[selectedIndex % suggestions.length];
    if (step !== undefined)
      setSelectedIndex((old) => (old + step + suggestions.length) % suggestions.length);
    else if (event.key === "Escape") setDismissedText(draft.text);
    else if ((event.key === "Tab" || event.key === "Enter") && suggestion !== undefined) {
      setDraft((old) => ({ ...old, text: suggestion.text }));
      setSelectedIndex(0);
    } else return false;
    return true;
  }
  function take(file: Attachable): void {
    if (file instanceof File) uploads.add([file]);
    else addAttachment(file);
  }
  const latest = useRef({ add: uploads.add, take });
  useEffect(() => {
    latest.current = { add: uploads.add, take };
  });
  useEffect(() => takeAttached((file) => latest.current.take(file)), []);
  useEffect(
    () =>
      acceptDroppedFiles({
        onDragOver: setIsDragOver,
        onDrop: (files) => latest.current.add(files),
      }),
    [],
  );

  return (
    <form
      className={`composer${isDragOver ? " drag-over" : ""}`}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <AttachmentChips
        attachments={draft.attachments}
        uploads={uploads}
        onRemove={(blobId) =>
          setDraft((old) => ({
            ...old,
            attachments: old.attachments.filter((attachment) => attachment.blobId !== blobId),
          }))
        }
      />
      <UnseenNotice
        attachments={draft.attachments}
        model={model}
        onSendAsFiles={() =>
          void Promise.all(draft.attachments.map(asFile)).then((attachments) =>
            setDraft((old) => ({ ...old, attachments })),
          )
        }
      />
      <CostNotice attachments={draft.attachments} model={model} />
      <ReducedNotice
        pictures={reduced.filter((picture) =>
          draft.attachments.some(({ type, name }) => type === "image" && name === picture.name),
        )}
        onSendOriginal={({ original, name }) => {
          setReduced((old) => old.filter((picture) => picture.original !== original));
          setDraft((old) => ({
            ...old,
            attachments: old.attachments.filter((attachment) => attachment.name !== name),
          }));
          uploads.addOriginal(original);
        }}
      />
      <LongPasteNotice
        pastes={longPastes.all.filter((paste) =>
          draft.attachments.some(({ name }) => name === paste.name),
        )}
        onKeepAsText={({ name, text }) => {
          longPastes.forget(name);
          pasted.current.push(text);
          setDraft((old) => ({
            text: old.text === "" ? text : `${old.text}\n${text}`,
            attachments: old.attachments.filter((attachment) => attachment.name !== name),
          }));
          field.current?.focus();
        }}
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
        placeholder={placeholderFor(isDragOver, isRunning)}
        rows={1}
        dir="auto"
        value={draft.text}
        onChange={(event) => setDraft((old) => ({ ...old, text: event.target.value }))}
        onKeyDown={onKeyDown}
        onPaste={(event) => {
          const text = event.clipboardData.getData("text/plain").replaceAll("\r\n", "\n");
          if (longPastes.take(event, text)) return;
          if (isWorthMarking(text)) pasted.current.push(text);
          if (event.clipboardData.files.length === 0) return;
          event.preventDefault();
          uploads.add(event.clipboardData.files);
        }}
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

function placeholderFor(isDragOver: boolean, isRunning: boolean): string {
  if (isDragOver) return strings.composer.drop;
  return isRunning ? strings.composer.placeholderBusy : strings.composer.placeholder;
}
