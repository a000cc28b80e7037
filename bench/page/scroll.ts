import type { Page } from "playwright-core";

/** Scrolls at a position for this long, as fast as a hand does. */
export async function scroll(
  page: Page,
  position: string,
  { pixels, ms }: { readonly pixels: number; readonly ms: number },
): Promise<void> {
  await page.locator(position).hover();
  const until = performance.now() + ms;
  while (performance.now() < until) await page.mouse.wheel(0, pixels);
}
