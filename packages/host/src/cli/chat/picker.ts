import type { Key } from "../screen/line-editor.ts";
import type { RenderStyle } from "../screen/paint.ts";
import { cleanLine } from "../screen/text.ts";
import { fitTo, padTo, widthOf } from "../screen/width.ts";
import { chatStrings } from "../strings/chat.ts";

const texts = chatStrings.picker;

export interface PickerItem {
  readonly label: string;
  /** What else helps to choose it. */
  readonly detail: string;
  /** The command that choosing it runs. */
  readonly command: string;
}

/** Something to choose from, in place of a list. */
export interface Offer {
  readonly title: string;
  readonly items: readonly PickerItem[];
  /** The marked item at first. */
  readonly current?: number | undefined;
}

const maxShown = 10;

/** Chooses an item by arrows and Enter; typing filters. */
export class Picker {
  readonly #offer: Offer;
  #filter = "";
  #index: number;

  constructor(offer: Offer) {
    this.#offer = offer;
    this.#index = Math.max(0, offer.current ?? 0);
  }

  get title(): string {
    return this.#offer.title;
  }

  get filter(): string {
    return this.#filter;
  }

  /** The chosen item, `closed`, or `changed`. */
  press(typed: string | undefined, key: Key): PickerItem | "closed" | "changed" {
    if (key.name === "escape") return "closed";
    if (key.ctrl === true) return this.#control(key.name ?? "");
    const matches = this.#matches();
    const last = Math.max(0, matches.length - 1);
    switch (key.name) {
      case "up":
        return this.#mark(this.#index === 0 ? last : this.#index - 1);
      case "down":
        return this.#mark(this.#index >= last ? 0 : this.#index + 1);
      case "pageup":
        return this.#mark(Math.max(0, this.#index - maxShown));
      case "pagedown":
        return this.#mark(Math.min(last, this.#index + maxShown));
      case "home":
        return this.#mark(0);
      case "end":
        return this.#mark(last);
      case "return":
        return matches[this.#index] ?? "changed";
      case "backspace":
        return this.#search(Array.from(this.#filter).slice(0, -1).join(""));
      default:
        if (typed === undefined || key.meta === true || /\p{Cc}/u.test(typed)) return "changed";
        return this.#search(this.#filter + typed);
    }
  }

  rows({ width, paint }: RenderStyle): string[] {
    const matches = this.#matches();
    if (matches.length === 0) return [paint("dim", texts.noMatch), paint("dim", texts.keys)];
    const from = Math.max(0, Math.min(this.#index - 4, matches.length - maxShown));
    const shown = matches.slice(from, from + maxShown);
    const column = labelWidth(shown, width);
    const rows = shown.map(({ label, detail }, offset) => {
      const isMarked = from + offset === this.#index;
      const name = padTo(fitTo(cleanLine(label), column), column);
      const room = width - column - 4;
      const rest = room < 4 ? "" : paint("dim", `  ${fitTo(cleanLine(detail), room)}`);
      return (isMarked ? paint("accent", `❯ ${name}`) : `  ${name}`) + rest;
    });
    const position = texts.position(this.#index + 1, matches.length);
    return [...rows, paint("dim", fitTo(`${texts.keys} · ${position}`, width))];
  }

  #control(name: string): "closed" | "changed" {
    if (name === "c" || name === "d") return "closed";
    if (name === "u") return this.#search("");
    if (name === "h") return this.#search(Array.from(this.#filter).slice(0, -1).join(""));
    return "changed";
  }

  /** Every typed word has to occur. */
  #matches(): readonly PickerItem[] {
    const words = this.#filter.toLowerCase().split(/\s+/);
    return this.#offer.items.filter(({ label, detail }) => {
      const text = `${label} ${detail}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }

  #search(filter: string): "changed" {
    this.#filter = filter;
    return this.#mark(0);
  }

  #mark(index: number): "changed" {
    this.#index = index;
    return "changed";
  }
}

/** Long labels are shortened before details are, down to two fifths of the line. */
function labelWidth(items: readonly PickerItem[], width: number): number {
  const longest = (column: readonly string[]): number =>
    Math.max(...column.map((text) => widthOf(cleanLine(text))));
  const besideDetails = width - 4 - longest(items.map(({ detail }) => detail));
  const room = Math.max(10, Math.floor(width * 0.4), besideDetails);
  return Math.min(longest(items.map(({ label }) => label)), room);
}
