import { z } from "zod";
import { readStored, writeStored } from "./local-storage.ts";

/** Choices of this browser alone. */
const schema = z.object({
  fontSize: z.enum(["small", "normal", "large", "larger"]).catch("normal"),
  sendKey: z.enum(["enter", "ctrl-enter"]).catch("enter"),
  sidebar: z.enum(["shown", "hidden"]).catch("shown"),
  notifications: z.enum(["on", "off"]).catch("off"),
  sound: z.enum(["on", "off"]).catch("off"),
});
export type Preferences = z.infer<typeof schema>;

const defaults: Preferences = {
  fontSize: "normal",
  sendKey: "enter",
  sidebar: "shown",
  notifications: "off",
  sound: "off",
};

const fontPercent = { small: "90%", normal: "100%", large: "112.5%", larger: "125%" } as const;

export interface PreferencesStore {
  readonly read: () => Preferences;
  readonly subscribe: (listener: () => void) => () => void;
  readonly change: (patch: Partial<Preferences>) => void;
  /** Called before the first paint, so that nothing jumps. */
  readonly apply: () => void;
}

function createPreferences(): PreferencesStore {
  let current = readStored("preferences", schema) ?? defaults;
  const listeners = new Set<() => void>();
  function apply(next: Preferences): void {
    current = next;
    document.documentElement.style.fontSize = fontPercent[next.fontSize];
    listeners.forEach((listener) => listener());
  }
  return {
    read: () => current,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    change(patch) {
      apply({ ...current, ...patch });
      writeStored("preferences", current);
    },
    apply: () => apply(current),
  };
}

export const preferences = createPreferences();

/** Whether Enter, as pressed, sends what is being written. */
export function isSendKey({
  key,
  shiftKey,
  ctrlKey,
  metaKey,
  isComposing,
}: Pick<KeyboardEvent, "key" | "shiftKey" | "ctrlKey" | "metaKey" | "isComposing">): boolean {
  if (key !== "Enter" || shiftKey || isComposing) return false;
  return preferences.read().sendKey === "enter" || ctrlKey || metaKey;
}
