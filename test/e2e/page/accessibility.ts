import axe from "axe-core";
import type { Page } from "playwright-core";
import { expect } from "vitest";

/** The page as it is now keeps WCAG 2.2 A and AA, as far as axe can tell. */
export async function expectNoViolations(tab: Page): Promise<void> {
  await tab.evaluate(axe.source);
  const violations = await tab.evaluate(async () => {
    const { axe: loaded } = window as unknown as { axe: typeof axe };
    const found = await loaded.run(document, {
      runOnly: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] },
    });
    return found.violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`,
    );
  });
  expect(violations).toEqual([]);
}
