import { completeInput, completeSkill, type listUsableSkills } from "@holdfast/client";
import { commandUsage, findCommand } from "@holdfast/protocol";
import type { Key } from "../screen/line-editor.ts";
import type { RenderStyle } from "../screen/paint.ts";
import { cleanLine } from "../screen/text.ts";
import { fitTo, padTo, widthOf } from "../screen/width.ts";
import { chatStrings } from "../strings/chat.ts";

/** One way to go on with the line being typed. */
export interface Suggestion {
  readonly label: string;
  readonly detail: string;
  /** The line, once it is chosen. */
  readonly text: string;
  /** `insert`: more has to be typed; `submit`: the line can be sent as it is. */
  readonly effect: "insert" | "submit";
}

const maxShown = 6;

/** Suggestions for the line being typed. Nothing is marked until an arrow is pressed, so Enter sends what was typed. */
export class Suggestions {
  #text = "";
  #items: readonly Suggestion[] = [];
  #index: number | null = null;
  #tab: "first" | "prefix" = "prefix";

  /** `tab`: whether Tab takes the first of them, or what they have in common. A mark does not carry over to other suggestions. */
  set(text: string, items: readonly Suggestion[], tab: "first" | "prefix" = "prefix"): void {
    if (text !== this.#text) this.#index = null;
    this.#tab = tab;
    this.#text = text;
    this.#items = items;
  }

  /** The chosen suggestion, `moved`, or `undefined` if the key is not for it. */
  press(key: Key): Suggestion | "moved" | undefined {
    if (this.#items.length === 0 || key.ctrl === true || key.meta === true) return undefined;
    const count = this.#items.length;
    if (key.name === "up" || key.name === "down") {
      const step = key.name === "down" ? 1 : -1;
      const from = this.#index ?? (step === 1 ? -1 : count);
      this.#index = (from + step + count) % count;
      return "moved";
    }
    if (this.#index === null && this.#tab === "first" && key.name === "tab") return this.#items[0];
    if (this.#index === null) return undefined;
    const chosen = this.#items[this.#index];
    if (key.name === "escape") {
      this.#index = null;
      return "moved";
    }
    if (key.name === "return") return chosen;
    return key.name === "tab" && chosen !== undefined ? { ...chosen, effect: "insert" } : undefined;
  }

  rows({ width, paint }: RenderStyle): string[] {
    const lastFrom = Math.max(0, this.#items.length - maxShown);
    const from = Math.min(lastFrom, Math.max(0, (this.#index ?? 0) - maxShown + 1));
    const shown = this.#items.slice(from, from + maxShown);
    const widest = Math.max(0, ...shown.map(({ label }) => widthOf(cleanLine(label))));
    const rows = shown.map(({ label, detail }, offset) => {
      const index = from + offset;
      const mark = index === this.#index ? "❯ " : "  ";
      const row = fitTo(
        `${mark}${padTo(cleanLine(label), widest)}  ${cleanLine(detail)}`.trimEnd(),
        width,
      );
      return paint(index === this.#index ? "accent" : "dim", row);
    });
    const hidden = lastFrom - from;
    if (hidden === 0) return rows;
    return [...rows, paint("dim", chatStrings.suggestions.more(hidden))];
  }
}

type UsableSkills = Awaited<ReturnType<typeof listUsableSkills>>;

/** The commands and skills that match the line being typed. */
export function suggestCommands(text: string, skills: UsableSkills = []): readonly Suggestion[] {
  const found = completeSkill(text, skills).map(({ name, description }): Suggestion => {
    const label = `/${name}`;
    return { label, detail: description, text: `${label} `, effect: "insert" };
  });
  return [...found, ...matchingCommands(text)];
}

function matchingCommands(text: string): readonly Suggestion[] {
  const names = completeInput(text).values.filter((value) => !value.includes(" "));
  const [, typed] = /^\/(\w+)\s/.exec(text) ?? [];
  if (typed !== undefined) {
    const command = findCommand(typed);
    if (command === undefined) return [];
    return [{ label: commandUsage(command), detail: command.help, text, effect: "submit" }];
  }
  return names.flatMap((name) => {
    const command = findCommand(name.slice(1));
    if (command === undefined) return [];
    const { takes, help } = command;
    const needsWords = takes.kind === "words" && takes.required;
    const label = commandUsage(command);
    return [
      {
        label,
        detail: help,
        text: needsWords ? `${name} ` : name,
        effect: needsWords ? "insert" : "submit",
      } as const,
    ];
  });
}
