import { type KeyboardEvent, useEffect, useRef } from "react";
import { Icon, type IconName } from "../../ui/icons.tsx";
import { strings } from "../../strings/strings.ts";
import type { Find } from "./use-find.ts";

/** Finds text in the conversation: Enter goes to the message before, Shift and Enter to the next, Escape closes. */
export function FindBar({ find, onClose }: { find: Find; onClose: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  const t = strings.find;
  useEffect(() => field.current?.focus(), []);
  function onKeyDown(event: KeyboardEvent): void {
    if (event.key === "Escape") onClose();
    else if (event.key === "Enter") find.step(event.shiftKey ? 1 : -1);
    else return;
    event.preventDefault();
  }
  return (
    <search className="find-bar" aria-label={t.label}>
      <Icon name="search" />
      <input
        ref={field}
        className="input"
        type="text"
        aria-label={t.label}
        placeholder={t.label}
        value={find.text}
        onChange={(event) => find.setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <output className="quiet">
        <span className="wide-only">{countText(find, strings.find.count)}</span>
        <span className="narrow-only">{countText(find, strings.find.shortCount)}</span>
      </output>
      <FindButton label={t.previous} icon="up" onClick={() => find.step(-1)} />
      <FindButton label={t.next} icon="down" onClick={() => find.step(1)} />
      <FindButton label={strings.common.close} icon="close" onClick={onClose} />
    </search>
  );
}

function countText(
  { text, count, position, isLoading }: Find,
  counted: (position: number, count: number) => string,
): string {
  if (text.trim() === "") return "";
  if (count > 0) return counted(position, count);
  return isLoading ? strings.find.loading : strings.sessions.noHits;
}

interface FindButtonProps {
  readonly label: string;
  readonly icon: IconName;
  readonly onClick: () => void;
}

function FindButton({ label, icon, onClick }: FindButtonProps) {
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
