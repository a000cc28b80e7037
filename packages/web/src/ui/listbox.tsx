import type { ReactNode } from "react";

interface ListboxProps<T> {
  readonly id: string;
  readonly label: string;
  readonly all: readonly T[];
  readonly chosen: number;
  readonly keyOf: (item: T) => string;
  readonly renderItem: (item: T) => ReactNode;
  readonly onChoose: (item: T) => void;
}

/** What a field offers. The field keeps the focus, and its keys move through the list. */
export function Listbox<T>({
  id,
  label,
  all,
  chosen,
  keyOf,
  renderItem: draw,
  onChoose,
}: ListboxProps<T>) {
  return (
    <div id={id} className="suggestions" role="listbox" aria-label={label}>
      {all.map((item, index) => (
        // The keys are those of the field.
        // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
        <div
          key={keyOf(item)}
          id={optionId(id, index)}
          role="option"
          aria-selected={index === chosen}
          onClick={() => onChoose(item)}
        >
          {draw(item)}
        </div>
      ))}
    </div>
  );
}

export function optionId(id: string, index: number): string {
  return `${id}-${index}`;
}
