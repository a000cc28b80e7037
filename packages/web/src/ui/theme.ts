import { z } from "zod";
import { keep, readKept } from "./keep.ts";

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const schema = z.enum(themes);

export function readTheme(): Theme {
  return readKept("theme", schema) ?? "system";
}

export function applyTheme(theme: Theme): void {
  if (theme === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset["theme"] = theme;
}

export function chooseTheme(theme: Theme): void {
  keep("theme", theme === "system" ? null : theme);
  applyTheme(theme);
}
