import { type MessageEntry, textOf } from "@holdfast/protocol";
import { useState } from "react";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Menu, type MenuEntry } from "../../ui/menu.tsx";
import { words } from "../../strings/strings.ts";
import { useTalk } from "../store/talk-actions.ts";
import { EditDialog } from "./edit-dialog.tsx";

/** What can be done with what was said here. */
export function MessageActions({ entry }: { entry: MessageEntry }) {
  const talk = useTalk();
  const [editing, setEditing] = useState(false);
  const isOwn = entry.role === "user";
  const text = textOf(entry.parts);
  const items: MenuEntry[] = [
    { label: words.message.branch, icon: "branch", onChoose: () => talk.branchAt(entry.seq) },
    { label: words.message.link, icon: "link", onChoose: () => talk.copyLink(entry.seq) },
  ];
  const { runId } = entry;
  if (!isOwn && runId !== undefined)
    items.push({
      label: words.recorder.open,
      icon: "recorder",
      onChoose: () => talk.showRun(runId),
    });
  if (isOwn)
    items.push("line", {
      label: words.message.undo,
      icon: "undo",
      onChoose: () => talk.cutFrom(entry.seq),
    });

  return (
    <div className="message-actions">
      <CopyButton text={text} label={words.message.copy} />
      {isOwn ? (
        <button
          type="button"
          className="icon-button small"
          aria-label={words.message.edit}
          title={words.message.edit}
          onClick={() => setEditing(true)}
        >
          <Icon name="edit" />
        </button>
      ) : (
        <button
          type="button"
          className="icon-button small"
          aria-label={words.message.retry}
          title={words.message.retry}
          onClick={() => talk.askAgain()}
        >
          <Icon name="refresh" />
        </button>
      )}
      <Menu label={words.message.actions} className="icon-button small" items={items}>
        <Icon name="more" />
      </Menu>
      {editing && (
        <EditDialog
          title={words.message.edit}
          lead={words.message.editing}
          confirm={words.message.editSend}
          text={text}
          onConfirm={(next) => void talk.editAndAsk(entry, next)}
          onClose={() => setEditing(false)}
        />
      )}
    </div>
  );
}
