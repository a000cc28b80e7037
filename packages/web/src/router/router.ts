import type { MouseEvent } from "react";
import { hrefOf, type Route, parseRoute } from "./routes.ts";

export interface Router {
  readonly read: () => Route;
  readonly subscribe: (listener: () => void) => () => void;
  readonly go: (route: Route) => void;
  /** Navigates without adding an entry to the browser's history. */
  readonly replace: (route: Route) => void;
}

export function createRouter(): Router {
  let route = parseRoute(location.search);
  const listeners = new Set<() => void>();
  function show(next: Route): void {
    route = next;
    listeners.forEach((listener) => listener());
  }
  addEventListener("popstate", () => show(parseRoute(location.search)));
  return {
    read: () => route,
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

function pathOfRoute(route: Route): string {
  const href = hrefOf(route);
  return href === "?" ? location.pathname : href;
}

/** Props for an `a` to a route. The browser handles a click with a modifier key: it opens another tab or window. */
export function linkProps(router: Router, route: Route, onNavigate?: () => void) {
  return {
    href: hrefOf(route),
    onClick(event: MouseEvent): void {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      router.go(route);
      onNavigate?.();
    },
  };
}
