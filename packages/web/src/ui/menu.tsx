import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  type ToggleEvent,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { Icon, type IconName } from "./icons.tsx";

export interface MenuItem {
  readonly label: string;
  readonly icon?: IconName;
  readonly hint?: string;
  readonly tone?: "warn";
  /** For radio items: whether this one is selected. */
  readonly checked?: boolean;
  readonly onChoose: () => void;
}

/** Items under a heading. */
export interface MenuGroup {
  readonly group: string;
  readonly items: readonly MenuItem[];
}

export type MenuEntry = MenuItem | MenuGroup | "line";

interface MenuProps {
  readonly label: string;
  /** The visible text of the button, if it has one: its accessible name starts with it. */
  readonly visibleLabel?: string;
  readonly className?: string;
  readonly children: ReactNode;
  readonly items: readonly MenuEntry[];
  /** A search field above the items; the caller filters them. */
  readonly search?: MenuSearch | null;
  /** Below the items. */
  readonly note?: string | null;
}

interface MenuSearch {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A button with a popover menu. The browser closes it on Escape and on a click elsewhere. */
export function Menu({
  label,
  visibleLabel,
  className = "icon-button",
  children,
  items,
  search = null,
  note = null,
}: MenuProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);

  // The items are rendered when the menu opens; before that it has no size to position.
  useLayoutEffect(() => {
    if (open) list.current?.querySelector<HTMLElement>(".input, .menu-item")?.focus();
  }, [open]);
  // After each render: a search changes its size.
  useLayoutEffect(() => {
    if (open) positionMenu(button, list);
  });
  const closeMenu = (): void => list.current?.hidePopover();
  const entries =
    open &&
    items.map((item, index) =>
      item === "line" ? (
        <hr key={index} className="menu-line" />
      ) : "group" in item ? (
        <MenuSection key={item.group} section={item} onChosen={closeMenu} />
      ) : (
        <MenuChoice key={item.label} item={item} onChosen={closeMenu} />
      ),
    );

  return (
    <>
      <button
        ref={button}
        type="button"
        className={className}
        aria-label={visibleLabel === undefined ? label : `${visibleLabel}. ${label}`}
        title={label}
        aria-haspopup="menu"
        aria-expanded={open}
        popoverTarget={id}
      >
        {children}
      </button>
      {/* oxlint-disable-next-line jsx-a11y/no-static-element-interactions */}
      <div
        ref={list}
        id={id}
        className="menu"
        role={search === null ? "menu" : "dialog"}
        tabIndex={-1}
        aria-label={label}
        popover="auto"
        onToggle={(event: ToggleEvent) => {
          setOpen(event.newState === "open");
          search?.onChange("");
        }}
        onKeyDown={moveFocus}
      >
        {open && search !== null && (
          <input
            className="input"
            type="search"
            aria-label={search.label}
            placeholder={search.label}
            value={search.value}
            onChange={(event) => search.onChange(event.target.value)}
          />
        )}
        {search === null ? (
          entries
        ) : (
          <>
            <div role="menu" aria-label={label}>
              {entries}
            </div>
            {open && note !== null && <p className="menu-note quiet">{note}</p>}
          </>
        )}
      </div>
    </>
  );
}

function MenuSection({ section, onChosen }: { section: MenuGroup; onChosen: () => void }) {
  const id = useId();
  return (
    <div role="group" aria-labelledby={id}>
      <div id={id} className="menu-heading">
        {section.group}
      </div>
      {section.items.map((item) => (
        <MenuChoice key={item.label} item={item} onChosen={onChosen} />
      ))}
    </div>
  );
}

function MenuChoice({ item, onChosen }: { item: MenuItem; onChosen: () => void }) {
  const { label, icon, hint, tone, checked, onChoose } = item;
  return (
    <button
      type="button"
      className={`menu-item ${tone ?? ""}`}
      role={checked === undefined ? "menuitem" : "menuitemradio"}
      aria-checked={checked}
      onClick={() => {
        onChosen();
        onChoose();
      }}
    >
      {icon !== undefined && <Icon name={icon} />}
      <span>
        {label}
        {hint !== undefined && <small>{hint}</small>}
      </span>
    </button>
  );
}

/** Below the button if there is room, else above it, and always inside the window. */
function positionMenu(
  button: RefObject<HTMLElement | null>,
  list: RefObject<HTMLElement | null>,
): void {
  if (button.current === null || list.current === null) return;
  const anchor = button.current.getBoundingClientRect();
  const { style, offsetWidth, offsetHeight } = list.current;
  const marginPixels = 8;
  const below = anchor.bottom + 4;
  const fits = below + offsetHeight + marginPixels <= innerHeight;
  style.top = `${fits ? below : Math.max(marginPixels, anchor.top - offsetHeight - 4)}px`;
  style.left = `${Math.max(marginPixels, Math.min(anchor.left, innerWidth - offsetWidth - marginPixels))}px`;
}

function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  // In a search field, Home and End move the text cursor.
  if (event.target instanceof HTMLInputElement && !event.key.startsWith("Arrow")) return;
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>(".menu-item")];
  const current = items.findIndex((item) => item === document.activeElement);
  const next = { ArrowDown: current + 1, ArrowUp: current - 1, Home: 0, End: -1 }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  items.at(next % items.length)?.focus();
}
