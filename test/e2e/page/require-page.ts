import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    page: "built" | "broken";
  }
}

/** Fails a test if the build of the page failed, so that it does not run on an older build. */
export function requirePage(): void {
  if (inject("page") !== "built")
    throw new Error("The page was not built; see the build error above.");
}
