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

/** The list at the side, and the place that the address names beside it. */
export function Shell() {
  const { router, list, toasts } = useApp();
  const place = useStore(router);
  const [isListOpen, setIsListOpen] = useState(false);
  useEffect(() => list.start(), [list]);
  // On a narrow screen the list covers the place: whoever has chosen one wants to see it.
  useEffect(() => router.subscribe(() => setIsListOpen(false)), [router]);
  const [isPaletteOpen, setIsPaletteOpen] = useState(false);
  useShortcuts(() => setIsPaletteOpen(true));
  const open = place.kind === "session" ? place.id : null;

  return (
    <div className={`shell${isListOpen ? " list-open" : ""}`}>
      <a className="skip" href="#place">
        {strings.shell.skip}
      </a>
      <Sidebar
        open={open}
        onLeave={() => setIsListOpen(false)}
        onPalette={() => setIsPaletteOpen(true)}
      />
      <button
        type="button"
        className="veil"
        aria-label={strings.shell.closeList}
        tabIndex={-1}
        onClick={() => setIsListOpen(false)}
      />
      <main id="place" className="main" tabIndex={-1}>
        <button
          type="button"
          className="icon-button list-button"
          aria-label={strings.shell.openList}
          title={strings.shell.openList}
          onClick={() => setIsListOpen(true)}
        >
          <Icon name="menu" />
        </button>
        {place.kind === "session" && <Conversation key={place.id} id={place.id} at={place.at} />}
        {place.kind === "new" && <NewSession key={place.from ?? "new"} from={place.from} />}
        {place.kind === "settings" && <Settings section={place.section} />}
      </main>
      {isPaletteOpen && <CommandPalette onClose={() => setIsPaletteOpen(false)} />}
      <ToastList toasts={toasts} />
    </div>
  );
}

/** Keys that work anywhere. */
function useShortcuts(onPalette: () => void): void {
  const { router } = useApp();
  useEffect(() => {
    function key(event: globalThis.KeyboardEvent): void {
      const isCommand = event.ctrlKey || event.metaKey;
      const name = event.key.toLowerCase();
      if (isCommand && !event.shiftKey && name === "k") onPalette();
      else if (isCommand && event.shiftKey && name === "o") {
        const place = router.read();
        router.go({ kind: "new", from: place.kind === "session" ? place.id : null });
      } else return;
      event.preventDefault();
    }
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, [router, onPalette]);
}
