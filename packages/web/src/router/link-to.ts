import type { MouseEvent } from "react";
import { addressOf, type Place } from "./routes.ts";
import type { Router } from "./router.ts";

/** What makes an `a` lead to a place of this page. With a key held the click is the browser's business: another tab or window. */
export function linkTo(router: Router, place: Place, afterwards?: () => void) {
  return {
    href: addressOf(place),
    onClick(event: MouseEvent): void {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      router.go(place);
      afterwards?.();
    },
  };
}
