import type { InboxItem } from "@holdfast/protocol";
import { useState } from "react";
import { Icon } from "../../ui/icons.tsx";
import { words } from "../../strings/strings.ts";
import { useTalk } from "../store/talk-actions.ts";
import { EditDialog } from "../transcript/edit-dialog.tsx";
import { nameOf, type Pending } from "../transcript/rows.ts";
import type { Unsent, UnsentStore } from "../store/unsent-messages.ts";

interface QueueProps {
  readonly pending: readonly Pending[];
  readonly store: UnsentStore;
}

const modeWords = {
  queue: words.queue.waiting,
  steer: words.queue.steering,
  interrupt: words.queue.next,
} as const;

/** What was said while a run goes on, in the order in which it will be answered. */
export function Queue({ pending, store }: QueueProps) {
  if (pending.length === 0) return null;
  return (
    <ul className="queue" aria-label={words.queue.label}>
      {pending.map((each) => (
        <li key={nameOf(each)}>
          <PendingView pending={each} store={store} />
        </li>
      ))}
    </ul>
  );
}

export function PendingView({ pending, store }: { pending: Pending; store: UnsentStore }) {
  return pending.kind === "accepted" ? (
    <Waiting item={pending.item} />
  ) : (
    <OnItsWay message={pending.message} store={store} />
  );
}

function Waiting({ item }: { item: InboxItem }) {
  const talk = useTalk();
  const [editing, setEditing] = useState(false);
  const isContinuation = item.text === "" && item.attachments.length === 0;
  return (
    <div className="queued">
      <p className="as-written" dir="auto">
        {isContinuation ? words.queue.continues : item.text}
      </p>
      <div className="queued-foot">
        <Icon name={item.mode} />
        <span>{modeWords[item.mode]}</span>
        <span className="spread" />
        {!isContinuation && (
          <Small label={words.queue.edit} icon="edit" onClick={() => setEditing(true)} />
        )}
        <Small label={words.queue.remove} icon="close" onClick={() => talk.takeBack(item)} />
      </div>
      {editing && (
        <EditDialog
          title={words.queue.edit}
          confirm={words.common.save}
          text={item.text}
          onConfirm={(text) => void talk.rewrite(item, text)}
          onClose={() => setEditing(false)}
        />
      )}
    </div>
  );
}

function OnItsWay({ message, store }: { message: Unsent; store: UnsentStore }) {
  const { clientId, state, text, reason, trouble } = message;
  const hasFailed = state === "failed";
  return (
    <div className={`queued ${state}`}>
      <p className="as-written" dir="auto">
        {text}
      </p>
      <div className="queued-foot">
        <Icon name={hasFailed ? "warning" : "clock"} />
        <span>{hasFailed ? (reason ?? words.queue.unsent) : words.queue.sending}</span>
        <span className="spread" />
        {hasFailed && (
          <>
            <button type="button" className="button" onClick={() => store.again(clientId)}>
              {words.queue.send}
            </button>
            <Small
              label={words.queue.remove}
              icon="close"
              onClick={() => store.discard(clientId)}
            />
          </>
        )}
      </div>
      {trouble === "network" && <p className="quiet">{words.queue.unsentHint}</p>}
    </div>
  );
}

interface SmallProps {
  readonly label: string;
  readonly icon: "edit" | "close";
  readonly onClick: () => void;
}

function Small({ label, icon, onClick }: SmallProps) {
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
