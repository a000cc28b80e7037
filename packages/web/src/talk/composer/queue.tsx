import type { InboxItem } from "@holdfast/protocol";
import { useState } from "react";
import { Icon } from "../../ui/icons.tsx";
import { strings } from "../../strings/strings.ts";
import { useTalk } from "../store/talk-actions.ts";
import { SentMessage } from "../first-messages.tsx";
import { EditDialog } from "../transcript/edit-dialog.tsx";
import { pendingKey, type Pending } from "../transcript/rows.ts";
import type { UnsentMessage, UnsentStore } from "../store/unsent-messages.ts";

interface QueueProps {
  readonly pending: readonly Pending[];
  readonly store: UnsentStore;
}

const modeTexts = {
  queue: strings.queue.waiting,
  steer: strings.queue.steering,
  interrupt: strings.queue.next,
} as const;

/** Messages sent during a run, in the order in which they will be answered. */
export function Queue({ pending, store }: QueueProps) {
  if (pending.length === 0) return null;
  return (
    <ul className="queue" aria-label={strings.queue.label}>
      {pending.map((item) => (
        <li key={pendingKey(item)}>
          <PendingView pending={item} store={store} />
        </li>
      ))}
    </ul>
  );
}

function PendingView({ pending, store }: { pending: Pending; store: UnsentStore }) {
  return pending.kind === "accepted" ? (
    <QueuedItem item={pending.item} />
  ) : (
    <SendingItem message={pending.message} store={store} />
  );
}

/** In the transcript a pending message looks like a sent one; its status appears only if sending takes a while. */
export function PendingRow({ pending, store }: { pending: Pending; store: UnsentStore }) {
  if (pending.kind === "unsent" && pending.message.state === "failed")
    return <PendingView pending={pending} store={store} />;
  const text = pending.kind === "accepted" ? pending.item.text : pending.message.text;
  if (text === "") return <PendingView pending={pending} store={store} />;
  return (
    <SentMessage text={text}>
      {pending.kind === "accepted" ? (
        <QueuedStatus item={pending.item} />
      ) : (
        <>
          <Icon name="clock" />
          <span>{strings.queue.sending}</span>
        </>
      )}
    </SentMessage>
  );
}

function QueuedItem({ item }: { item: InboxItem }) {
  const isContinuation = item.text === "" && item.attachments.length === 0;
  return (
    <div className="queued">
      <p className="as-written" dir="auto">
        {isContinuation ? strings.queue.continues : item.text}
      </p>
      <div className="queued-foot">
        <QueuedStatus item={item} />
      </div>
    </div>
  );
}

/** When it goes on, and what can still be done about it. */
function QueuedStatus({ item }: { item: InboxItem }) {
  const talk = useTalk();
  const [editing, setEditing] = useState(false);
  const isContinuation = item.text === "" && item.attachments.length === 0;
  return (
    <>
      <Icon name={item.mode} />
      <span>{modeTexts[item.mode]}</span>
      <span className="spacer" />
      {!isContinuation && (
        <SmallButton label={strings.queue.edit} icon="edit" onClick={() => setEditing(true)} />
      )}
      <SmallButton
        label={strings.queue.remove}
        icon="close"
        onClick={() => talk.removeQueued(item)}
      />
      {editing && (
        <EditDialog
          title={strings.queue.edit}
          confirm={strings.common.save}
          text={item.text}
          onConfirm={(text) => void talk.changeQueued(item, text)}
          onClose={() => setEditing(false)}
        />
      )}
    </>
  );
}

function SendingItem({ message, store }: { message: UnsentMessage; store: UnsentStore }) {
  const { clientId, state, text, reason, trouble } = message;
  const hasFailed = state === "failed";
  return (
    <div className={`queued ${state}`}>
      <p className="as-written" dir="auto">
        {text}
      </p>
      <div className="queued-foot">
        <Icon name={hasFailed ? "warning" : "clock"} />
        <span>{hasFailed ? (reason ?? strings.queue.unsent) : strings.queue.sending}</span>
        <span className="spacer" />
        {hasFailed && (
          <>
            <button type="button" className="button" onClick={() => store.retry(clientId)}>
              {strings.queue.send}
            </button>
            <SmallButton
              label={strings.queue.remove}
              icon="close"
              onClick={() => store.discard(clientId)}
            />
          </>
        )}
      </div>
      {trouble === "network" && <p className="quiet">{strings.queue.unsentHint}</p>}
    </div>
  );
}

interface SmallButtonProps {
  readonly label: string;
  readonly icon: "edit" | "close";
  readonly onClick: () => void;
}

function SmallButton({ label, icon, onClick }: SmallButtonProps) {
  return (
    <button
      type="button"
      className="icon-button small"
      aria-label={label}
      title={label}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
