import { useEffect, useRef } from "react";
import { Icon } from "../../ui/icons.tsx";
import { strings } from "../../strings/strings.ts";
import { useTalk } from "../store/talk-actions.ts";
import type { MessageVersion } from "./rows.ts";

/** Which version of a message this is, with the way to the others. */
export function MessageVersions({ number, messageIds, left }: MessageVersion) {
  const talk = useTalk();
  const group = useRef<HTMLDivElement>(null);
  const own = messageIds[number - 1];
  useEffect(() => {
    // The version that was left had the focus, and its buttons are gone.
    if (own !== undefined && talk.takeFocus(own))
      group.current?.querySelector<HTMLElement>("button:not(:disabled)")?.focus();
  }, [own, talk]);
  const button = (label: string, index: number, turn: "previous" | "next") => {
    const target = messageIds[index];
    return (
      <button
        type="button"
        className={`icon-button small ${turn}`}
        aria-label={label}
        title={label}
        disabled={target === undefined}
        onClick={() => target !== undefined && talk.showVersion(target, left[index])}
      >
        <Icon name="chevron" />
      </button>
    );
  };
  return (
    <div
      ref={group}
      className="message-versions"
      role="group"
      aria-label={strings.message.version(number, messageIds.length)}
    >
      {button(strings.message.previousVersion, number - 2, "previous")}
      <span aria-hidden="true">
        {number}/{messageIds.length}
      </span>
      {button(strings.message.nextVersion, number, "next")}
    </div>
  );
}
