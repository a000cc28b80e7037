import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    page: "built" | "broken";
  }
}

/** For the start of each test of the page: it must not pass on what an older build left behind. */
export function requirePage(): void {
  if (inject("page") !== "built")
    throw new Error("The page was not built; the reason stands above.");
}
