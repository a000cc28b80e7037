import { type RefObject, useEffect } from "react";

const maxRanges = 1_000;
/** The name that `::highlight()` uses in the style sheet. */
const highlightName = "found";

/** Marks these texts wherever they are rendered in the container, without changing its elements. */
export function useHighlights(
  container: RefObject<HTMLElement | null>,
  texts: readonly string[],
): void {
  const wanted = texts.map((text) => text.toLowerCase()).filter((text) => text !== "");
  const key = wanted.join("\n");
  useEffect(() => {
    const element = container.current;
    // Older browsers have no highlights; the message is outlined there all the same.
    if (element === null || key === "" || !("highlights" in CSS)) return;
    const terms = key.split("\n");
    let request = 0;
    const apply = (): void => {
      request = 0;
      CSS.highlights.set(highlightName, new Highlight(...rangesIn(element, terms)));
    };
    const schedule = (): void => {
      request ||= requestAnimationFrame(apply);
    };
    const observer = new MutationObserver(schedule);
    observer.observe(element, { childList: true, subtree: true, characterData: true });
    apply();
    return () => {
      observer.disconnect();
      cancelAnimationFrame(request);
      CSS.highlights.delete(highlightName);
    };
  }, [container, key]);
}

function rangesIn(element: HTMLElement, terms: readonly string[]): Range[] {
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const text = node.textContent?.toLowerCase() ?? "";
    for (const term of terms)
      for (let at = text.indexOf(term); at !== -1; at = text.indexOf(term, at + term.length)) {
        if (ranges.length === maxRanges) return ranges;
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + term.length);
        ranges.push(range);
      }
  }
  return ranges;
}
