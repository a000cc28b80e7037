import type { SessionId } from "@holdfast/protocol";
import { useRef, useState } from "react";
import { useApp, useStore } from "../app-context.ts";
import type { HostState } from "../host/host-store.ts";
import { BulkBar } from "../sessions/bulk-actions.tsx";
import { SearchResults } from "../sessions/search-results.tsx";
import { SessionList } from "../sessions/session-list.tsx";
import { preferences } from "../ui/preferences.ts";
import { EmptyTrash } from "../sessions/empty-trash.tsx";
import { ShelfMenu } from "../sessions/shelf-menu.tsx";
import { useNeededSignIns, useOpenApprovals } from "../settings/open-approvals.ts";
import { Icon, Logo } from "../ui/icons.tsx";
import { strings } from "../strings/strings.ts";

interface SidebarProps {
  readonly open: SessionId | null;
  readonly onNavigate: () => void;
  readonly onPalette: () => void;
}

export function Sidebar({ open, onNavigate, onPalette }: SidebarProps) {
  const { router, host } = useApp();
  const state = useStore(host);
  const [text, setText] = useState("");
  const searchField = useRef<HTMLInputElement>(null);

  return (
    <nav className="sidebar" aria-label={strings.sessions.label}>
      <div className="bar">
        <span className="brand">
          <Logo />
          {strings.product}
        </span>
        <span className="spacer" />
        <button
          type="button"
          className="icon-button"
          aria-label={strings.shell.palette}
          title={`${strings.shell.palette} (Ctrl+K)`}
          onClick={onPalette}
        >
          <Icon name="command" />
        </button>
        <button
          type="button"
          className="icon-button sidebar-close"
          aria-label={strings.shell.closeList}
          title={strings.shell.closeList}
          onClick={onNavigate}
        >
          <Icon name="sidebar" />
        </button>
        <button
          type="button"
          className="icon-button sidebar-hide"
          aria-label={strings.attention.hideList}
          title={strings.attention.hideList}
          onClick={() => preferences.change({ sidebar: "hidden" })}
        >
          <Icon name="sidebar" />
        </button>
      </div>
      <div className="sidebar-top">
        <button
          type="button"
          className="button new-session-button"
          onClick={() => {
            router.go({ kind: "new", from: open });
            onNavigate();
          }}
        >
          <Icon name="add" />
          {strings.sessions.begin}
        </button>
        <div className="search">
          <Icon name="search" />
          <input
            ref={searchField}
            type="search"
            className="input"
            aria-label={strings.sessions.search}
            placeholder={strings.sessions.search}
            value={text}
            onChange={(event) => setText(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Escape") setText("");
            }}
          />
        </div>
        {text.trim() === "" && (
          <>
            <ShelfMenu />
            <EmptyTrash />
          </>
        )}
      </div>
      {text.trim() === "" ? (
        <SessionList open={open} />
      ) : (
        <SearchResults text={text} onChosen={onNavigate} />
      )}
      <BulkBar />
      <footer className="sidebar-foot">
        <button
          type="button"
          className="button plain"
          onClick={() => {
            router.go({ kind: "settings", section: "models" });
            onNavigate();
          }}
        >
          <Icon name="settings" />
          {strings.shell.settings}
        </button>
        <button
          type="button"
          className="button plain"
          onClick={() => {
            router.go({ kind: "settings", section: "schedules" });
            onNavigate();
          }}
        >
          <Icon name="clock" />
          {strings.schedules.open}
        </button>
        <WaitingButton onNavigate={onNavigate} />
        <span className="spacer" />
        <HostStatus state={state} />
      </footer>
    </nav>
  );
}

/** How many calls, questions and sign-ins wait for a person; nothing while none does. */
function WaitingButton({ onNavigate }: Pick<SidebarProps, "onNavigate">) {
  const { router } = useApp();
  const query = useOpenApprovals();
  const signIns = useNeededSignIns();
  const count = (query.kind === "loaded" ? query.value.approvals.length : 0) + signIns.length;
  if (count === 0) return null;
  return (
    <button
      type="button"
      className="button plain"
      aria-label={strings.shell.waitingNamed(count)}
      title={strings.shell.waitingNamed(count)}
      onClick={() => {
        router.go({ kind: "settings", section: "tools" });
        onNavigate();
      }}
    >
      <Icon name="shield" />
      {count}
    </button>
  );
}

/** A dot while the host is healthy. Trouble is shown in words, because it affects the next message. */
function HostStatus({ state }: { state: HostState }) {
  const trouble =
    state.kind === "signed-in" && state.answering ? state.trouble : strings.host.unreachable;
  const isHealthy = trouble === undefined;
  return (
    <output className="quiet host-state" title={trouble ?? strings.host.healthy}>
      <span className={isHealthy ? "dot" : "dot warn pulsing"} />
      <span className={isHealthy ? "hidden-text" : ""}>{trouble ?? strings.host.healthy}</span>
    </output>
  );
}
