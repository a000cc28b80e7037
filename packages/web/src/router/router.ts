import type { MouseEvent } from "react";
import { hrefOf, type Route, parseRoute } from "./routes.ts";

export interface Router {
  readonly read: () => Route;
  readonly subscribe: (listener: () => void) => () => void;
  readonly go: (place: Route) => void;
  /** Goes without leaving the old place in the browser's history. */
  readonly replace: (place: Route) => void;
}

export function createRouter(): Router {
  let place = parseRoute(location.search);
  const listeners = new Set<() => void>();
  function show(next: Route): void {
    place = next;
    listeners.forEach((listener) => listener());
  }
  addEventListener("popstate", () => show(parseRoute(location.search)));
  return {
    read: () => place,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    go(next) {
      history.pushState(null, "", pathOfRoute(next));
      show(next);
    },
    replace(next) {
      history.replaceState(null, "", pathOfRoute(next));
      show(next);
    },
  };
}

function pathOfRoute(place: Route): string {
  const address = hrefOf(place);
  return address === "?" ? location.pathname : address;
}

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
