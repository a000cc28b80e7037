import type { Page } from "playwright-core";

/** Turns the wheel over a place for so long, as fast as a hand does. */
export async function scroll(
  page: Page,
  place: string,
  { pixels, ms }: { readonly pixels: number; readonly ms: number },
): Promise<void> {
  await page.locator(place).hover();
  const until = performance.now() + ms;
  while (performance.now() < until) await page.mouse.wheel(0, pixels);
}
