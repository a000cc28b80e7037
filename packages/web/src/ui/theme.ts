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

const darkQuery = "(prefers-color-scheme: dark)";

function currentColourScheme(): "light" | "dark" {
  const chosen = document.documentElement.dataset["theme"];
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia(darkQuery).matches ? "dark" : "light";
}

function watchColourScheme(listener: () => void): () => void {
  const systemScheme = matchMedia(darkQuery);
  const attributeObserver = new MutationObserver(listener);
  systemScheme.addEventListener("change", listener);
  attributeObserver.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => {
    systemScheme.removeEventListener("change", listener);
    attributeObserver.disconnect();
  };
}

/** The effective colour scheme, for content that style sheets cannot reach. */
export function useColourScheme(): "light" | "dark" {
  return useSyncExternalStore(watchColourScheme, currentColourScheme);
}
