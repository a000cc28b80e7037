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
  /** Whether it is the chosen one of several. */
  readonly checked?: boolean;
  readonly onChoose: () => void;
}

export type MenuEntry = MenuItem | "line";

interface MenuProps {
  readonly label: string;
  /** What stands on the button, where that is words. */
  readonly shown?: string;
  readonly className?: string;
  readonly children: ReactNode;
  readonly items: readonly MenuEntry[];
}

/** A button and what it offers. The platform closes it on Escape and on a click elsewhere. */
export function Menu({ label, shown, className = "icon-button", children, items }: MenuProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);

  // Its items are drawn when it opens; only then it has a size to find room for.
  useLayoutEffect(() => {
    if (!open) return;
    positionMenu(button, list);
    list.current?.querySelector<HTMLElement>(".menu-item")?.focus();
  }, [open]);

  return (
    <>
      <button
        ref={button}
        type="button"
        className={className}
        aria-label={shown === undefined ? label : `${shown}. ${label}`}
        title={label}
        aria-haspopup="menu"
        aria-expanded={open}
        popoverTarget={id}
      >
        {children}
      </button>
      <div
        ref={list}
        id={id}
        className="menu"
        role="menu"
        tabIndex={-1}
        aria-label={label}
        popover="auto"
        onToggle={(event: ToggleEvent) => setOpen(event.newState === "open")}
        onKeyDown={moveFocus}
      >
        {open &&
          items.map((item, index) =>
            item === "line" ? (
              <hr key={index} className="menu-line" />
            ) : (
              <MenuChoice
                key={item.label}
                item={item}
                onChosen={() => list.current?.hidePopover()}
              />
            ),
          )}
      </div>
    </>
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

/** Under the button where there is room, above it otherwise, and never past the edge of the window. */
function positionMenu(
  button: RefObject<HTMLElement | null>,
  list: RefObject<HTMLElement | null>,
): void {
  if (button.current === null || list.current === null) return;
  const by = button.current.getBoundingClientRect();
  const { style, offsetWidth, offsetHeight } = list.current;
  const edge = 8;
  const below = by.bottom + 4;
  const fits = below + offsetHeight + edge <= innerHeight;
  style.top = `${fits ? below : Math.max(edge, by.top - offsetHeight - 4)}px`;
  style.left = `${Math.max(edge, Math.min(by.left, innerWidth - offsetWidth - edge))}px`;
}

function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>(".menu-item")];
  const at = items.findIndex((item) => item === document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  items.at(to % items.length)?.focus();
}
