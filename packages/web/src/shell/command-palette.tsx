import {
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from "react";
import { type AppDeps, useApp, useStore } from "../app-context.ts";
import { settingsSections } from "../router/routes.ts";
import { highlightHit, routeOfHit, useSearch } from "../sessions/search-results.tsx";
import { sessionTitle } from "../sessions/session-actions.ts";
import type { PaletteCommand } from "./commands.ts";
import { chooseTheme, themes } from "../ui/theme.ts";
import { Icon } from "../ui/icons.tsx";
import { Listbox, optionId } from "../ui/listbox.tsx";
import { strings } from "../strings/strings.ts";

interface PaletteItem extends PaletteCommand {
  /** What stands below the label. */
  readonly hint?: ReactNode;
}

interface CommandPaletteProps {
  readonly onClose: () => void;
  readonly onShowKeys: () => void;
}

const maxItems = 12;
const maxHits = 8;
/** Shorter texts are in almost every conversation. */
const minSearchLength = 2;

/** Finds conversations and commands by name, and what was said by its words. Acts on the open conversation. */
export function CommandPalette({ onClose, onShowKeys }: CommandPaletteProps) {
  const app = useApp();
  const openCommands = useStore(app.openCommands);
  const { sessions, pinned } = useStore(app.list);
  const [text, setText] = useState("");
  const [index, setIndex] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  const listId = useId();
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);

  const all = useMemo(() => {
    const sessionItems = [...pinned, ...(sessions ?? [])].map((session) => ({
      key: session.id,
      label: sessionTitle(session),
      icon: "list" as const,
      run: () => app.router.go({ kind: "session", id: session.id, at: null }),
    }));
    // A pinned session is in both lists.
    const keys: PaletteItem = {
      key: "keys",
      label: strings.keys.title,
      icon: "command",
      run: onShowKeys,
    };
    const byKey = new Map<string, PaletteItem>(
      [...startItems(app), ...openCommands, ...globalItems(app), keys, ...sessionItems].map(
        (item) => [item.key, item],
      ),
    );
    return [...byKey.values()];
  }, [app, sessions, pinned, openCommands, onShowKeys]);
  const named = all.filter(({ label }) => matchesAllWords(label, text)).slice(0, maxItems);
  const matches = [...named, ...useHits(text.trim())];
  const selected = Math.min(index, Math.max(0, matches.length - 1));

  function run(item: PaletteItem | undefined): void {
    if (item === undefined) return;
    onClose();
    item.run();
  }
  function onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined)
      setIndex((selected + step + matches.length) % Math.max(1, matches.length));
    else if (event.key === "Enter") run(matches[selected]);
    else return;
    event.preventDefault();
  }

  return (
    <dialog
      ref={dialog}
      className="dialog palette"
      aria-label={strings.shell.palette}
      onCancel={onClose}
    >
      <input
        className="palette-field"
        role="combobox"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={optionId(listId, selected)}
        aria-label={strings.shell.palette}
        placeholder={strings.shell.palette}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setIndex(0);
        }}
        onKeyDown={onKeyDown}
      />
      <Listbox
        id={listId}
        label={strings.shell.palette}
        items={matches}
        selected={selected}
        keyOf={({ key: name }) => name}
        renderItem={renderItem}
        onSelect={run}
      />
    </dialog>
  );
}

function renderItem({ icon, label, hint }: PaletteItem): ReactNode {
  return (
    <>
      <Icon name={icon} />
      <span className="palette-label">{label}</span>
      {hint !== undefined && <span className="palette-hint">{hint}</span>}
    </>
  );
}

/** What was said in any conversation with these words. */
function useHits(text: string): readonly PaletteItem[] {
  const { client, router } = useApp();
  const isLongEnough = text.length >= minSearchLength;
  const answer = useSearch(client, isLongEnough ? text : "");
  if (!isLongEnough || answer === null || "trouble" in answer) return [];
  return answer.found.hits.slice(0, maxHits).map((hit) => ({
    key: `hit ${hit.sessionId} ${hit.seq}`,
    label: sessionTitle(hit),
    icon: "search",
    hint: highlightHit(hit),
    run: () => router.go(routeOfHit(hit, text)),
  }));
}

function startItems({ router }: AppDeps): PaletteItem[] {
  const route = router.read();
  const from = route.kind === "session" ? route.id : null;
  const run = (): void => router.go({ kind: "new", from });
  return [{ key: "new", label: strings.sessions.begin, icon: "add", run }];
}

function globalItems({ router, list }: AppDeps): PaletteItem[] {
  const all = { shelf: "active", project: null, tag: null } as const;
  return [
    ...settingsSections.map((section) => ({
      key: section,
      label: `${strings.settings.title}: ${strings.settings.sections[section]}`,
      icon: "settings" as const,
      run: () => router.go({ kind: "settings", section }),
    })),
    ...themes.map((theme) => ({
      key: `theme ${theme}`,
      label: `${strings.settings.theme}: ${strings.settings.themes[theme]}`,
      icon: theme === "dark" ? ("moon" as const) : ("sun" as const),
      run: () => chooseTheme(theme),
    })),
    ...(["archived", "trash"] as const).map((shelf) => ({
      key: shelf,
      label: strings.sessions.shelves[shelf],
      icon: "archive" as const,
      run: () => list.choose({ ...all, shelf }),
    })),
  ];
}

function matchesAllWords(label: string, text: string): boolean {
  const lowerLabel = label.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lowerLabel.includes(word));
}
