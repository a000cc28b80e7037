import type { SessionView } from "@holdfast/protocol";
import { sessionRow } from "../../transcript/describe-session.ts";
import type { Key } from "../../screen/line-editor.ts";
import type { RenderStyle } from "../../screen/markdown.ts";

const maxSessionsShown = 10;

/** A session out of several, by arrows and Enter. */
export class SessionPicker {
  readonly #sessions: readonly SessionView[];
  #index = 0;

  constructor(sessions: readonly SessionView[]) {
    this.#sessions = sessions;
  }

  /** The session that was chosen, `closed`, `moved`, or nothing when the key is not for it. */
  press(key: Key): SessionView | "closed" | "moved" | undefined {
    const last = this.#sessions.length - 1;
    if (key.name === "escape" || (key.ctrl === true && key.name === "c")) return "closed";
    if (key.ctrl === true || key.meta === true) return undefined;
    switch (key.name) {
      case "up":
        return this.#mark(this.#index === 0 ? last : this.#index - 1);
      case "down":
        return this.#mark(this.#index === last ? 0 : this.#index + 1);
      case "pageup":
        return this.#mark(Math.max(0, this.#index - maxSessionsShown));
      case "pagedown":
        return this.#mark(Math.min(last, this.#index + maxSessionsShown));
      case "home":
        return this.#mark(0);
      case "end":
        return this.#mark(last);
      case "return":
        return this.#sessions[this.#index] ?? "closed";
      default:
        return undefined;
    }
  }

  rows({ width, paint }: RenderStyle): string[] {
    const from = Math.max(0, Math.min(this.#index - 4, this.#sessions.length - maxSessionsShown));
    const shown = this.#sessions.slice(from, from + maxSessionsShown).map((session, at) => {
      const isMarked = from + at === this.#index;
      return sessionRow(session, { width, paint, mark: isMarked ? "❯" : " " });
    });
    const place = `${this.#index + 1} of ${this.#sessions.length}`;
    return [...shown, paint("dim", `  ↑↓ and Enter go there · Esc stays · ${place}`)];
  }

  #mark(index: number): "moved" {
    this.#index = index;
    return "moved";
  }
}
