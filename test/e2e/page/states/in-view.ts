import type { Locator } from "playwright-core";

/** What keeps somebody from seeing all of it: nothing if it is in the window, uncut and uncovered. */
export async function hindrance(locator: Locator): Promise<string | undefined> {
  if ((await locator.count()) !== 1) return `${await locator.count()} of them`;
  return locator.evaluate((element) => {
    const box = element.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) return "it has no size";
    const { clientWidth: width, clientHeight: height } = document.documentElement;
    // Half a pixel is rounding.
    if (box.left < -0.5 || box.right > width + 0.5 || box.top < -0.5 || box.bottom > height + 0.5)
      return `outside the window: ${JSON.stringify(box)}`;
    const points = [0.1, 0.5, 0.9].map((share) => ({
      x: box.left + box.width * share,
      y: box.top + box.height / 2,
    }));
    for (const { x, y } of points) {
      const top = document.elementFromPoint(x, y);
      if (top !== null && !element.contains(top) && !top.contains(element))
        return `covered by ${top.outerHTML.slice(0, 120)}`;
    }
    return undefined;
  });
}
