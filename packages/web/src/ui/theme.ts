import { useSyncExternalStore } from "react";
import { z } from "zod";
import { writeStored, readStored } from "./local-storage.ts";

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const schema = z.enum(themes);

export function readTheme(): Theme {
  return readStored("theme", schema) ?? "system";
}

export function applyTheme(theme: Theme): void {
  if (theme === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset["theme"] = theme;
}

export function chooseTheme(theme: Theme): void {
  writeStored("theme", theme === "system" ? null : theme);
  applyTheme(theme);
}

const darkSystem = "(prefers-color-scheme: dark)";

function currentShade(): "light" | "dark" {
  const chosen = document.documentElement.dataset["theme"];
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia(darkSystem).matches ? "dark" : "light";
}

function watchShade(listener: () => void): () => void {
  const system = matchMedia(darkSystem);
  const chosen = new MutationObserver(listener);
  system.addEventListener("change", listener);
  chosen.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => {
    system.removeEventListener("change", listener);
    chosen.disconnect();
  };
}

/** Whether it is light or dark at the moment, for what style sheets cannot reach. */
export function useShade(): "light" | "dark" {
  return useSyncExternalStore(watchShade, currentShade);
}
