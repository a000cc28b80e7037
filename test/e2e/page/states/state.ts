import type { Locator, Page } from "playwright-core";
import { sessionNamed } from "./prepare-states.ts";

export type Size = "desk" | "phone" | "wide";

export interface State {
  readonly name: string;
  readonly at: () => string;
  readonly show: (tab: Page) => Promise<void>;
  /** What has to be in the window then, uncut and uncovered. */
  readonly inView: (tab: Page) => readonly Locator[];
  readonly sizes: readonly Size[];
}

export const everywhere: readonly Size[] = ["desk", "phone", "wide"];
export const usual: readonly Size[] = ["desk", "phone"];

export const at = (name: string) => () => `?session=${sessionNamed(name)}`;
export const button = (tab: Page, name: string | RegExp): Locator =>
  tab.getByRole("button", { name, exact: typeof name === "string" });
export const heading = (tab: Page, name: string): Locator =>
  tab.getByRole("main").getByRole("heading", { name, exact: true });
