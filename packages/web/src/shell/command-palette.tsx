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
import { sessionTitle } from "../sessions/session-actions.ts";
import { chooseTheme, themes } from "../ui/theme.ts";
import { Icon, type IconName } from "../ui/icons.tsx";
import { Listbox, optionId } from "../ui/listbox.tsx";
import { strings } from "../strings/strings.ts";

interface PaletteItem {
  readonly key: string;
  readonly label: string;
  readonly icon: IconName;
  readonly run: () => void;
}

const maxItems = 12;

/** Everything that can be gone to or done from anywhere, by its name. */
export function CommandPalette({ onClose }: { onClose: () => void }) {
  const app = useApp();
  const { sessions, pinned } = useStore(app.list);
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  const listId = useId();
  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);

  const all = useMemo(() => {
    const places = [...pinned, ...(sessions ?? [])].map((session) => ({
      key: session.id,
      label: sessionTitle(session),
      icon: "list" as const,
      run: () => app.router.go({ kind: "session", id: session.id, at: null }),
    }));
    const once = new Map<string, PaletteItem>(
      [...paletteItems(app), ...places].map((act) => [act.key, act]),
    );
    return [...once.values()];
  }, [app, sessions, pinned]);
  const fitting = all.filter((act) => matchesAllWords(act.label, text)).slice(0, maxItems);
  const at = Math.min(chosen, Math.max(0, fitting.length - 1));

  function run(act: PaletteItem | undefined): void {
    if (act === undefined) return;
    onClose();
    act.run();
  }
  function key(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setChosen((at + step + fitting.length) % Math.max(1, fitting.length));
    else if (event.key === "Enter") run(fitting[at]);
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
        aria-activedescendant={optionId(listId, at)}
        aria-label={strings.shell.palette}
        placeholder={strings.shell.palette}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
        }}
        onKeyDown={key}
      />
      <Listbox
        id={listId}
        label={strings.shell.palette}
        all={fitting}
        chosen={at}
        keyOf={({ key: name }) => name}
        renderItem={renderItem}
        onChoose={run}
      />
    </dialog>
  );
}

function renderItem({ icon, label }: PaletteItem): ReactNode {
  return (
    <>
      <Icon name={icon} />
      {label}
    </>
  );
}

function paletteItems({ router, list }: AppDeps): PaletteItem[] {
  const place = router.read();
  const from = place.kind === "session" ? place.id : null;
  const all = { shelf: "active", project: null, tag: null } as const;
  return [
    {
      key: "new",
      label: strings.sessions.begin,
      icon: "add",
      run: () => router.go({ kind: "new", from }),
    },
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

/** Every word that was typed stands somewhere in it. */
function matchesAllWords(label: string, text: string): boolean {
  const low = label.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => low.includes(word));
}
