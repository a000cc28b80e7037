import { type MessageEntry, textOf } from "@holdfast/protocol";
import { useState } from "react";
import { CopyButton } from "../../ui/copy-and-save.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Menu, type MenuEntry } from "../../ui/menu.tsx";
import { strings } from "../../strings/strings.ts";
import { useTalk } from "../store/talk-actions.ts";
import { EditDialog } from "./edit-dialog.tsx";

export function MessageActions({ entry }: { entry: MessageEntry }) {
  const talk = useTalk();
  const [editing, setEditing] = useState(false);
  const isOwn = entry.role === "user";
  const text = textOf(entry.parts);
  const items: MenuEntry[] = [
    { label: strings.message.branch, icon: "branch", onChoose: () => talk.branchAt(entry.seq) },
    { label: strings.message.link, icon: "link", onChoose: () => talk.copyLink(entry.seq) },
  ];
  const { runId } = entry;
  if (!isOwn && runId !== undefined)
    items.push({
      label: strings.recorder.open,
      icon: "recorder",
      onChoose: () => talk.showRun(runId),
    });
  if (isOwn)
    items.push("line", {
      label: strings.message.undo,
      icon: "undo",
      onChoose: () => talk.truncateFrom(entry.seq),
    });

  return (
    <div className="message-actions">
      <CopyButton text={text} label={strings.message.copy} />
      {isOwn ? (
        <button
          type="button"
          className="icon-button small"
          aria-label={strings.message.edit}
          title={strings.message.edit}
          onClick={() => setEditing(true)}
        >
          <Icon name="edit" />
        </button>
      ) : (
        <button
          type="button"
          className="icon-button small"
          aria-label={strings.message.retry}
          title={strings.message.retry}
          onClick={() => talk.retry()}
        >
          <Icon name="refresh" />
        </button>
      )}
      <Menu label={strings.message.actions} className="icon-button small" items={items}>
        <Icon name="more" />
      </Menu>
      {editing && (
        <EditDialog
          title={strings.message.edit}
          lead={strings.message.editing}
          confirm={strings.message.editSend}
          text={text}
          onConfirm={(next) => void talk.editAndRetry(entry, next)}
          onClose={() => setEditing(false)}
        />
      )}
    </div>
  );
}
