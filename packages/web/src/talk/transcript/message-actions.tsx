import { type MessageEntry, type Seq, textOf } from "@holdfast/protocol";
import { CopyButton } from "../../ui/copy-and-save.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Menu, type MenuEntry } from "../../ui/menu.tsx";
import { strings } from "../../strings/strings.ts";
import { useTalk } from "../store/talk-actions.ts";
import { hostSourceOf } from "./host-message.tsx";
import { RetryModelMenu } from "./retry-model-menu.tsx";

interface MessageActionsProps {
  readonly entry: MessageEntry;
  /** For an answer: the message it answers. */
  readonly question: Seq | null;
  readonly onEdit: () => void;
}

export function MessageActions({ entry, question, onEdit }: MessageActionsProps) {
  const talk = useTalk();
  const isOwn = entry.role === "user";
  const canEdit = isOwn && hostSourceOf(entry) === null;
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
      {canEdit && (
        <button
          type="button"
          className="icon-button small"
          aria-label={strings.message.edit}
          title={strings.message.edit}
          onClick={onEdit}
        >
          <Icon name="edit" />
        </button>
      )}
      {!isOwn && (
        <button
          type="button"
          className="icon-button small"
          aria-label={strings.message.retry}
          title={strings.message.retry}
          onClick={() => talk.retry(question)}
        >
          <Icon name="refresh" />
        </button>
      )}
      {!isOwn && <RetryModelMenu onChoose={(model) => talk.retry(question, model)} />}
      <Menu label={strings.message.actions} className="icon-button small" items={items}>
        <Icon name="more" />
      </Menu>
    </div>
  );
}
