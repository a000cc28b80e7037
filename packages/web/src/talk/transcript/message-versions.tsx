import type { MessageId } from "@holdfast/protocol";
import { useEffect, useRef } from "react";
import { Icon } from "../../ui/icons.tsx";
import { strings } from "../../strings/strings.ts";
import { useTalk } from "../store/talk-actions.ts";
import type { MessageVersion } from "./rows.ts";

/** Which version of a message this is, with the way to the others. */
export function MessageVersions({ number, messageIds }: MessageVersion) {
  const talk = useTalk();
  const group = useRef<HTMLDivElement>(null);
  const own = messageIds[number - 1];
  useEffect(() => {
    // The version that was left had the focus, and its buttons are gone.
    if (own !== undefined && talk.takeFocus(own))
      group.current?.querySelector<HTMLElement>("button:not(:disabled)")?.focus();
  }, [own, talk]);
  const button = (label: string, target: MessageId | undefined, turn: "previous" | "next") => (
    <button
      type="button"
      className={`icon-button small ${turn}`}
      aria-label={label}
      title={label}
      disabled={target === undefined}
      onClick={() => target !== undefined && talk.showVersion(target)}
    >
      <Icon name="chevron" />
    </button>
  );
  return (
    <div
      ref={group}
      className="message-versions"
      role="group"
      aria-label={strings.message.version(number, messageIds.length)}
    >
      {button(strings.message.previousVersion, messageIds[number - 2], "previous")}
      <span aria-hidden="true">
        {number}/{messageIds.length}
      </span>
      {button(strings.message.nextVersion, messageIds[number], "next")}
    </div>
  );
}
