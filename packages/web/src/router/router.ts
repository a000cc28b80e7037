import { addressOf, type Place, placeAt } from "./routes.ts";

export interface Router {
  readonly read: () => Place;
  readonly subscribe: (listener: () => void) => () => void;
  readonly go: (place: Place) => void;
  /** Goes without leaving the old place in the browser's history. */
  readonly replace: (place: Place) => void;
}

export function createRouter(): Router {
  let place = placeAt(location.search);
  const listeners = new Set<() => void>();
  function show(next: Place): void {
    place = next;
    listeners.forEach((listener) => listener());
  }
  addEventListener("popstate", () => show(placeAt(location.search)));
  return {
    read: () => place,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    go(next) {
      history.pushState(null, "", pathOf(next));
      show(next);
    },
    replace(next) {
      history.replaceState(null, "", pathOf(next));
      show(next);
    },
  };
}

function pathOf(place: Place): string {
  const address = addressOf(place);
  return address === "?" ? location.pathname : address;
}
