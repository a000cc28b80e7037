import type { MouseEvent } from "react";
import { z } from "zod";
import { hrefOf, type Route, parseRoute } from "./routes.ts";

export interface Router {
  readonly read: () => Route;
  /** Whether the browser's own Back or Forward led here. */
  readonly isReturn: () => boolean;
  readonly subscribe: (listener: () => void) => () => void;
  readonly go: (route: Route) => void;
  /** Navigates without adding an entry to the browser's history. */
  readonly replace: (route: Route) => void;
}

export function createRouter(): Router {
  let route = readRoute();
  const listeners = new Set<() => void>();
  function show(next: Route): void {
    route = next;
    listeners.forEach((listener) => listener());
  }
  let isReturn = false;
  addEventListener("popstate", () => {
    isReturn = true;
    show(readRoute());
  });
  return {
    read: () => route,
    isReturn: () => isReturn,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    go(next) {
      isReturn = false;
      history.pushState(stateOf(next), "", pathOfRoute(next));
      show(next);
    },
    replace(next) {
      isReturn = false;
      history.replaceState(stateOf(next), "", pathOfRoute(next));
      show(next);
    },
  };
}

const historyState = z.looseObject({ find: z.string() });

function stateOf(route: Route): z.infer<typeof historyState> | null {
  return route.kind === "session" && route.find !== undefined ? { find: route.find } : null;
}

function readRoute(): Route {
  const route = parseRoute(location.search);
  const find = historyState.safeParse(history.state).data?.find;
  return route.kind === "session" && find !== undefined ? { ...route, find } : route;
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
