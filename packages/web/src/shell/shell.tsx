import { useEffect, useState } from "react";
import { useApp, useStore } from "../app-context.ts";
import { Settings } from "../settings/settings.tsx";
import { Conversation } from "../talk/conversation.tsx";
import { NewSession } from "../talk/new-session.tsx";
import { Icon } from "../ui/icons.tsx";
import { ToastList } from "../ui/toasts.tsx";
import { strings } from "../strings/strings.ts";
import { CommandPalette } from "./command-palette.tsx";
import { Sidebar } from "./sidebar.tsx";

/** The session list, and beside it what the route names. */
export function Shell() {
  const { router, list, toasts } = useApp();
  const route = useStore(router);
  const [isListOpen, setIsListOpen] = useState(false);
  useEffect(() => list.start(), [list]);
  // On a narrow screen the list covers the main area, so it closes on navigation.
  useEffect(() => router.subscribe(() => setIsListOpen(false)), [router]);
  const [isPaletteOpen, setIsPaletteOpen] = useState(false);
  useShortcuts(() => setIsPaletteOpen(true));
  const open = route.kind === "session" ? route.id : null;

  return (
    <div className={`shell${isListOpen ? " list-open" : ""}`}>
      <a className="skip" href="#main">
        {strings.shell.skip}
      </a>
      <Sidebar
        open={open}
        onNavigate={() => setIsListOpen(false)}
        onPalette={() => setIsPaletteOpen(true)}
      />
      <button
        type="button"
        className="backdrop"
        aria-label={strings.shell.closeList}
        tabIndex={-1}
        onClick={() => setIsListOpen(false)}
      />
      <main id="main" className="main" tabIndex={-1}>
        <button
          type="button"
          className="icon-button list-button"
          aria-label={strings.shell.openList}
          title={strings.shell.openList}
          onClick={() => setIsListOpen(true)}
        >
          <Icon name="menu" />
        </button>
        {route.kind === "session" && <Conversation key={route.id} id={route.id} at={route.at} />}
        {route.kind === "new" && <NewSession key={route.from ?? "new"} from={route.from} />}
        {route.kind === "settings" && <Settings section={route.section} />}
      </main>
      {isPaletteOpen && <CommandPalette onClose={() => setIsPaletteOpen(false)} />}
      <ToastList toasts={toasts} />
    </div>
  );
}

function useShortcuts(onPalette: () => void): void {
  const { router } = useApp();
  useEffect(() => {
    function onKeyDown(event: globalThis.KeyboardEvent): void {
      const isCommand = event.ctrlKey || event.metaKey;
      const name = event.key.toLowerCase();
      if (isCommand && !event.shiftKey && name === "k") onPalette();
      else if (isCommand && event.shiftKey && name === "o") {
        const route = router.read();
        router.go({ kind: "new", from: route.kind === "session" ? route.id : null });
      } else return;
      event.preventDefault();
    }
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [router, onPalette]);
}
