import type { Line } from "./figures.ts";
import type { BenchOptions } from "./options.ts";

/** `W1` names all its parts, `W1.groups` one of them. */
export function isChosen(id: string, only: BenchOptions["only"]): boolean {
  return only === undefined || only.has(id) || only.has(id.slice(0, id.indexOf(".")));
}

/** For a backend on which nothing is required. */
export function unbound({ what, params, figures }: Line): Line {
  return { what, params, figures };
}
