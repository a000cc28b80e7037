import type { Attachment } from "@holdfast/protocol";

/** A file from somewhere else on the page, or one that the host has already. */
export type Attachable = File | Attachment;
type Take = (file: Attachable) => void;

let takers: readonly Take[] = [];

/** The composer in view takes what `attach` is given. Returns a function that stops it. */
export function takeAttached(take: Take): () => void {
  takers = [...takers, take];
  return () => {
    takers = takers.filter((taker) => taker !== take);
  };
}

/** Adds a file to the message that is being written. Returns whether there is one, as in the trash there is not. */
export function attach(file: Attachable): boolean {
  const take = takers.at(-1);
  take?.(file);
  return take !== undefined;
}
