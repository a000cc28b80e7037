import { useEffect, useRef, useState } from "react";
import { useApp, useStore } from "../app-context.ts";
import { NewSession } from "../talk/new-session.tsx";
import { Icon } from "../ui/icons.tsx";
import { PartBoundary } from "../ui/part-boundary.tsx";
import { preferences } from "../ui/preferences.ts";
import { useAttention } from "../attention/use-attention.ts";
import { ToastList } from "../ui/toasts.tsx";
import { strings } from "../strings/strings.ts";
import { CommandPalette } from "./command-palette.tsx";
import { KeysDialog } from "./keys-dialog.tsx";
import { parts, preloadConversation } from "./parts.ts";
import { Sidebar } from "./sidebar.tsx";

/** The session list, and beside it what the route names. */
export function Shell() {
  const { router, list, toasts } = useApp();
  const route = useStore(router);
  const [isListOpen, setIsListOpen] = useState(false);
  useEffect(() => list.start(), [list]);
  useEffect(preloadConversation, []);
  // On a narrow screen the list covers the main area, so it closes on navigation.
  useEffect(() => router.subscribe(() => setIsListOpen(false)), [router]);
  const [isPaletteOpen, setIsPaletteOpen] = useState(false);
  const [areKeysShown, setAreKeysShown] = useState(false);
  useShortcuts({
    onPalette: () => setIsPaletteOpen(true),
    onKeys: () => setAreKeysShown(true),
  });
  const { sidebar } = useStore(preferences);
  useAttention();
  const open = route.kind === "session" ? route.id : null;

  return (
    <div
      className={`shell${isListOpen ? " list-open" : ""}${sidebar === "hidden" ? " list-hidden" : ""}`}
    >
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
          onClick={() => {
            setIsListOpen(true);
            preferences.change({ sidebar: "shown" });
          }}
        >
          <Icon name="menu" />
        </button>
        {route.kind === "session" && (
          <PartBoundary key={route.id}>
            <parts.conversation.Part
              id={route.id}
              at={route.at}
              find={route.find}
              version={route.version}
            />
          </PartBoundary>
        )}
        {route.kind === "new" && <NewSession key={route.from ?? "new"} from={route.from} />}
        {route.kind === "settings" && (
          <PartBoundary>
            <parts.settings.Part section={route.section} />
          </PartBoundary>
        )}
      </main>
      {isPaletteOpen && (
        <CommandPalette
          onClose={() => setIsPaletteOpen(false)}
          onShowKeys={() => setAreKeysShown(true)}
        />
      )}
      {areKeysShown && <KeysDialog onClose={() => setAreKeysShown(false)} />}
      <ToastList toasts={toasts} />
    </div>
  );
}

interface Shortcuts {
  readonly onPalette: () => void;
  readonly onKeys: () => void;
}

function useShortcuts(shortcuts: Shortcuts): void {
  const { router } = useApp();
  const latest = useRef(shortcuts);
  useEffect(() => {
    latest.current = shortcuts;
  });
  useEffect(() => {
    function onKeyDown(event: globalThis.KeyboardEvent): void {
      const isCommand = event.ctrlKey || event.metaKey;
      const name = event.key.toLowerCase();
      if (isCommand && !event.shiftKey && name === "k") latest.current.onPalette();
      else if (isCommand && event.shiftKey && name === "o") {
        const route = router.read();
        router.go({ kind: "new", from: route.kind === "session" ? route.id : null });
      } else if (name === "?" && !isCommand && !isWriting(event)) latest.current.onKeys();
      else if (isCommand && name === "/") latest.current.onKeys();
      else return;
      event.preventDefault();
    }
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [router]);
}

/** In a field the key writes its character, unless it would be the first one of a message. */
function isWriting({ target }: globalThis.KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement) || !target.matches("input, textarea, select")) return false;
  const isEmptyMessage =
    target instanceof HTMLTextAreaElement &&
    target.value === "" &&
    target.closest(".composer") !== null;
  return !isEmptyMessage;
}
