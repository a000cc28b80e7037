import type { Page } from "playwright-core";

/** What a finger would miss: everything that is pressed is 44 px high and wide, except links in running text. */
export function smallTargets(tab: Page): Promise<string[]> {
  return tab.evaluate(() => {
    const pressed =
      "button, summary, select, textarea, a[href], input:not([type=checkbox], [type=radio], [type=file]), label:has(input[type=checkbox], input[type=radio]), [role=menuitem], [role=tab], [role=option]";
    const smallest = 44;
    const isInText = (element: Element): boolean =>
      getComputedStyle(element).display === "inline" ||
      // Buttons move the choice to the line above or below.
      element.matches(".link, .skip, .changed-lines [role=option]");
    return [...document.querySelectorAll(pressed)].flatMap((element) => {
      const { width, height } = element.getBoundingClientRect();
      const isShown = element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
      if (!isShown || width < 2 || isInText(element)) return [];
      // Half a pixel is rounding.
      if (width > smallest - 0.5 && height > smallest - 0.5) return [];
      const name = element.getAttribute("aria-label") ?? element.textContent;
      return [`${Math.round(width)} × ${Math.round(height)} px: ${element.className} “${name}”`];
    });
  });
}
