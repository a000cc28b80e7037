import type { ReactNode } from "react";

interface ListboxProps<T> {
  readonly id: string;
  readonly label: string;
  readonly items: readonly T[];
  readonly selected: number;
  readonly keyOf: (item: T) => string;
  readonly renderItem: (item: T) => ReactNode;
  readonly onSelect: (item: T) => void;
}

/** The suggestions of a field. The field keeps the focus and handles the keys. */
export function Listbox<T>({
  id,
  label,
  items,
  selected,
  keyOf,
  renderItem,
  onSelect,
}: ListboxProps<T>) {
  return (
    <div id={id} className="suggestions" role="listbox" aria-label={label}>
      {items.map((item, index) => (
        // The field handles the keys.
        // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
        <div
          key={keyOf(item)}
          id={optionId(id, index)}
          role="option"
          aria-selected={index === selected}
          onClick={() => onSelect(item)}
        >
          {renderItem(item)}
        </div>
      ))}
    </div>
  );
}

export function optionId(id: string, index: number): string {
  return `${id}-${index}`;
}
