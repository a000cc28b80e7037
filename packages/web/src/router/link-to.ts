import type { MouseEvent } from "react";
import { hrefOf, type Route } from "./routes.ts";
import type { Router } from "./router.ts";

/** What makes an `a` lead to a place of this page. With a key held the click is the browser's business: another tab or window. */
export function linkProps(router: Router, place: Route, afterwards?: () => void) {
  return {
    href: hrefOf(place),
    onClick(event: MouseEvent): void {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      router.go(place);
      afterwards?.();
    },
  };
}
