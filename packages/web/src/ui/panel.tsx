import type { ReactNode } from "react";
import { strings } from "../strings/strings.ts";
import { Icon } from "./icons.tsx";

interface PanelProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A closable panel beside a conversation. */
export function Panel({ title, onClose, children }: PanelProps) {
  return (
    <aside className="panel" aria-label={title}>
      <header className="bar">
        <h2>{title}</h2>
        <span className="spacer" />
        <button
          type="button"
          className="icon-button"
          aria-label={strings.common.close}
          title={strings.common.close}
          onClick={onClose}
        >
          <Icon name="close" />
        </button>
      </header>
      <div className="panel-body">{children}</div>
    </aside>
  );
}
